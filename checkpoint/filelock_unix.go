//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a directory durable.
func syncDir(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// noSpace reports whether an error says that the disk, or the user's share of it, is full.
func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
