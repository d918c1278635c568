package contain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A trial does in this process what a level does for a command, as far as that is possible without a process, and undoes it. A level
// whose trial succeeds is used without a probe: the first command is the first process. A trial that fails proves nothing, because a
// process may be allowed more; then the probe decides.

// try makes a cgroup, looks into it, kills what is in it and removes it.
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
	kind, err := os.ReadFile(path.Join(leaf.dir, "cgroup.type"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(kind)) != "domain" {
		return fmt.Errorf("cgroup %s: %s: it cannot contain processes", leaf.dir, oneLine(string(kind)))
	}
	members, err := leaf.members()
	if err != nil {
		return err
	}
	if len(members) > 0 || leaf.Alive() {
		return fmt.Errorf("cgroup %s: it is not empty", leaf.dir)
	}
	return errors.Join(leaf.Signal(syscall.SIGKILL), startsInCgroups())
}

// startsInCgroups returns an error if the kernel, or a filter of system calls, does not let processes start in a cgroup. It asks for one
// in a descriptor that cannot exist, so that none starts.
func startsInCgroups() error {
	const never = 1 << 30 // above every limit of descriptors
	_, err := syscall.ForkExec("/", []string{"/"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: never}})
	if errors.Is(err, syscall.EBADF) {
		return nil
	}
	return fmt.Errorf("start a process in a cgroup: %w", err)
}

// try makes the namespaces on a thread of this process and replaces every procfs there, which shows the host's processes because no other
// process exists. With untraced, the thread also gives up CAP_SYS_PTRACE. All of it ends with the thread.
func (n *pidns) try(untraced bool) error {
	result := make(chan error, 1)
	ownThread(func() {
		err := tryNamespaces()
		if err == nil && untraced {
			err = withoutTracing()
		}
		result <- err
	})
	return <-result
}

// tryNamespaces does what enter does, but mounts the new /proc itself. The calling thread must not be used afterwards.
func tryNamespaces() error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWPID); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	proc, err := isolatedProc()
	if err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	return proc.replace()
}
