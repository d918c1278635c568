// Package command implements the command attractor-fleet.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/version"
	"github.com/attractor-go/attractor/sanitize"
)

// program is the command, with its standard streams. Those that are terminals clean what is
// written.
type program struct {
	in       io.Reader
	out, err io.Writer
}

// Main runs the command line of the process and returns its exit code.
func Main() int {
	if err := env.Conceal(); err != nil {
		fmt.Fprintln(os.Stderr, "attractor-fleet: warning: commands may be able to read the keys in this process's "+
			"environment:", err)
	}
	p := &program{in: os.Stdin, out: cli.Through(os.Stdout), err: cli.Through(os.Stderr)}
	return cli.Run(p.root(), os.Args[1:], p.err)
}

// root returns the command line.
func (p *program) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "attractor-fleet",
		Short: "Run many tasks, each a coding session",
		Long: `Attractor-fleet runs many tasks, each a coding session of attractor. Batch runs those of a file in one process, and needs nothing else. For many
machines, serve keeps the queue, workers run its tasks, and the other commands submit, watch and steer them. attractor fleet runs this program.`,
		Example: `  attractor-fleet batch tasks.jsonl --yes --jobs 8          the tasks of a file, on this machine

  attractor-fleet serve --config fleet.json                 the queue
  attractor-fleet worker --url tls://queue:4222 --yes       on each machine that works
  attractor-fleet submit --id fix-1 --repo https://github.com/acme/shop "fix the failing test"
  attractor-fleet watch fix-1`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return cli.Usage(cmd, fmt.Errorf("unknown command %q", args[0]))
			case version:
				return p.printVersion()
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(p.batch(), p.initialize(), p.serve(), p.worker(), p.workers(), p.drain(), p.submit(), p.list(),
		p.watch(), p.asks(), p.approve(), p.deny(), p.answer(), p.steer(), p.interrupt(), p.cancel(), p.artifacts(),
		p.view())
	cli.Strict(root)
	return root
}

func (p *program) printVersion() error {
	_, err := fmt.Fprintln(p.out, "attractor-fleet", version.Program())
	return err
}

// warn prints a message on standard error.
func (p *program) warn(format string, args ...any) {
	fmt.Fprintln(p.err, "attractor-fleet: "+fmt.Sprintf(format, args...))
}

// printJSON writes a value as a line of JSON.
func (p *program) printJSON(value any) error {
	enc := json.NewEncoder(cli.In(p.out, sanitize.JSON))
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// print writes a value as a line of JSON, or a text about it and a line break.
func (p *program) print(asJSON bool, value any, text string) error {
	if asJSON {
		return p.printJSON(value)
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

// takes returns a check that there is one argument for each name, but that only the first required
// ones have to be there.
func takes(required int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		case len(args) < required:
			return errors.New(names[len(args)] + " is missing")
		}
		return nil
	}
}

// atLeastOne returns a check that there are arguments. The name is that of the first one.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(name + " is missing")
		}
		return nil
	}
}
