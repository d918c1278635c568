//go:build unix

package env

import "golang.org/x/sys/unix"

// osVersion is the kernel's name and release, such as "Linux 6.18.44"; empty if it does not tell.
func osVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
