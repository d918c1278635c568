package orphans

import (
	"fmt"
	"os"
	"time"
)

// Verify runs the tests of a package and exits. TestMain calls it. On Linux it exits with a failure
// if a process that the tests started still runs, even one that has left its group and session.
func Verify(run func() int) {
	adopt()
	os.Exit(Check(run()))
}

// Check kills the processes that are left and returns the exit code: the given one, or 1 if that is
// 0 and there were any. Adopt must be called first.
func Check(code int) int { return check(code, time.Minute) }

// check is Check with the time that children have to end.
func check(code int, patience time.Duration) int {
	left := end(patience)
	for _, line := range left {
		fmt.Fprintln(os.Stderr, "left running by the tests of this package:", line)
	}
	if len(left) > 0 && code == 0 {
		return 1
	}
	return code
}

// Adopt makes this process the parent of orphans, so that Check finds them.
func Adopt() { adopt() }
