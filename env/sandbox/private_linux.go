package sandbox

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/filelock"
)

// private is the directory with what only this sandbox's commands see. It is locked as long as the
// sandbox is open, so that the next one can remove the directories of sandboxes whose host was
// killed.
type private struct {
	dir  string
	lock *os.File
}

const privatePrefix = "attractor-sandbox-"

// newPrivate makes a private directory with the given directories in it.
func newPrivate(names ...string) (_ *private, err error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	removeAbandoned(temp)
	p, err := lockedTemp(temp)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	for _, name := range names {
		if err := os.Mkdir(p.path(name), 0o700); err != nil {
			return p, err
		}
	}
	return p, nil
}

// lockTries limits the attempts of lockedTemp. A sandbox that opens at the same time may take a
// directory that is not locked yet for an abandoned one.
const lockTries = 20

// lockedTemp makes and locks a directory.
func lockedTemp(temp string) (*private, error) {
	var err error
	for range lockTries {
		p := &private{}
		if p.dir, err = os.MkdirTemp(temp, privatePrefix); err != nil {
			return nil, err
		}
		if p.lock, err = os.OpenFile(p.dir, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
			if err = filelock.TryLock(p.lock, filelock.Exclusive); err == nil {
				if _, err = os.Lstat(p.dir); err == nil {
					return p, nil
				}
			}
			err = errors.Join(err, p.lock.Close())
			p.lock = nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, filelock.ErrLocked) {
			return nil, errors.Join(err, p.close())
		}
	}
	return nil, fmt.Errorf("no private directory in %s lasts: %w", temp, err)
}

// path returns the path of something in the directory.
func (p *private) path(name string) string { return filepath.Join(p.dir, name) }

// write writes a file in the directory.
func (p *private) write(name, text string) (string, error) {
	return p.path(name), os.WriteFile(p.path(name), []byte(text), 0o444)
}

// cache returns the directory that commands use for caches. It exists.
func (p *private) cache(o *Options) (string, error) {
	dir := cmp.Or(o.Cache, p.path("cache"))
	return dir, os.MkdirAll(dir, 0o700)
}

func (p *private) close() error {
	if p.lock == nil {
		return removeTree(p.dir)
	}
	return errors.Join(removeTree(p.dir), p.lock.Close())
}

// removeAbandoned removes the private directories of this user's sandboxes whose host has ended.
// What fails is left to the next one.
func removeAbandoned(temp string) {
	list, err := filepath.Glob(filepath.Join(temp, privatePrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range list {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && int(stat.Uid) == os.Getuid() &&
			unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = removeTree(dir)
		}
		_ = unix.Close(fd) // nothing was written through it
	}
}

// removeTree removes a directory with everything in it, also in directories that are not writable,
// such as those of Go's module cache. It does not follow links out of it. A directory in it is
// first moved to the top, so that one that a command has made very deep takes no longer than a flat
// one.
func removeTree(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	moved := &movedDirs{root: root, name: ".remove-" + rand.Text() + "-"}
	errs := []error{moved.empty(root, "")}
	for len(moved.todo) > 0 {
		next := moved.todo[len(moved.todo)-1]
		moved.todo = moved.todo[:len(moved.todo)-1]
		errs = append(errs, moved.remove(next))
	}
	errs = append(errs, root.Close())
	return errors.Join(append(errs, os.Remove(dir))...)
}

// movedDirs holds the directories at the top of a tree that is removed.
type movedDirs struct {
	root *os.Root
	name string // begins the new names
	made int    // new names
	todo []string
}

// remove removes a directory at the top.
func (m *movedDirs) remove(name string) error {
	dir, err := m.root.OpenRoot(name)
	if err != nil {
		return err
	}
	err = m.empty(dir, name)
	return errors.Join(err, dir.Close(), m.root.Remove(name))
}

// empty removes what a directory holds, given its name at the top, and moves the directories in it
// there.
func (m *movedDirs) empty(dir *os.Root, name string) error {
	entries, err := fs.ReadDir(dir.FS(), ".")
	errs := []error{err}
	for _, e := range entries {
		if !e.IsDir() {
			errs = append(errs, dir.Remove(e.Name()))
			continue
		}
		// A directory whose owner may not write it cannot be moved either.
		errs = append(errs, dir.Chmod(e.Name(), 0o700))
		m.made++
		top := m.name + strconv.Itoa(m.made)
		if err := m.root.Rename(filepath.Join(name, e.Name()), top); err != nil {
			errs = append(errs, err)
			continue
		}
		m.todo = append(m.todo, top)
	}
	return errors.Join(errs...)
}

// below reports whether a clean path is a directory or in it.
func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
