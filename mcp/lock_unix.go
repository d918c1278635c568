//go:build unix

package mcp

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file, or returns errLocked if it is locked already.
func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}
