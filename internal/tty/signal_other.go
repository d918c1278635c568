//go:build !unix

package tty

import "os"

// Changes is not supported.
func Changes() (changes <-chan os.Signal, stop func()) { return nil, func() {} }

// Continued is not supported.
func Continued(os.Signal) bool { return false }

// Suspend does nothing: there is no job control.
func Suspend() error { return nil }
