package sandbox

import "golang.org/x/sys/unix"

// processor returns the architecture of this program.
func processor() *architecture {
	return &architecture{
		audit:   unix.AUDIT_ARCH_AARCH64,
		refused: []uint32{unix.SYS_KEXEC_FILE_LOAD},
		chmods:  []call{{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_MKNODAT, 2}},
		opens:   []open{{unix.SYS_OPENAT, 2, 3}},
	}
}
