package contain

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// A trial finds out without a process whether a level works. A level whose trial succeeds is used
// at once, and the first command is its first process. A trial that fails proves nothing, because
// it accepts only what is certain; then a probe decides.

// try makes a cgroup, kills what is in it and removes it.
func (c *cgroups) try() (err error) {
	if !c.own {
		return errors.New("only a process can tell whether it may move to another branch of the hierarchy")
	}
	// A process that starts in the new cgroup moves there from this one.
	if err := unix.Faccessat(unix.AT_FDCWD, path.Join(c.dir, "cgroup.procs"), unix.W_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "access", Path: c.dir, Err: err}
	}
	leaf, err := c.make(rand.Text())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leaf.Close()) }()
	if err := fileSays(path.Join(leaf.dir, "cgroup.type"), "domain"); err != nil {
		return err // it cannot contain processes
	}
	return errors.Join(leaf.Signal(syscall.SIGKILL), startsInCgroups())
}

// startsInCgroups returns an error if the kernel, or a filter of system calls, does not let
// processes start in a cgroup. It asks for one in a descriptor that cannot exist, so that none
// starts.
func startsInCgroups() error {
	const never = 1 << 30 // above every limit of descriptors
	_, err := syscall.ForkExec("/", []string{"/"},
		&syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: never}})
	if errors.Is(err, syscall.EBADF) {
		return nil
	}
	return fmt.Errorf("start a process in a cgroup: %w", err)
}

// try returns an error unless this process may certainly make the namespaces and change the mounts
// in them: it is root with its capabilities, in the machine's own user namespace, and neither a
// filter of system calls nor a security module restricts it.
func (n *pidns) try(mounts mountinfo, capabilities ...int) error {
	if os.Getuid() != 0 || os.Geteuid() != 0 {
		return errors.New("another user's keeper may lack the capabilities")
	}
	errs := []error{
		holds(append(capabilities, unix.CAP_SYS_ADMIN)),
		fileSays("/proc/self/uid_map", "0 0 4294967295"),
		fileSays("/proc/self/status", "Seccomp: 0"),
		unrestricted(),
		available("/proc/sys/user/max_pid_namespaces"),
		available("/proc/sys/user/max_mnt_namespaces"),
		mayMount(),
		onlyProc(mounts),
	}
	return errors.Join(errs...)
}

// holds returns an error if this process lacks one of the capabilities, or if the programs that it
// starts do.
func holds(capabilities []int) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	for _, c := range capabilities {
		bounding, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if caps[0].Effective&caps[0].Permitted&(1<<c) == 0 || bounding != 1 {
			return errors.Join(fmt.Errorf("capability %d is missing", c), err)
		}
	}
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	if bits != 0 { // programs of root may not get its capabilities
		err = errors.Join(fmt.Errorf("the secure bits are %#x", bits), err)
	}
	return err
}

// unrestricted returns an error if a security module has rules for this process.
func unrestricted() error {
	label, err := readProc("/proc/self/attr/current")
	switch {
	case errors.Is(err, syscall.EINVAL), gone(err): // there is no such module
		return nil
	case err == nil && bytes.HasPrefix(label, []byte("unconfined")):
		return nil
	}
	return errors.Join(fmt.Errorf("a security module calls this process %s", oneLine(string(label))), err)
}

// available returns an error if the limit in a file is 0.
func available(limit string) error {
	text, err := readProc(limit)
	if err == nil && string(bytes.TrimSpace(text)) == "0" {
		err = errors.New(limit + " is 0")
	}
	return err
}

// mayMount returns an error if this process may not change mounts, or if the kernel is older than
// Linux 5.2. Its system calls are permitted and then refused, because no mount has two types of
// propagation and no descriptor the number -1. So they change nothing.
func mayMount() error {
	if err := unix.Mount("", "/proc", "", unix.MS_SHARED|unix.MS_PRIVATE, ""); !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("mount: %w", err)
	}
	if err := unix.MoveMount(-1, "", -1, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); !errors.Is(err,
		unix.EBADF) {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// onlyProc returns an error if a procfs is mounted besides the one on /proc. Then only a process
// can tell whether all can be detached.
func onlyProc(mounts mountinfo) error {
	list, err := mounts()
	if err != nil {
		return err
	}
	proc, err := findProc(list)
	if err != nil {
		return err
	}
	if len(proc.places) != 1 || proc.places[0].depth != 1 {
		return errors.New("several procfs are mounted")
	}
	return nil
}

// fileSays returns an error if no line of a file has the given words.
func fileSays(name, words string) error {
	text, err := readProc(name)
	if err != nil {
		return &os.PathError{Op: "read", Path: name, Err: err}
	}
	for line := range bytes.Lines(text) {
		if string(bytes.Join(bytes.Fields(line), []byte(" "))) == words {
			return nil
		}
	}
	return fmt.Errorf("%s has no line %q", name, words)
}
