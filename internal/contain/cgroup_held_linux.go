package contain

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/internal/filelock"
)

// A host holds a lock on the directory of each of its cgroups. The kernel releases it when the host
// ends, in whatever way. Unlike a process id, a lock means the same in every PID namespace that
// shares the hierarchy.

// makeTries limits the attempts of make. Another host that removes empty cgroups may remove a new
// cgroup before it is locked.
const makeTries = 5

// make creates an empty cgroup, named after the id, and locks it.
func (c *cgroups) make(id string) (*leaf, error) {
	for range makeTries {
		l := &leaf{dir: path.Join(c.dir, leafPrefix+id)}
		if err := os.Mkdir(l.dir, 0o755); err != nil {
			return nil, err
		}
		held, err := l.hold()
		if err != nil {
			return nil, errors.Join(err, removeCgroup(l.dir))
		}
		if held {
			return l, nil
		}
		id = rand.Text()
	}
	return nil, &fs.PathError{Op: "lock", Path: c.dir, Err: syscall.EBUSY}
}

// hold locks the cgroup's directory until it is closed or this process ends. It reports false if
// another process was faster.
func (l *leaf) hold() (held bool, err error) {
	dir, locked, err := lockDir(l.dir, filelock.Shared)
	if !locked || err != nil {
		return false, err
	}
	if !l.exists() { // it was removed before we locked it
		return false, dir.Close()
	}
	l.held = dir
	return true, nil
}

// lockDir opens and locks a directory. It reports false, with nothing open, if another process
// holds a lock or the directory no longer exists.
func lockDir(name string, shared bool) (dir *os.File, locked bool, err error) {
	if dir, err = os.Open(name); err != nil {
		if gone(err) {
			err = nil
		}
		return nil, false, err
	}
	err = filelock.TryLock(dir, shared)
	if err == nil {
		return dir, true, nil
	}
	if errors.Is(err, filelock.ErrLocked) {
		return nil, false, dir.Close()
	}
	return nil, false, errors.Join(err, dir.Close())
}

// abandoned calls do with each cgroup that no host holds, and holds it meanwhile.
func (c *cgroups) abandoned(do func(l *leaf) error) error {
	dirs, err := cgroupsBelow(c.dir)
	errs := []error{err}
	for _, name := range dirs {
		if !strings.HasPrefix(path.Base(name), leafPrefix) {
			continue
		}
		dir, locked, err := lockDir(name, filelock.Exclusive)
		if errs = append(errs, err); locked {
			errs = append(errs, do(&leaf{dir: name, held: dir}), dir.Close())
		}
	}
	return errors.Join(errs...)
}

// removeEmpty removes the empty cgroups that hosts left behind, and returns how many. A cgroup that
// cannot be removed, such as another user's, is left for the next host.
func (c *cgroups) removeEmpty() (removed int) {
	_ = c.abandoned(func(l *leaf) error {
		if !l.Alive() && removeCgroup(l.dir) == nil {
			removed++
		}
		return nil
	})
	return removed
}

// endAbandoned kills the processes in cgroups that no host holds, removes the cgroups, and returns
// a line for each process.
func (c *cgroups) endAbandoned() (lines []string, err error) {
	err = c.abandoned(func(l *leaf) error {
		lines = append(lines, l.Left()...)
		err := End(l, ended(), 0, SettleTime)
		return errors.Join(err, removeCgroup(l.dir))
	})
	return lines, err
}
