//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Changes returns a channel that gets a value when the size of the terminal has changed, and when
// the process goes on after it was stopped. The caller calls stop at the end.
func Changes() (changes <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGWINCH, syscall.SIGCONT)
	return c, func() { signal.Stop(c) }
}

// Continued reports whether a change is that the process goes on after it was stopped. Others have
// written to the terminal meanwhile.
func Continued(change os.Signal) bool { return change == syscall.SIGCONT }

// suspendWait bounds the wait for a stop that does not come, as in a process group that no shell
// controls.
const suspendWait = 300 * time.Millisecond

// Suspend stops the process and what a shell has started with it, as Ctrl-Z does, and returns when
// the process goes on.
func Suspend() error {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-on:
	case <-time.After(suspendWait):
	}
	return nil
}
