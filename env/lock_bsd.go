//go:build unix && !linux

package env

import (
	"fmt"
	"os"
)

// lockStripes is the number of lock files of each kind. It bounds the number of files; paths that
// share a file sometimes wait for each other briefly.
const lockStripes = 128

// lockName returns the lock file for a byte. This platform has no byte-range locks that belong to
// an open file.
func lockName(kind string, at int64) string { return fmt.Sprintf("%s-%02x", kind, at%lockStripes) }

// tryLock takes the lock of an open file, or returns errBusy.
func tryLock(f *os.File, _ int64) error { return flock(f) }

// lockHolder returns "": this system does not tell who has locked a directory.
func lockHolder(dirID) string { return "" }
