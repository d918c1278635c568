package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/attractor-go/attractor/internal/landlock"
)

// runScope becomes a command that cannot connect to the abstract Unix sockets of other commands and
// of the machine. It has the variables of --environ.
func runScope(args []string) (code int, err error) {
	flags := flag.NewFlagSet("scope", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	given := flags.Int("environ", -1, "")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if flags.NArg() == 0 {
		return exitUsage, errors.New("it needs a command after --")
	}
	return become(flags.Args(), *given, scope)
}

// scope confines the thread to abstract sockets of its own.
func scope() error {
	abi, err := landlock.ABI()
	if err != nil {
		return err
	}
	if abi < landlock.Scoped {
		return fmt.Errorf("this kernel has version %d of Landlock, and version %d is needed (Linux 6.12)", abi,
			landlock.Scoped)
	}
	ruleset, err := landlock.NewScoped(abi)
	if err != nil {
		return err
	}
	return errors.Join(landlock.Restrict(ruleset), ruleset.Close())
}
