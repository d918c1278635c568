//go:build !linux && !darwin

package tty

import (
	"errors"
	"os"
)

// Reopen is not supported.
func Reopen(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

// Discard is not supported.
func Discard(*os.File) {}

// Unread is not supported.
func Unread(*os.File) (int, error) { return 0, errors.ErrUnsupported }
