package env

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/internal/filelock"
)

// dirLocks manages the locks of directories. Lock files belong to one user's home directory; a
// directory can be locked by everybody who can list it, so its lock also holds back sessions of
// other users, and those in containers on the same kernel. All changes of one Local share a
// directory's lock, and lock files keep them apart.
type dirLocks struct {
	mu   sync.Mutex
	held map[dirID]*dirLock
}

// dirID identifies a directory on this machine.
type dirID struct{ device, inode uint64 }

// dirLock is a directory that is locked while it is open.
type dirLock struct {
	dir   *os.File
	users int
}

// openedDir is a directory to lock.
type openedDir struct {
	id  dirID
	dir *os.File
	at  place
}

// acquire locks the directories of files and holds them until release is called. Directories that
// do not exist or cannot be locked are left out.
func (k *dirLocks) acquire(ctx context.Context, files []place) (release func(), err error) {
	for {
		dirs := openDirs(files)
		release, err := k.lockAll(ctx, dirs)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(dirs, openedDir.replaced) {
			return release, nil
		}
		release() // somebody has put another directory in the place of one while that was waited for
	}
}

// openDirs opens the directories of files, in the order in which everybody locks them.
func openDirs(files []place) []openedDir {
	var dirs []openedDir
	for _, file := range files {
		above, _ := file.split()
		d := openedDir{at: place{file.root, above}}
		var err error
		if d.dir, err = d.at.root.dir.OpenFile(above+"/.", openFlags, 0); err != nil {
			continue
		}
		if info, err := d.dir.Stat(); err == nil {
			d.id = dirIDOf(info)
		}
		if d.id == (dirID{}) || slices.ContainsFunc(dirs, func(other openedDir) bool { return other.id == d.id }) {
			_ = d.dir.Close() // nothing was written
			continue
		}
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, func(a, b openedDir) int {
		return cmp.Or(cmp.Compare(a.id.device, b.id.device), cmp.Compare(a.id.inode, b.id.inode))
	})
	return dirs
}

func dirIDOf(info os.FileInfo) dirID {
	node := nodeOf("", info)
	return dirID{node.Device, node.Inode}
}

// replaced reports whether another directory is where this one was opened.
func (d openedDir) replaced() bool {
	info, err := d.at.root.dir.Stat(d.at.rel)
	return err != nil || dirIDOf(info) != d.id
}

// lockAll locks opened directories and closes those that need not stay open.
func (k *dirLocks) lockAll(ctx context.Context, dirs []openedDir) (release func(), err error) {
	var locked []dirID
	release = sync.OnceFunc(func() {
		for _, id := range locked {
			k.release(id)
		}
	})
	for i, d := range dirs {
		err = filelock.Wait(ctx, func() error {
			took, err := k.try(d)
			if took {
				locked = append(locked, d.id)
			}
			return err
		})
		if err != nil {
			for _, rest := range dirs[i:] {
				_ = rest.dir.Close() // nothing was written
			}
			release()
			return nil, d.explain(err)
		}
	}
	return release, nil
}

// try locks a directory or returns filelock.ErrLocked. It keeps or closes the opened directory
// unless it is locked by somebody else, and reports whether the directory is locked now: not every
// file system can do that.
func (k *dirLocks) try(d openedDir) (took bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if held := k.held[d.id]; held != nil {
		held.users++
		_ = d.dir.Close() // nothing was written
		return true, nil
	}
	switch err := filelock.TryLock(d.dir, filelock.Exclusive); {
	case errors.Is(err, filelock.ErrLocked):
		return false, err
	case err != nil:
		_ = d.dir.Close() // nothing was written
		return false, nil
	}
	if k.held == nil {
		k.held = map[dirID]*dirLock{}
	}
	k.held[d.id] = &dirLock{d.dir, 1}
	return true, nil
}

func (k *dirLocks) release(id dirID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lock := k.held[id]
	if lock.users--; lock.users == 0 {
		delete(k.held, id)
		_ = lock.dir.Close() // closing ends the lock even if it returns an error
	}
}

// explain adds to the error of a wait who has the lock, as far as the system tells.
func (d openedDir) explain(err error) error {
	if holder := lockHolder(d.id); holder != "" && errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w; the directory %s is locked by %s", err, d.at.abs(), holder)
	}
	return err
}
