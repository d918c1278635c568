package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/otel/internal/receiver"
)

// A conversation on a terminal is reported, each of its inputs.
func TestN6_ChatReports(t *testing.T) {
	r := receiver.New(t)
	cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "TERM=dumb"}, "chat", "--yes", "do it")
	ours, theirs := openTerminal(t)
	cmd.Stdin, cmd.Stdout = theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	var screen strings.Builder
	lines := bufio.NewReader(ours)
	for done := false; !done; {
		line, err := lines.ReadString('\n')
		screen.WriteString(line)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, &screen, stderr)
		}
		done = strings.Contains(line, "Done.")
	}
	fmt.Fprint(ours, "/exit\r")
	for err := error(nil); err == nil; { // until the terminal is closed
		_, err = lines.ReadString('\n')
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s\n%s", err, &screen, stderr)
	}
	if got := names(r); got != session {
		t.Errorf("the spans are %q\n%s\n%s", got, &screen, stderr)
	}
}

// openTerminal returns the two sides of a terminal.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	var failed error
	if err := raw.Control(func(fd uintptr) {
		var e error
		number, e = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		failed = errors.Join(e, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}
