//go:build unix

package contain

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// group is the tree of a command in a process group: its group, its whole session if it has a
// terminal (a shell with job control makes more groups in it), and the processes that carry its
// mark.
type group struct {
	// its process id, which is also the id of the group and of the session; 0 if only the mark
	// counts
	leader  int
	session bool
	reaped  <-chan struct{} // closed when the leader has been waited for, so that its number may be reused
	mark    string          // empty where processes cannot be found by their environment
	began   uint64          // when the leader started, in the kernel's ticks; zero if unknown
}

// killRounds limits the sweeps of one KILL. Each finds the processes that were forked during the
// one before. The limit is small because the caller tries again while there is time.
const killRounds = 4

// Signal signals the group at once and then the members outside it. For KILL it sweeps until it
// finds no new member.
func (t group) Signal(sig syscall.Signal) error {
	var errs []error
	if !t.reused() {
		errs = append(errs, t.send(sig))
	}
	if !t.session && t.mark == "" {
		return errors.Join(errs...)
	}
	seen := map[member]bool{}
	for range killRounds {
		before := len(seen)
		// signaled as they are found, so that they have no time to fork
		errs = append(errs, t.find(func(m member) bool {
			if !m.grouped && !seen[m] {
				seen[m] = true
				errs = append(errs, m.signal(sig))
			}
			return true
		}))
		if len(seen) == before || sig != syscall.SIGKILL {
			break
		}
	}
	return errors.Join(errs...)
}

// send signals the group.
func (t group) send(sig syscall.Signal) error {
	err := syscall.Kill(-t.leader, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.NewSyscallError("kill", err)
}

// reused reports whether the group's number belongs to another process by now. The kernel gives the
// number to no new process while the group has members. So if a process has it after we have waited
// for our own, our group has ended.
func (t group) reused() bool {
	if t.leader == 0 {
		return true
	}
	select {
	case <-t.reaped:
		return !errors.Is(syscall.Kill(t.leader, 0), syscall.ESRCH)
	default:
		return false
	}
}

// Alive reports whether a member runs.
func (t group) Alive() bool {
	if !t.session && t.mark == "" && (t.reused() || errors.Is(syscall.Kill(-t.leader, 0), syscall.ESRCH)) {
		return false // without looking at all processes
	}
	found := false
	err := t.find(func(member) bool {
		found = true
		return false
	})
	return err != nil || found
}

// Left describes the members.
func (t group) Left() []string {
	return leftOf(t)
}

// Reached returns nothing: a group has no limits.
func (t group) Reached() Reached { return Reached{} }

// Close does nothing: the kernel keeps a group only as long as it has members.
func (t group) Close() error { return nil }

// leftOf returns a line for each member of a tree that still runs, or one line that says why they
// cannot be listed.
func leftOf(tree interface {
	Alive() bool
	members() ([]member, error)
}) []string {
	if !tree.Alive() {
		return nil
	}
	members, err := tree.members()
	if err != nil {
		return []string{"processes that cannot be listed: " + oneLine(err.Error())}
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

// maxLine limits the characters of a command line that are shown.
const maxLine = 200

// Line returns the command line of a program as a Tree shows it.
func Line(args []string) string { return oneLine(strings.Join(args, " ")) }

// oneLine returns a process's command line, which the process chooses itself, as one line of text.
func oneLine(s string) string {
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
