package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockedDir is a directory of a task on this machine, which one process has at a time. If a process
// dies, the next one that uses the path removes its files.
type lockedDir struct {
	path string
	lock *os.File
}

// lockExt ends the names of lock files. No id of a task has a ~, so no task can have the lock file
// of another as its directory.
const lockExt = "~lock"

// maxSame is how many processes of a machine may have a directory for one task at a time: its
// owner, and those that do not know yet that they are not.
const maxSame = 100

// openDir makes an empty directory with a name below parent. If the path is not in use, it is the
// same on every machine, so that paths in a session stay true on the next one.
func openDir(parent, name string) (*lockedDir, error) {
	if runtime.GOOS == "windows" { // it keeps the names of files that are open
		return nil, fmt.Errorf("workspace: there are no workspaces on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	for i := range maxSame {
		path := filepath.Join(parent, name)
		if i > 0 {
			path = fmt.Sprintf("%s~%d", path, i+1)
		}
		d, err := takeDir(path)
		if errors.Is(err, filelock.ErrLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := errors.Join(removeAll(path), os.Mkdir(path, 0o700)); err != nil {
			return nil, errors.Join(err, d.lock.Close())
		}
		return d, nil
	}
	return nil, fmt.Errorf("workspace: %s and %d others beside it are in use", filepath.Join(parent, name), maxSame-1)
}

// takeDir takes the lock of a directory.
func takeDir(path string) (*lockedDir, error) {
	for {
		f, err := os.OpenFile(path+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := filelock.TryLock(f, filelock.Exclusive); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		// The lock file may have been removed between opening and locking it.
		now, err := os.Stat(path + lockExt)
		held, errHeld := f.Stat()
		if err == nil && errHeld == nil && os.SameFile(now, held) {
			return &lockedDir{path: path, lock: f}, nil
		}
		if err := errors.Join(errHeld, f.Close()); err != nil {
			return nil, err
		}
	}
}

// remove removes the directory and gives the lock back.
func (d *lockedDir) remove() error {
	err := removeAll(d.path)
	if err == nil {
		err = os.Remove(d.path + lockExt)
	}
	return errors.Join(err, d.lock.Close())
}

// removeAll removes a directory, also if the task has changed permissions in it.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // RemoveAll returns the error
		}
		return nil
	}) // the function returns no error
	return os.RemoveAll(dir)
}

// sweep removes the directories of processes that have died.
func sweep(parent string) error {
	locks, err := fs.Glob(os.DirFS(parent), "*/*"+lockExt) // DirFS, because parent may have * in its name
	if err != nil {
		return err
	}
	for _, name := range locks {
		d, err := takeDir(filepath.Join(parent, strings.TrimSuffix(name, lockExt)))
		if errors.Is(err, filelock.ErrLocked) {
			continue
		}
		if err == nil {
			err = d.remove()
		}
		if err != nil {
			return fmt.Errorf("workspace: removing what an earlier worker left: %w", err)
		}
	}
	return nil
}
