//go:build unix

package debuglog

import (
	"os"
	"syscall"
)

// isOthers reports whether a file or a named pipe belongs to another user, who could read it.
func isOthers(info os.FileInfo) bool {
	if !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0 { // a device
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid()
}
