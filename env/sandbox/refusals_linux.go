package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// mayWrite reports whether this user may write a file outside the sandbox.
func mayWrite(name string) bool { return mayUse(name, unix.W_OK) }

// mayUse reports whether this user has a right, such as unix.R_OK, to a file outside the sandbox.
func mayUse(name string, right uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, name, right, unix.AT_EACCESS) == nil
}

// sees implements mechanism.
func (b *bubblewrap) sees(name string) (visible, writable bool) {
	if slices.ContainsFunc(b.plan.files, func(f placeholder) bool { return below(name, f.path) }) {
		return true, false
	}
	if in := b.plan.innermost(name); in != nil {
		return in.source == "", !in.readOnly
	}
	return slices.ContainsFunc(b.visible, func(dir string) bool { return below(name, dir) }), false
}

// sees implements mechanism.
func (k *landlocked) sees(name string) (visible, writable bool) {
	for i := 0; i+1 < len(k.args); i += 2 {
		if !below(name, k.args[i+1]) {
			continue
		}
		visible, writable = true, writable || k.args[i] == "--write"
	}
	return visible, writable
}
