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
)

const (
	// lockWait is how long Lock and Replace wait for others: a change takes milliseconds, so who holds a lock for longer is stopped
	// or broken.
	lockWait = 10 * time.Second
	// lockPause and maxLockPause are the first and the longest pause between two tries to get a lock.
	lockPause, maxLockPause = 100 * time.Microsecond, 5 * time.Millisecond
)

// The kinds of locks. A change is locked by who reads, decides and writes; a swap only while a content is compared and replaced. A swap
// happens inside of a change and nothing is locked inside of a swap, so that nobody waits in a circle.
const (
	lockChange = "change"
	lockSwap   = "swap"
)

// errBusy says that somebody else has a lock.
var errBusy = errors.New("locked")

// locks are the lock files by which all sessions of one user on this machine agree. The locks are advisory and end with the process.
type locks struct {
	dirs []string // where to keep them: the first that can be written
	wait time.Duration

	mu  sync.Mutex
	dir string // the one of dirs that is used, once it is known
}

// newLocks returns the locks of a directory, or of the user's own if none is given: below the directory for state, where sessions are
// kept too, or, if that cannot be written, the one for temporary files.
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

// acquire holds the locks of paths, which are without symbolic links, until release is called.
func (k *locks) acquire(ctx context.Context, kind string, paths ...string) (release func(), err error) {
	var places []int64
	for _, p := range paths {
		places = append(places, lockPlace(p))
	}
	slices.Sort(places) // everybody in the same order, so that nobody waits in a circle
	places = slices.Compact(places)
	ctx, cancel := context.WithTimeoutCause(ctx, k.wait, ErrLocked)
	defer cancel()
	var held []*os.File
	release = sync.OnceFunc(func() {
		for _, f := range held {
			_ = f.Close() // which ends its lock whatever it says
		}
	})
	for _, at := range places {
		f, err := k.open(lockName(kind, at))
		if err == nil {
			held = append(held, f)
			err = hold(ctx, f, at)
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// lockPlace returns the byte of a lock file that stands for a path, which is not kept. It is found without case, since there are file
// systems that do not have it, and leaves room for what systems do with numbers at the end of their range.
func lockPlace(abs string) int64 {
	sum := sha256.Sum256([]byte(strings.ToLower(abs)))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 2)
}

// hold waits for the lock of a byte of an open file, until the context ends.
func hold(ctx context.Context, f *os.File, at int64) error {
	for pause := lockPause; ; pause = min(2*pause, maxLockPause) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := tryLock(f, at); !errors.Is(err, errBusy) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// open opens a lock file, in the first directory where that works.
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
	return nil, fmt.Errorf("no lock can be had, so nothing is changed; set XDG_STATE_HOME, or LocalOptions.Locks, to a directory that can be written: %w",
		errors.Join(errs...))
}

// openLock opens a lock file of a directory, which is made if it is not there, and must be the user's own.
func openLock(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || !ours(info) {
		return nil, &fs.PathError{Op: "lock", Path: dir, Err: fmt.Errorf("it is no directory of this user's: %w", fs.ErrPermission)}
	}
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|noFollow, 0o600)
}

// Lock implements Locker. The lock is shared by all sessions of this user on this machine, also those in other processes; it is kept in
// LocalOptions.Locks.
func (l *Local) Lock(ctx context.Context, names ...string) (unlock func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range names {
		if p, err := l.resolve(name, true); err == nil && !l.innermost(p).root.readOnly {
			paths = append(paths, p.abs())
		}
	}
	if len(paths) == 0 {
		return func() {}, nil
	}
	if unlock, err = l.locks.acquire(ctx, lockChange, paths...); err != nil {
		return nil, l.fileError("lock", strings.Join(names, ", "), err)
	}
	return unlock, nil
}
