package contain

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// capTrace is the capability that whoever looks into the memory and the files of a process with more capabilities needs, or into those of one that
// is undumpable.
const capTrace = unix.CAP_SYS_PTRACE

// withoutTracing takes CAP_SYS_PTRACE from all programs that the calling thread starts, which keeps the capability itself. Between its fork and its
// exec a command is in its namespace with our memory and our files; other commands in there could look into them. Without it they
// look into each other still, being the same user with the same capabilities.
func withoutTracing() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if caps[0].Permitted&(1<<capTrace) == 0 { // then commands have as many capabilities as we
		return errors.New("this process has no CAP_SYS_PTRACE that its commands could do without")
	}
	caps[0].Inheritable &^= 1 << capTrace // and with it the ambient one
	return errors.Join(os.NewSyscallError("capset", unix.Capset(&head, &caps[0])),
		os.NewSyscallError("prctl PR_CAPBSET_DROP", unix.Prctl(unix.PR_CAPBSET_DROP, capTrace, 0, 0, 0)))
}
