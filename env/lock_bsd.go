//go:build unix && !linux

package env

import (
	"fmt"
	"os"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockStripes is the number of lock files of each kind. It bounds the number of files; paths that
// share a file sometimes wait for each other briefly.
const lockStripes = 128

// lockName returns the lock file for a byte. This platform has no byte-range locks that belong to
// an open file.
func lockName(kind string, at int64) string { return fmt.Sprintf("%s-%02x", kind, at%lockStripes) }

// tryLock takes the lock of an open file, or returns filelock.ErrLocked.
func tryLock(f *os.File, _ int64) error { return filelock.TryLock(f, filelock.Exclusive) }

// lockHolder returns "": this system does not tell who has locked a directory.
func lockHolder(dirID) string { return "" }
