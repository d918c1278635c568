package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	envserve "github.com/attractor-go/attractor/env/remote/serve"
)

func newEnv(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Serve the files and commands of this machine to attractor on another one",
		Long: `Env is the far side of --env-command: there, attractor runs a command such as docker exec -i box or ssh host, and at its other end a helper
serves the files and commands of that machine. The helper is this program, or the smaller attractor-remote, which attractor finds in PATH or brings
along. docs/environments.md describes it.`,
	}
	cmd.AddCommand(newEnvServe(t))
	return cmd
}

func newEnvServe(t terminal) *cobra.Command {
	var protocol bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve this machine on standard input and output",
		Long: `Serve speaks the protocol of docs/env-protocol.md on standard input and output. Everything that it has started ends with its input. People need
not run it: attractor does.`,
		Example: `  attractor run --env-command 'docker exec -i box attractor env serve' --dir /src "fix the failing test"`,
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if protocol {
				_, err := fmt.Fprintln(t.out, envserve.Protocol())
				return err
			}
			if err := notTyped(t); err != nil {
				return usage(cmd, err)
			}
			if err := envserve.Standard(cmd.Context()); err != nil {
				return fail(exitFailed, "serve: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&protocol, "protocol", false,
		"print the versions of the protocol that this program speaks, and end")
	return cmd
}

// notTyped returns an error if somebody has typed a command that speaks to a program.
func notTyped(t terminal) error {
	if isTerminal(t.in) {
		return errors.New("standard input is a terminal, and this command speaks to a program: attractor runs it at " +
			"the other end of --env-command (docs/environments.md)")
	}
	return nil
}
