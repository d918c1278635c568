//go:build linux

package main

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pair sends to the path of a socket from one of a pair.
func pair(args []string) error {
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW} {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			return err
		}
		if err := unix.Sendto(fds[0], []byte("attack"), 0, &unix.SockaddrUnix{Name: args[0]}); err != nil {
			return err
		}
	}
	return nil
}

// owner makes the kernel signal another process when there is something in a pipe.
func owner(args []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	fd := r.Fd()
	for _, c := range [][2]int{{unix.F_SETSIG, int(unix.SIGUSR1)}, {unix.F_SETOWN, pid(args[0])}, {unix.F_SETFL, unix.O_ASYNC}} {
		if _, err := unix.FcntlInt(fd, c[0], c[1]); err != nil {
			return err
		}
	}
	_, err = w.WriteString("x")
	time.Sleep(100 * time.Millisecond) // the kernel needs the pipe until it has signaled
	return err
}

// setattr changes attributes of a file by a call of Linux 6.17.
func setattr(args []string) error {
	name, err := unix.BytePtrFromString(args[0])
	if err != nil {
		return err
	}
	const noDump = 0x80
	attributes := struct {
		flags                           uint64
		extent, extents, project, cowed uint32
	}{flags: noDump}
	at := unix.AT_FDCWD
	_, _, e := unix.Syscall6(unix.SYS_FILE_SETATTR, uintptr(at), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0, 0)
	return errno(e)
}

// neither opens a file neither for reading nor for writing.
func neither(args []string) error {
	_, err := unix.Open(args[0], unix.O_ACCMODE, 0)
	return err
}

// lease makes others wait who open a file for reading.
func lease(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	return err
}

// exclusive makes others wait who lock a file.
func exclusive(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	return unix.Flock(int(f.Fd()), unix.LOCK_EX)
}
