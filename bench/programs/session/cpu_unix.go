//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpu returns the processor time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only for arguments that do not exist
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
