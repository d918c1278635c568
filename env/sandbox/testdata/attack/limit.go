//go:build linux

package main

import (
	"golang.org/x/sys/unix"
)

// memory needs a number of MiB.
func memory(args []string) error {
	data := make([]byte, pid(args[0])<<20)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	return nil
}

// files opens many files.
func files(args []string) error {
	for range pid(args[0]) {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}
