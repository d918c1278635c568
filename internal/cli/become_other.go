//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program in this one's place, and returns when that ends.
func become(path string, args []string) error {
	signal.Ignore(os.Interrupt) // it is for the other program, which gets it as well
	cmd := exec.Command(path, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return &exitError{code: ended.ExitCode()}
	}
	return err
}
