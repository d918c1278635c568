package env_test

import (
	"strconv"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// A process that the command left running is listed with the program that it is about to execute, even if the command ends before
// that.
func TestI1_NamedAfterItsExec(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		out := watch()
		exit := wait(t, start(t, l, env.Command{
			Script: `(i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; exec sleep 4321) >/dev/null 2>&1 & echo "left $!"`, Output: out.Write}))
		if want := strconv.Itoa(pidAfter(t, out.String(), "left ")) + " sleep 4321"; len(exit.Left) != 1 || exit.Left[0] != want {
			t.Errorf("left %q, want %q", exit.Left, want)
		}
	})
}

// A process that ends before it can be listed is left out.
func TestI1_EndedProcessesAreNotNamed(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		_, result := run(t, l, env.Command{Script: `(i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done) >/dev/null 2>&1 &`})
		for _, line := range result.Left {
			t.Errorf("left %q", line)
		}
	})
}
