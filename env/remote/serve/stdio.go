package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// Protocol returns the line that a helper prints if it is asked which versions of the protocol it
// speaks.
func Protocol() string {
	return fmt.Sprintf("attractor-env-protocol %d %d", wire.OldestVersion, wire.NewestVersion)
}

// Standard is a helper's main function: it serves on the standard streams until they end, or a
// signal ends the process. Everything that was started is gone when it returns. It changes this
// process's environment, and what SIGPIPE does to it.
func Standard(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A broken standard output would end the process before it has ended what it has started. This
	// holds until the process ends: a last write may still be under way when Serve returns.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Behind sshd, bash would read ~/.bashrc for each command.
	for _, name := range []string{"SSH_CLIENT", "SSH2_CLIENT"} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return Serve(ctx, Stdio())
}

// Stdio returns the standard input and output of this process as one stream of bytes.
func Stdio() io.ReadWriteCloser { return stdio{os.Stdin, os.Stdout} }

type stdio struct {
	io.Reader
	io.Writer
}

// Close closes both. It does not end a Read that waits on a descriptor that the system cannot poll;
// Serve does not wait for that.
func (stdio) Close() error { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }
