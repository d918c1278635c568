package env

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// refuseKernelHandle refuses files of proc and sysfs wherever they are mounted. In /proc they are regular files of size 0 and
// lead out of every root (/proc/self/root).
func refuseKernelHandle(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var stat unix.Statfs_t
	var statErr error
	if err := conn.Control(func(fd uintptr) { statErr = unix.Fstatfs(int(fd), &stat) }); err != nil {
		return err
	}
	if statErr != nil {
		return os.NewSyscallError("fstatfs", statErr)
	}
	switch int64(stat.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC:
		return fmt.Errorf("files of the kernel's own file systems are not served: %w", fs.ErrPermission)
	}
	return nil
}
