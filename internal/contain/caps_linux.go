package contain

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// capTrace is the capability to read the memory and files of a process that is undumpable or has
// more capabilities.
const capTrace = unix.CAP_SYS_PTRACE

// withoutTracing removes CAP_SYS_PTRACE from all programs that the calling thread starts. The
// thread itself keeps it. Between fork and exec a command has this process's memory and files in
// its namespace, where other commands could read them. Commands can still read each other, because
// they have the same user and capabilities.
func withoutTracing() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if caps[0].Permitted&(1<<capTrace) == 0 { // commands have the same capabilities anyway
		return errors.New("this process does not have CAP_SYS_PTRACE, so it cannot be taken from its commands")
	}
	caps[0].Inheritable &^= 1 << capTrace // removes the ambient one too
	return errors.Join(os.NewSyscallError("capset", unix.Capset(&head, &caps[0])),
		os.NewSyscallError("prctl PR_CAPBSET_DROP", unix.Prctl(unix.PR_CAPBSET_DROP, capTrace, 0, 0, 0)))
}
