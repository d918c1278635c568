package sandbox

import "golang.org/x/sys/unix"

// processor returns the architecture of this program. Calls from x32 on are another one's.
func processor() *architecture {
	return &architecture{
		audit: unix.AUDIT_ARCH_X86_64, maximum: 1<<30 - 1,
		refused: []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD,
			unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE},
		changes: []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
			unix.SYS_FUTIMESAT},
		chmods: []call{{unix.SYS_CHMOD, 1}, {unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2},
			{unix.SYS_MKNOD, 1}, {unix.SYS_MKNODAT, 2}, {unix.SYS_CREAT, 1}},
		opens: []open{{unix.SYS_OPEN, 1, 2}, {unix.SYS_OPENAT, 2, 3}},
	}
}
