package tty

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A terminal that cannot be used is left as it was.
func TestN3_FailedOpenLeavesTheTerminal(t *testing.T) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system has no pseudo-terminals: %v", err)
	}
	defer ours.Close()
	number := 0
	if err := withDescriptor(ours, func(fd int) (err error) {
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	}); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Open(os.DevNull) // nothing can be written to it
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if terminal, err := Open(in, out); err == nil {
		t.Fatal("the terminal is used without an output", terminal.Close())
	}
	if err := withDescriptor(in, func(fd int) error {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil && state.Lflag&unix.ECHO == 0 {
			t.Error("the terminal does not show any more what is typed")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
