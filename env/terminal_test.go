//go:build linux

package env_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

func TestD3_Terminal(t *testing.T) { atLevels(t, terminal) }

func terminal(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	out := watch()
	p := start(t, l, env.Command{
		Script: `test -t 0 && test -t 1 && test -t 2 && echo "a terminal"; echo "the controlling one" >/dev/tty; stty size; echo err >&2; read x; echo "got $x"; cat; exit 3`,
		TTY:    &env.Size{Rows: 33, Cols: 77},
		Output: func(stream int, b []byte) {
			if stream != env.Stdout {
				t.Errorf("output of stream %d", stream)
			}
			out.Write(stream, b)
		},
	})
	out.until(t, "err\r\n")
	if _, err := p.Stdin().Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	out.until(t, "got hello")
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 3 {
		t.Errorf("exit is %+v", exit)
	}
	for _, part := range []string{"a terminal\r\n", "the controlling one\r\n", "33 77\r\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in %q", part, out)
		}
	}
}

// A shell with job control puts every job in its own group. The kill must reach the whole session.
func TestD4_TerminalKillsTheSession(t *testing.T) { atLevels(t, terminalKillsTheSession) }

func terminalKillsTheSession(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	out, tag := watch(), newTag()
	p := start(t, l, env.Command{
		Script: `set -m; (trap '' TERM HUP; echo "job $BASHPID"; while :; do sleep 0.01; done) & wait`,
		TTY:    &env.Size{Rows: 24, Cols: 80}, Env: []string{tag}, Output: out.Write,
	})
	job := pidAfter(t, out.until(t, "\n"), "job ")
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := survivors(t, tag, job); len(left) > 0 {
		t.Errorf("process %d survived: %q", job, left)
	}
}
