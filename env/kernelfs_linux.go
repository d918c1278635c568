package env

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// refuseKernelHandle refuses files of proc and sysfs, wherever these are mounted. Files in /proc
// look like regular files of size 0 and lead out of every root (/proc/self/root).
func refuseKernelHandle(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = conn.Control(func(fd uintptr) { refused = refuseKernelDescriptor(int(fd)) })
	return errors.Join(err, refused)
}

// refuseKernelDescriptor does the same for a descriptor.
func refuseKernelDescriptor(fd int) error {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(fd, &stat); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	switch int64(stat.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC:
		return fmt.Errorf("files of kernel file systems (proc, sysfs) cannot be used: %w", fs.ErrPermission)
	}
	return nil
}
