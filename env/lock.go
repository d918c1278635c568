package env

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockWait limits how long Lock and Replace wait for others. A change takes milliseconds, so a lock
// that is held for longer belongs to a process that is stopped or broken.
const lockWait = 10 * time.Second

// The kinds of locks. A change lock is held while a session reads, decides and writes; a swap lock
// only while a content is compared and replaced. A swap may happen within a change, and nothing is
// locked within a swap. So only changes of users with other homes that make directories can wait
// for each other, until one gives up after lockWait.
const (
	lockChange = "change"
	lockSwap   = "swap"
)

// locks manages the lock files shared by all sessions of one user on this machine, and the locks of
// directories. Locks are advisory and end with the process.
type locks struct {
	dirs        []string // candidates; the first writable one is used
	wait        time.Duration
	directories dirLocks

	mu  sync.Mutex
	dir string // the candidate in use, once known
}

// newLocks returns the locks kept in a directory. The default is the user's state directory, which
// also holds sessions, or, if that is not writable, the temporary directory.
func newLocks(given string) *locks {
	k := &locks{wait: lockWait}
	if given != "" {
		k.dirs = []string{given}
		return k
	}
	state := os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); !filepath.IsAbs(state) && err == nil && filepath.IsAbs(home) {
		state = filepath.Join(home, ".local", "state")
	}
	if filepath.IsAbs(state) {
		k.dirs = append(k.dirs, filepath.Join(state, "attractor", "locks"))
	}
	k.dirs = append(k.dirs, filepath.Join(os.TempDir(), fmt.Sprintf("attractor-locks-%d", os.Getuid())))
	return k
}

// acquire takes the locks of files and of their directories, and holds them until release is
// called. The directories come first, so that who waits for one keeps nobody from a file.
func (k *locks) acquire(ctx context.Context, kind string, files ...place) (release func(), err error) {
	var offsets []int64
	for _, file := range files {
		offsets = append(offsets, lockOffset(file.abs()))
	}
	slices.Sort(offsets) // the same order for all, to avoid deadlocks
	offsets = slices.Compact(offsets)
	ctx, cancel := context.WithTimeoutCause(ctx, k.wait, ErrLocked)
	defer cancel()
	unlockDirs, err := k.directories.acquire(ctx, files)
	if err != nil {
		return nil, err
	}
	held := map[string]*os.File{} // by name, because a second opening of a file could not lock it
	release = sync.OnceFunc(func() {
		for _, f := range held {
			_ = f.Close() // closing ends the lock even if it returns an error
		}
		unlockDirs()
	})
	for _, at := range offsets {
		name := lockName(kind, at)
		f := held[name]
		if f == nil {
			if f, err = k.open(name); err == nil {
				held[name] = f
			}
		}
		if err == nil {
			err = filelock.Wait(ctx, func() error { return tryLock(f, at) })
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// lockOffset returns the number below lockRange that stands for a path. It ignores case, because
// some file systems do.
func lockOffset(abs string) int64 {
	sum := sha256.Sum256([]byte(strings.ToLower(abs)))
	return int64(binary.BigEndian.Uint64(sum[:8]) % lockRange)
}

// open opens a lock file in the first directory where that works.
func (k *locks) open(name string) (*os.File, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	dirs := k.dirs
	if k.dir != "" {
		dirs = []string{k.dir}
	}
	var errs []error
	for _, dir := range dirs {
		f, err := openLock(dir, name)
		if err == nil {
			k.dir = dir
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("cannot lock the file, so nothing was changed; set XDG_STATE_HOME or LocalOptions.Locks "+
		"to a writable directory: %w", errors.Join(errs...))
}

// openLock opens a lock file in a directory, which must belong to the user and is made if missing.
func openLock(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || !ownedByUser(info) {
		return nil, &fs.PathError{Op: "lock", Path: dir,
			Err: fmt.Errorf("not a directory that belongs to this user and that only this user can write to: %w",
				fs.ErrPermission)}
	}
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|noFollow, 0o600)
}

// Lock implements Locker. All sessions of this user on this machine share the locks, also those in
// other processes; the lock files are in LocalOptions.Locks. Sessions of other users, and in
// containers on the same kernel, share the locks of directories.
func (l *Local) Lock(ctx context.Context, names ...string) (unlock func(), err error) {
	var files []place
	for _, name := range names {
		if p, err := l.resolve(ctx, name, true); err == nil && !l.innermost(p).root.readOnly {
			files = append(files, p)
		}
	}
	if err := context.Cause(ctx); err != nil { // which may have left out files
		return nil, err
	}
	if len(files) == 0 {
		return func() {}, nil
	}
	if unlock, err = l.locks.acquire(ctx, lockChange, files...); err != nil {
		return nil, l.fileError("lock", strings.Join(names, ", "), err)
	}
	return unlock, nil
}
