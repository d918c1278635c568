package contain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupPIDNS starts each command in a new cgroup and all of them in one PID namespace, which hides
// the host and ends with it.
type cgroupPIDNS struct {
	cgroups *cgroups
	pidns   *pidns

	mu     sync.Mutex
	now    *namespace // nil if the next command needs a new one
	closed bool
}

// findCgroupPIDNS returns the level, or an error that says why cgroups and a namespace do not work
// together. With proof a trial is not enough.
func findCgroupPIDNS(shell, outer string, roots []string, mounts mountinfo, proof bool) (*cgroupPIDNS, error) {
	c, err := findCgroups(shell, mounts, proof)
	if err != nil {
		return nil, err
	}
	n, err := preparePIDNS(shell, outer, roots)
	if err != nil {
		return nil, err
	}
	r := &cgroupPIDNS{cgroups: c, pidns: n}
	if n.certain = !proof && n.try(mounts, capTrace, unix.CAP_SETPCAP) == nil; n.certain {
		return r, nil
	}
	if err := r.probe(shell); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *cgroupPIDNS) name() string { return CgroupPIDNS }

func (r *cgroupPIDNS) hides() bool { return true }

// probe starts a command that checks that its /proc is its own. The namespace stays for the
// commands to come.
func (r *cgroupPIDNS) probe(shell string) error {
	leaf, err := r.cgroups.make(rand.Text())
	if err != nil {
		return err
	}
	cmd := exec.Command(shell, "-c", probeScript)
	err = probe(cmd, func() (Tree, error) { return r.enter(cmd, leaf, nil) })
	return errors.Join(err, leaf.Close())
}

// limit limits each command by cgroups. If the processes cannot be limited so, all commands of the
// namespace have the limit together.
func (r *cgroupPIDNS) limit(wanted Limits) Limits {
	limits := r.cgroups.limit(wanted)
	if limits.Processes == 0 {
		limits.Processes = r.pidns.limitNumbers(wanted.Processes, func() error {
			if err := r.end(); err != nil {
				return err
			}
			return r.probe(r.pidns.shell)
		})
	}
	return limits
}

// start starts a command in a new cgroup and in the namespace.
func (r *cgroupPIDNS) start(cmd *exec.Cmd, id string, before func() error) (Tree, error) {
	leaf, err := r.cgroups.makeLimited(id)
	if err != nil {
		return nil, err
	}
	return r.enter(cmd, leaf, before)
}

// enter starts a command in a cgroup and in the namespace.
func (r *cgroupPIDNS) enter(cmd *exec.Cmd, leaf *leaf, before func() error) (Tree, error) {
	s, err := r.current()
	if err != nil {
		return leaf, err
	}
	if before == nil {
		before = func() error { return nil }
	}
	return namespacedLeaf{leaf}, s.start(before, func(before func() error) error { return leaf.toStart(cmd, before)() })
}

// current returns the namespace, or a new one if the last one has ended, as it does when the kernel
// runs out of memory.
func (r *cgroupPIDNS) current() (*namespace, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if r.now != nil && !r.now.ended() {
		return r.now, nil
	}
	if s := r.now; s != nil {
		r.now = nil
		if err := s.close(); err != nil {
			return nil, err
		}
	}
	s, err := r.pidns.open()
	if err != nil {
		return nil, err
	}
	r.now = s
	return s, nil
}

// close ends the namespace and all that is left in it.
func (r *cgroupPIDNS) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.end()
}

// end ends the namespace. The next command gets a new one.
func (r *cgroupPIDNS) end() error {
	s := r.now
	r.now = nil
	if s == nil {
		return nil
	}
	return s.close()
}

// errClosed is the error of a command that is started after close.
var errClosed = fmt.Errorf("the environment is closed: %w", fs.ErrClosed)

// namespace is a PID namespace with a keeper and a thread that has its mounts. The keeper ends with
// the thread.
type namespace struct {
	keeper *keeper
	thread int           // the thread's number
	limit  time.Duration // for starting a command
	quit   chan struct{} // closed to end the thread
	gone   chan struct{} // closed when it has ended
}

// open returns a new namespace.
func (n *pidns) open() (*namespace, error) {
	s := &namespace{limit: keeperTime, quit: make(chan struct{}), gone: make(chan struct{})}
	entered := make(chan error)
	ownThread(func() {
		defer close(s.gone)
		s.thread = unix.Gettid()
		var err error
		s.keeper, err = n.enter()
		entered <- err
		<-s.quit
	})
	if err := <-entered; err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start calls start on another thread, which joins the namespace first and ends with it. Start
// calls the function that it gets right before it starts a command. If before takes longer than the
// limit, the command is not started, and the others go on.
func (s *namespace) start(before func() error, start func(before func() error) error) error {
	ready, goOn, result := make(chan struct{}), make(chan bool, 1), make(chan error, 1)
	ownThread(func() {
		err := s.join()
		if err == nil {
			err = start(func() error {
				err := before()
				close(ready)
				if !<-goOn && err == nil {
					err = errSlow
				}
				return err
			})
		}
		result <- err
	})
	late := time.NewTimer(s.limit)
	defer late.Stop()
	select {
	case <-ready:
		goOn <- true
		return s.await(result)
	case err := <-result:
		return err
	case <-late.C:
		goOn <- false
		return errSlow
	}
}

// errSlow says that a command was not started, because Launch.Thread took too long.
var errSlow = errors.New("preparing the thread that starts the command takes too long")

// join gives the calling thread the mounts of the namespace's thread, and moves what it starts into
// the namespace.
func (s *namespace) join() error {
	mounts, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/ns/mnt", s.thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open ns/mnt", err)
	}
	defer func() { _ = unix.Close(mounts) }() // it was only read
	pids, err := unix.Open(fmt.Sprintf("/proc/%d/ns/pid", s.keeper.cmd.Process.Pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open ns/pid", err)
	}
	defer func() { _ = unix.Close(pids) }()             // it was only read
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // the root and the working directory come with the mounts
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Setns(mounts, unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("setns", err)
	}
	if err := unix.Setns(pids, unix.CLONE_NEWPID); err != nil {
		return os.NewSyscallError("setns", err)
	}
	return withoutTracing()
}

// await waits for what a thread of the namespace does. Another command can stop a command that is
// being started, and this process waits for it in the kernel. So after the limit the namespace
// ends, with all of its commands.
func (s *namespace) await(result <-chan error) error {
	late := time.NewTimer(s.limit)
	defer late.Stop()
	select {
	case err := <-result:
		return err
	case <-late.C:
		err := s.keeper.Signal(syscall.SIGKILL)
		return errors.Join(<-result, err)
	}
}

// ended reports whether the keeper has ended, so that nothing can be started any more. It asks the
// kernel, because a goroutine that waits would be in a system call, and testing/synctest would take
// an idle host for a busy one.
func (s *namespace) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.keeper.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// close ends the keeper, what is left in the namespace, and the thread. It is called once.
func (s *namespace) close() error {
	close(s.quit)
	var err error
	if s.keeper != nil {
		go s.keeper.wait()
		err = s.keeper.end(keeperTime)
	}
	<-s.gone
	return err
}

// namespacedLeaf is the cgroup of a command in a PID namespace.
type namespacedLeaf struct{ *leaf }

// Left describes the members by their numbers in the namespace.
func (t namespacedLeaf) Left() []string { return leftOf(t) }

// members returns the members that are in the namespace.
func (t namespacedLeaf) members() (inside []member, err error) {
	all, err := t.leaf.members()
	for _, m := range all {
		if m.inside = numberInside(m.pid); m.inside != 0 {
			inside = append(inside, m)
		}
	}
	return inside, err
}

// numberInside returns the number of a process in the PID namespace below our own, or 0 if it has
// ended or is in none.
func numberInside(pid int) int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		numbers, ok := strings.CutPrefix(line, "NSpid:")
		if f := strings.Fields(numbers); ok && len(f) > 1 {
			if n, err := strconv.Atoi(f[1]); err == nil {
				return n
			}
		}
	}
	return 0
}
