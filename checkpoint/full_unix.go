//go:build unix

package checkpoint

import (
	"errors"
	"syscall"
)

// noSpace reports whether an error says that the disk, or the user's share of it, is full.
func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
