package command

import (
	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/cli"
)

func (p *program) view() *cobra.Command {
	var f clientFlags
	var port int
	cmd := &cobra.Command{
		Use:   "view [flags] [id]",
		Short: "Show the sessions of tasks in a browser",
		Long: `View serves a page on this machine that shows the sessions of the tenant's tasks, while they run and afterwards: each step, tool call, output and
change, what they cost and where their time went. It is the page of attractor view. It prints its URL and serves until Ctrl-C.

` + connectHelp,
		Example: `  attractor-fleet view fix-1`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return f.connected(cmd.Context(), func(c *connection) error {
				return cli.View(cmd.Context(), p.out, p.err, c.space.Journals, port, id)
			})
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().IntVar(&port, "port", 0, "listen on this `port`; 0 takes any that is free")
	return cmd
}
