//go:build linux

package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// userns starts a program in a user namespace, in which it has all capabilities.
func userns([]string) error {
	cmd := exec.Command("/bin/sh", "-c", ":")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

func clonens([]string) error {
	_, _, e := syscall.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWNS|unix.CLONE_NEWNET, 0, 0)
	return errno(e)
}

func mountTmpfs(args []string) error { return unix.Mount("none", args[0], "tmpfs", 0, "size=4k") }

func openTree(args []string) error {
	_, err := unix.OpenTree(unix.AT_FDCWD, args[0], unix.OPEN_TREE_CLONE)
	return err
}

func fsopen([]string) error {
	_, err := unix.Fsopen("tmpfs", 0)
	return err
}

func chroot(args []string) error { return unix.Chroot(args[0]) }

func pivot(args []string) error {
	return permitted(asErrno(unix.PivotRoot(args[0]+"/no", args[0]+"/where")))
}

func setns(args []string) error {
	f, err := os.Open("/proc/" + args[0] + "/ns/mnt")
	if err != nil {
		return err
	}
	return permitted(asErrno(unix.Setns(int(f.Fd()), unix.CLONE_NEWUTS))) // of another kind, so it fails for that if it is permitted
}
