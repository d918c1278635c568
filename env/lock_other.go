//go:build !linux

package env

import (
	"fmt"
	"os"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockRange is the number of lock files of each kind. It bounds the number of files; paths that
// share a file sometimes wait for each other briefly.
const lockRange = 128

// lockName returns the lock file for an offset. This platform has no locks of bytes that belong to
// an open file, or is treated like those that have none.
func lockName(kind string, at int64) string { return fmt.Sprintf("%s-%02x", kind, at) }

// tryLock takes the lock of an open file, or returns filelock.ErrLocked.
func tryLock(f *os.File, _ int64) error { return filelock.TryLock(f, filelock.Exclusive) }

// lockHolder returns "": this system does not tell who has locked a directory.
func lockHolder(dirID) string { return "" }
