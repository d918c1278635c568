//go:build unix

package env

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"unicode"
)

// tree is the process group of a command, and its whole session when it has a terminal: a shell that controls jobs makes more
// groups in it.
type tree struct {
	leader  int // its process id, which is the group's and the session's id too
	session bool
	reaped  <-chan struct{} // closed when the leader has been waited for and its number may be given away
}

// signal sends a signal to all of the tree. That nothing is there is no error.
func (t tree) signal(sig syscall.Signal) error {
	if t.reused() {
		return nil
	}
	errs := []error{t.send(-t.leader, sig)}
	if t.session {
		members, err := t.members()
		errs = append(errs, err)
		for _, m := range members {
			errs = append(errs, t.send(m.pid, sig))
		}
	}
	return errors.Join(errs...)
}

func (t tree) send(pid int, sig syscall.Signal) error {
	err := syscall.Kill(pid, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.NewSyscallError("kill", err)
}

// reused reports whether the group's number belongs to somebody else by now. While a group has members, its number is given to
// no new process; so if there is a process with that number after ours has been waited for, our group has ended.
func (t tree) reused() bool {
	select {
	case <-t.reaped:
		return !errors.Is(syscall.Kill(t.leader, 0), syscall.ESRCH)
	default:
		return false
	}
}

// alive reports whether a process of the tree is left after the leader has been waited for. Zombies do not count: where
// process 1 does not wait for orphans, they stay for ever.
func (t tree) alive() bool {
	if t.reused() {
		return false
	}
	if !t.session && errors.Is(syscall.Kill(-t.leader, 0), syscall.ESRCH) {
		return false
	}
	members, err := t.members()
	return err != nil || len(members) > 0
}

// left describes the tree's processes, one line each: the process id and the command line. When they cannot be listed, a line
// says so.
func (t tree) left() []string {
	if !t.alive() {
		return nil
	}
	members, err := t.members()
	if err != nil {
		return []string{"process group " + strings.TrimSpace(err.Error())}
	}
	lines := make([]string, len(members))
	for i, m := range members {
		lines[i] = m.describe()
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
