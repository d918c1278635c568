package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// argument describes a positional argument of a command: its name, and a hint for the error if it
// is missing.
type argument struct{ name, hint string }

// takes returns a check that a command gets exactly the wanted arguments.
func takes(wanted ...argument) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if err := unexpected(len(wanted), given); err != nil {
			return err
		}
		return missing(wanted, given)
	}
}

// takesUpTo returns a check that a command gets at most a number of arguments.
func takesUpTo(most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error { return unexpected(most, given) }
}

// takesSome returns a check that a command gets one or more of the wanted argument.
func takesSome(wanted argument) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error { return missing([]argument{wanted}, given) }
}

// unexpected returns an error that names the first argument after the most that there may be.
func unexpected(most int, given []string) error {
	if len(given) > most {
		return fmt.Errorf("unexpected argument %q", given[most])
	}
	return nil
}

// missing returns an error that names the first argument that is not given.
func missing(wanted []argument, given []string) error {
	if len(given) >= len(wanted) {
		return nil
	}
	first := wanted[len(given)]
	return fmt.Errorf("missing argument <%s>; %s", first.name, first.hint)
}
