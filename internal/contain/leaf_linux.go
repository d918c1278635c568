package contain

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// leaf is the cgroup of one command. A process in it may make further cgroups below it, as one does
// that uses this package.
type leaf struct {
	dir  string
	held *os.File // the directory, locked as long as the host lives
}

// Signal signals all members once. KILL also reaches processes that are forked meanwhile.
func (l *leaf) Signal(sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return l.each(sig)
	}
	err := l.write("cgroup.kill", "1") // Linux 5.14
	if !l.exists() {
		return nil
	}
	return err
}

// each signals the members one by one.
func (l *leaf) each(sig syscall.Signal) error {
	members, err := l.members()
	errs := []error{err}
	for _, m := range members {
		errs = append(errs, m.signal(sig))
	}
	return errors.Join(errs...)
}

// write writes to one of the cgroup's files, which must exist.
func (l *leaf) write(name, value string) error {
	name = path.Join(l.dir, name)
	// an os.File would wake the poller, which takes the file for a pipe
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err == nil {
		_, err = syscall.Write(fd, []byte(value))
		err = errors.Join(err, syscall.Close(fd))
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

func (l *leaf) exists() bool {
	_, err := os.Stat(l.dir)
	return !gone(err)
}

// Alive reports whether a process runs in the cgroup or below it. The kernel does not count
// zombies.
func (l *leaf) Alive() bool {
	events, err := readProc(path.Join(l.dir, "cgroup.events"))
	if err != nil {
		return !gone(err)
	}
	return !strings.Contains(string(events), "populated 0")
}

// members returns the processes of the cgroup and of those below it.
func (l *leaf) members() ([]member, error) { return cgroupMembers(l.dir) }

func cgroupMembers(dir string) ([]member, error) {
	var list []member
	procs, err := readProc(path.Join(dir, "cgroup.procs"))
	if err != nil && !gone(err) && !errors.Is(err, syscall.EOPNOTSUPP) { // EOPNOTSUPP if threads are members
		return nil, err
	}
	for line := range strings.Lines(string(procs)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		if pid == 0 {
			continue // in a PID namespace that we cannot see
		}
		stat, err := readStat(pid)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !stat.dead {
			list = append(list, stat.member)
		}
	}
	below, err := cgroupsBelow(dir)
	errs := []error{err}
	for _, name := range below {
		more, err := cgroupMembers(name)
		list, errs = append(list, more...), append(errs, err)
	}
	return list, errors.Join(errs...)
}

func cgroupsBelow(dir string) (dirs []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if gone(err) {
			return nil, nil
		}
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, path.Join(dir, e.Name()))
		}
	}
	return dirs, nil
}

// Left describes the members.
func (l *leaf) Left() []string {
	return leftOf(l)
}

// Close removes the cgroup and those that commands made below it. All must be empty.
func (l *leaf) Close() error {
	if err := removeCgroup(l.dir); err != nil {
		return err
	}
	if err := l.held.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil // this is a second call
}

func removeCgroup(dir string) error {
	err := syscall.Rmdir(dir)
	if err == nil || gone(err) {
		return nil
	}
	below, listErr := cgroupsBelow(dir)
	errs := []error{listErr}
	for _, name := range below {
		errs = append(errs, removeCgroup(name))
	}
	if len(below) > 0 {
		err = syscall.Rmdir(dir)
	}
	if err != nil && !gone(err) {
		errs = append(errs, &os.PathError{Op: "rmdir", Path: dir, Err: err})
	}
	return errors.Join(errs...)
}
