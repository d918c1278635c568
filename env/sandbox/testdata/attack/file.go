//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handle opens the root of the file system that contains a directory, by its handle.
func handle(args []string) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
	if err != nil {
		return err
	}
	dir, err := os.Open(args[0])
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(int(dir.Fd()), h, unix.O_RDONLY)
	return err
}

// setuidFile makes a program that runs as its owner, in several ways.
func setuidFile(args []string) error {
	for i, make := range []func(name string) error{
		func(name string) error { return os.Chmod(name, 0o755|os.ModeSetuid) },
		func(name string) error { return unix.Fchmodat(unix.AT_FDCWD, name, 0o4755, 0) },
		func(name string) error {
			path, err := syscall.BytePtrFromString(name)
			if err != nil {
				return err
			}
			_, _, e := syscall.Syscall6(unix.SYS_FCHMODAT2, ^uintptr(99), uintptr(unsafe.Pointer(path)), 0o4755, 0, 0, 0)
			return errno(e)
		},
		func(name string) error {
			fd, err := unix.Open(name, unix.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(unix.Fchmod(fd, 0o4755), unix.Close(fd))
		},
		func(name string) error {
			fd, err := unix.Open(name+".new", unix.O_WRONLY|unix.O_CREAT, 0o4755)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		func(name string) error {
			fd, err := unix.Creat(name+".created", 0o4755)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		func(name string) error { return unix.Mknod(name+".node", unix.S_IFREG|0o4755, 0) },
		func(name string) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, name+".how", &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o4755})
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
	} {
		name := filepath.Join(args[0], "setuid"+strconv.Itoa(i))
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			return err
		}
		if err := make(name); err != nil {
			fmt.Println(i, err)
		}
	}
	return errors.New("see the files")
}

// openat2 opens a file outside by a path through a link of /proc.
func openat2(args []string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/proc/self/root"+args[0], &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o644})
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("attack\n"))
	return err
}
