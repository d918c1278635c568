//go:build unix

package env

import "golang.org/x/sys/unix"

// osVersion returns the kernel's name and release, such as "Linux 6.18.44", or "" if unknown.
func osVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
