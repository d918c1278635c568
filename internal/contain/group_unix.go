//go:build unix

package contain

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

// group is the process group of a command, its whole session when it has a terminal (a shell that controls jobs makes more
// groups in it), and what carries the mark.
type group struct {
	leader  int // its process id, which is the group's and the session's id too
	session bool
	reaped  <-chan struct{} // closed when the leader has been waited for and its number may be given away
	mark    string          // empty where processes cannot be found by their environment
	began   uint64          // when the leader started, in the kernel's ticks; zero where that is not known
}

// killRounds bounds the sweeps of one KILL, of which each finds what was forked during the one before. The caller calls again
// while there is time, so it is kept small.
const killRounds = 4

// signal sends to the group at once and then to the members that are not in it, for KILL until a sweep finds no new one.
func (t group) Signal(sig syscall.Signal) error {
	var errs []error
	if !t.reused() {
		errs = append(errs, t.send(sig))
	}
	if !t.session && t.mark == "" {
		return errors.Join(errs...)
	}
	sweep := sweep{sig: sig, seen: make(map[member]bool)}
	for range killRounds {
		before := len(sweep.seen)
		errs = append(errs, t.find(sweep.visit))
		if len(sweep.seen) == before || sig != syscall.SIGKILL {
			break
		}
	}
	return errors.Join(append(errs, sweep.err)...)
}

// sweep sends a signal to processes as they are found, each once, so that they have no time to start others.
type sweep struct {
	sig syscall.Signal

	mu   sync.Mutex
	seen map[member]bool
	err  error
}

func (s *sweep) visit(m member) bool {
	if m.grouped || !s.first(m) {
		return true
	}
	if err := m.signal(s.sig); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = errors.Join(s.err, err)
	}
	return true
}

func (s *sweep) first(m member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.seen[m]
	s.seen[m] = true
	return !was
}

func (t group) send(sig syscall.Signal) error {
	err := syscall.Kill(-t.leader, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.NewSyscallError("kill", err)
}

// reused reports whether the group's number belongs to somebody else by now. While a group has members, its number is given to
// no new process; so if there is a process with that number after ours has been waited for, our group has ended.
func (t group) reused() bool {
	select {
	case <-t.reaped:
		return !errors.Is(syscall.Kill(t.leader, 0), syscall.ESRCH)
	default:
		return false
	}
}

func (t group) Alive() bool {
	if !t.session && t.mark == "" && (t.reused() || errors.Is(syscall.Kill(-t.leader, 0), syscall.ESRCH)) {
		return false // without a look at all processes
	}
	var found atomic.Bool
	err := t.find(func(member) bool {
		found.Store(true)
		return false
	})
	return err != nil || found.Load()
}

func (t group) Left() []string {
	if !t.Alive() {
		return nil
	}
	members, err := t.members()
	return describeAll(members, err)
}

// close does nothing: the kernel keeps a group only as long as it has members.
func (t group) Close() error { return nil }

// describeAll returns a line for each member that still runs, or one that says why there are none.
func describeAll(members []member, err error) []string {
	if err != nil {
		return []string{"processes that cannot be listed: " + plain(err.Error())}
	}
	deadline := time.Now().Add(startTime)
	var lines []string
	for _, m := range members {
		if line, running := m.describe(deadline); running {
			lines = append(lines, line)
		}
	}
	return lines
}

// maxLine is how many characters of a command line are shown.
const maxLine = 200

// plain makes a process's command line, which is its own choice, one line of text.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > maxLine {
		return string(r[:maxLine]) + "..."
	}
	return s
}
