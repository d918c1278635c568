//go:build unix

package env

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// maxArgument is the most bytes of an argument. Linux takes 128 KiB with a final zero, which is
// MAX_ARG_STRLEN in <linux/binfmts.h>; other systems only limit all arguments together.
const maxArgument = 128<<10 - 1

// shellArgs returns the command line that runs a script. A script that is longer than an argument
// may be is passed in pieces, which are removed before it starts.
func shellArgs(shell, script string) []string {
	if len(script) <= maxArgument {
		return []string{shell, "-c", script}
	}
	var joined strings.Builder
	args := []string{shell, "-c", "", shell}
	for piece := range slices.Chunk([]byte(script), maxArgument) {
		args = append(args, string(piece))
		fmt.Fprintf(&joined, "${%d}", len(args)-4)
	}
	args[2] = fmt.Sprintf(`eval "set --; %s"`, joined.String())
	return args
}

// explainStart adds to the error of a command that the system does not start what to do.
func explainStart(err error, script string) error {
	switch {
	case strings.ContainsRune(script, 0):
		return fmt.Errorf("the script has a NUL byte, which cannot be passed to a shell; write it as \\0 for printf, "+
			"for instance: %w", err)
	case errors.Is(err, syscall.E2BIG) && len(script) <= maxArgument:
		return fmt.Errorf("a variable, or all variables together, are longer than this system passes to a program: "+
			"put the value into a file: %w", err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("the script has %d bytes, which with the variables of its environment is more than this "+
			"system passes to a program: write it to a file and run that, or give its data as input: %w", len(script),
			err)
	}
	return err
}
