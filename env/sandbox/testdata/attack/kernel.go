//go:build linux

package main

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ioUring([]string) error {
	var params [120]byte
	_, _, e := syscall.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])), 0)
	return errno(e)
}

func bpf([]string) error {
	attr := struct{ kind, key, value, max uint32 }{2, 4, 4, 1} // an array with one entry
	_, _, e := syscall.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return errno(e)
}

func perf([]string) error {
	_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}, 0, -1, -1, 0)
	return err
}

func userfaultfd([]string) error {
	const userModeOnly = 1
	_, _, e := syscall.Syscall(unix.SYS_USERFAULTFD, userModeOnly, 0, 0)
	return errno(e)
}

func fanotify([]string) error {
	_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF, 0)
	return err
}

func module([]string) error {
	_, _, e := syscall.Syscall(unix.SYS_INIT_MODULE, 0, 0, 0)
	return permitted(e)
}

func kexec([]string) error {
	const tooMany = 1 << 20
	_, _, e := syscall.Syscall6(unix.SYS_KEXEC_LOAD, 0, tooMany, 0, 0, 0, 0)
	return permitted(e)
}

func swapon(args []string) error {
	path, err := syscall.BytePtrFromString(args[0] + "/no-such-file")
	if err != nil {
		return err
	}
	_, _, e := syscall.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(path)), 0, 0)
	return permitted(e)
}

// clock sets the time zone of the kernel to what it is.
func clock([]string) error {
	var zone [2]int32
	var now unix.Timeval
	if _, _, e := syscall.Syscall(unix.SYS_GETTIMEOFDAY, uintptr(unsafe.Pointer(&now)), uintptr(unsafe.Pointer(&zone)), 0); e != 0 {
		return e
	}
	_, _, e := syscall.Syscall(unix.SYS_SETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone)), 0)
	return errno(e)
}

func hostname([]string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}

func reboot([]string) error {
	const bad = 0x1234
	_, _, e := syscall.Syscall6(unix.SYS_REBOOT, bad, bad, bad, 0, 0, 0)
	return permitted(e)
}

// syslog reads the kernel's messages.
func syslog([]string) error {
	const readAll = 3
	_, err := unix.Klogctl(readAll, make([]byte, 100))
	return err
}

func iopl([]string) error {
	_, _, e := syscall.RawSyscall(ioplNumber, 3, 0, 0)
	return errno(e)
}

func acct([]string) error {
	path, err := syscall.BytePtrFromString("/no-such-file")
	if err != nil {
		return err
	}
	_, _, e := syscall.Syscall(unix.SYS_ACCT, uintptr(unsafe.Pointer(path)), 0, 0)
	return permitted(e)
}

// x32 makes a system call of another architecture, for which a filter may have no rule.
func x32([]string) error {
	const bit = 0x40000000
	_, _, e := syscall.RawSyscall(bit+39, 0, 0, 0) // getpid of x32 on amd64
	return errno(e)
}
