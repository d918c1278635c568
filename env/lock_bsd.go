//go:build unix && !linux

package env

import (
	"fmt"
	"os"
)

// lockStripes is how many lock files there are of a kind. Paths that share one wait for each other without need, but not for long, and the
// number of files never grows.
const lockStripes = 128

// lockName returns the file of a kind that stands for a byte: there are no locks of bytes here that belong to an open file.
func lockName(kind string, at int64) string { return fmt.Sprintf("%s-%02x", kind, at%lockStripes) }

// tryLock takes the lock of an open file, or returns errBusy.
func tryLock(f *os.File, _ int64) error { return flock(f) }
