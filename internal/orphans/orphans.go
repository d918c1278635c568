package orphans

import (
	"fmt"
	"os"
)

// Verify runs the tests of a package and ends the test binary, with a failure if a process is left that they have started, whatever it has done to
// its environment, group or session. It is what TestMain calls. Linux only; elsewhere it just runs them.
func Verify(run func() int) {
	adopt()
	os.Exit(Check(run()))
}

// Check ends what is left, and returns the exit code of a failure then, and the given one otherwise. Adopt has to come first.
func Check(code int) int {
	left := end()
	for _, line := range left {
		fmt.Fprintln(os.Stderr, "left running by the tests of this package:", line)
	}
	if len(left) > 0 && code == 0 {
		return 1
	}
	return code
}

// Adopt makes orphans children of this process, so that Check finds them.
func Adopt() { adopt() }
