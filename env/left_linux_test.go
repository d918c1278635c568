package env_test

import (
	"strconv"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// At each level a process that the command left running is listed with its number and the program
// that it runs.
func TestI1_LeftIsNamed(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		out := watch()
		exit := wait(t, start(t, l, env.Command{
			Script: `sleep 4321 >/dev/null 2>&1 & until grep -qzx sleep /proc/$!/cmdline; do :; done; echo "left $!"`,
			Output: out.Write}))
		if want := strconv.Itoa(pidAfter(t, out.String(), "left ")) + " sleep 4321"; len(exit.Left) != 1 ||
			exit.Left[0] != want {
			t.Errorf("left %q, want %q", exit.Left, want)
		}
	})
}
