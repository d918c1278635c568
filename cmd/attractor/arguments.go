package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// takes returns a check that a command gets exactly the named arguments, whose error names those that are missing or too many.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(names[len(args):], " and "))
		case len(args) > len(names):
			return fmt.Errorf("%s takes no %q after %s", cmd.CommandPath(), args[len(names)], strings.Join(names, " and "))
		}
		return nil
	}
}
