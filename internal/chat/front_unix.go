//go:build unix

package chat

import (
	"os"
	"syscall"
)

// isContinue reports whether a signal says that the process goes on after a stop.
func isContinue(sig os.Signal) bool { return sig == syscall.SIGCONT }
