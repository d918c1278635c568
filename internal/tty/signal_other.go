//go:build !unix

package tty

import "os"

// Changes is not supported.
func Changes() (changes <-chan os.Signal, stop func()) { return nil, func() {} }

// NotifyStop is not supported.
func NotifyStop(chan<- os.Signal) {}

// Suspend does nothing: there is no job control.
func Suspend() error { return nil }
