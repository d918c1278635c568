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

// spaces starts each command in a cgroup of its own, and all of them in one PID namespace, which hides the host and ends with it.
type spaces struct {
	cgroups *cgroups
	pidns   *pidns

	mu     sync.Mutex
	now    *space // nil when there has to be a new one
	closed bool
}

// findSpaces tries both, and together, and returns why that does not work.
func findSpaces(shell, outer string) (*spaces, error) {
	c, err := findCgroups(shell)
	if err != nil {
		return nil, err
	}
	n, err := preparePIDNS(shell, outer)
	if err != nil {
		return nil, err
	}
	r := &spaces{cgroups: c, pidns: n}
	if err := r.probe(shell); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *spaces) name() string { return CgroupPIDNS }

func (r *spaces) hides() bool { return true }

// probe starts a command as any other, which says whether its /proc is its own. The namespace stays for the commands to come.
func (r *spaces) probe(shell string) error {
	leaf, err := r.cgroups.make(rand.Text())
	if err != nil {
		return err
	}
	cmd := exec.Command(shell, "-c", probeScript)
	err = probe(cmd, func() (Tree, error) { return r.enter(cmd, leaf) })
	return errors.Join(err, leaf.Close())
}

// start starts a command in a cgroup of its own and in the namespace.
func (r *spaces) start(cmd *exec.Cmd, id string) (Tree, error) {
	leaf, err := r.cgroups.make(id)
	if err != nil {
		return nil, err
	}
	return r.enter(cmd, leaf)
}

// enter starts a command in a cgroup and in the namespace.
func (r *spaces) enter(cmd *exec.Cmd, leaf *leaf) (Tree, error) {
	s, err := r.current()
	if err != nil {
		return leaf, err
	}
	return inSpace{leaf}, s.do(func() error { return leaf.start(cmd) })
}

// current returns the namespace, a new one when that of before has ended, as it does when the kernel runs out of memory.
func (r *spaces) current() (*space, error) {
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

// close ends the namespace with all that is left in it.
func (r *spaces) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.now == nil {
		return nil
	}
	s := r.now
	r.now = nil
	return s.close()
}

// errClosed says that the namespace of an environment has been closed.
var errClosed = fmt.Errorf("the environment is closed: %w", fs.ErrClosed)

// space is a PID namespace with a keeper, and a thread of ours that starts commands in there. The keeper ends with the thread.
type space struct {
	keeper *keeper
	limit  time.Duration // of a start
	work   chan func()
	quit   chan struct{} // closed to end the thread
	gone   chan struct{} // closed when it has ended
}

// open makes a namespace.
func (n *pidns) open() (*space, error) {
	s := &space{limit: keeperTime, work: make(chan func()), quit: make(chan struct{}), gone: make(chan struct{})}
	entered := make(chan error)
	ownThread(func() {
		defer close(s.gone)
		var err error
		if s.keeper, err = n.enter(); err == nil {
			err = withoutTracing() // the keeper has it
		}
		entered <- err
		for {
			select {
			case f := <-s.work:
				f()
			case <-s.quit:
				return
			}
		}
	})
	if err := <-entered; err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// do calls f on the thread. A command that is being started can be stopped by another one, and this process waits for it in the kernel; after
// some time the namespace ends, and with it all of its commands.
func (s *space) do(f func() error) error {
	result := make(chan error, 1)
	select {
	case s.work <- func() { result <- f() }:
	case <-s.quit:
		return errClosed
	}
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

// ended reports whether the keeper has, and nothing can be started any more. No goroutine waits for that: a host at rest has none that is
// in a system call, which testing/synctest would take for work.
func (s *space) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.keeper.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// close ends the keeper, and with it what may be in the namespace, and the thread. It is called once.
func (s *space) close() error {
	close(s.quit)
	var err error
	if s.keeper != nil {
		go s.keeper.wait()
		err = s.keeper.end(keeperTime)
	}
	<-s.gone
	return err
}

// inSpace is the cgroup of a command in a PID namespace.
type inSpace struct{ *leaf }

// left describes the members by the numbers that they have in the namespace.
func (t inSpace) Left() []string {
	if !t.Alive() {
		return nil
	}
	members, err := t.members()
	var inside []member
	for _, m := range members {
		if m.inside = numberInside(m.pid); m.inside != 0 {
			inside = append(inside, m)
		}
	}
	return describeAll(inside, err)
}

// numberInside returns the number of a process in the PID namespace below this process's own; 0 when it has ended or is in none.
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
