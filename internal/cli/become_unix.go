//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become replaces this program by another one. It returns only if that fails.
func become(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }
