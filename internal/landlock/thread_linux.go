package landlock

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DropCapabilities takes from root all capabilities but the given ones, and from other users those
// that programs would inherit, as soon as the calling thread executes a program.
func DropCapabilities(kept ...uintptr) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_CAP_AMBIENT", err)
	}
	for c := uintptr(0); os.Geteuid() == 0; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // there are no more
		}
		if held == 0 || slices.Contains(kept, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_DROP", err)
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	caps[0].Inheritable, caps[1].Inheritable = 0, 0
	return os.NewSyscallError("capset", unix.Capset(&head, &caps[0]))
}

// Filter gives the calling thread a filter of system calls, an array of the kernel's struct
// sock_filter.
func Filter(program []byte) error {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(program) == 0 || len(program)%size != 0 {
		return fmt.Errorf("the filter has %d bytes, which is not a number of instructions", len(program))
	}
	p := unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}
