package sandbox

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
)

// A protected file that does not exist needs something at its place that a read-only mount can
// cover: a placeholder. It is an empty directory, which git does not show and does not add, or in
// .git, where an empty directory would disturb git, a small file. It is there while a command runs.
// Removing it from outside would also remove the mounts on it in every sandbox, so commands hold a
// lock on the root until they have ended, even if the host was killed, and placeholders are removed
// under a lock that excludes them.
//
// A placeholder is recognized by its mode and by having no content of anybody's, so what a killed
// host has left is removed by the next one.
//
// Making and removing directories is much more work for a file system than moving them. So between
// two commands placeholders are parked in the state directory, if it is on the same file system.
// What a killed host leaves there, the next session in the same roots uses, or a session on another
// day removes.

// movable is the permission that an ordinary user needs to move a directory into another one. A
// parked placeholder has it.
const movable = 0o200

// placeholder is a protected file that may be missing.
type placeholder struct {
	path    string
	file    bool   // it is a file with this content, not an empty directory
	content string // harmless to git, and of at most env.PlaceholderSize bytes
}

// present reports whether something other than a placeholder is at the place. A symbolic link is an
// error: it could be replaced, because a link cannot be covered by a mount.
func (p placeholder) present() (bool, error) {
	info, err := os.Lstat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink != 0:
		return true, fmt.Errorf(
			"%s is a symbolic link, which commands could replace by a file: replace it by what it leads to", p.path)
	case p.file:
		return info.Mode() != env.PlaceholderFile || info.Size() != int64(len(p.content)), nil
	case info.Mode()&^movable != env.PlaceholderDir|fs.ModeDir:
		return true, nil
	}
	list, err := os.ReadDir(p.path)
	return len(list) > 0, err
}

// make makes the placeholder. Where this user may not make it, commands cannot make the file
// either.
func (p placeholder) make(park string) (replacement, error) {
	err := p.place(park)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return made, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, syscall.ENOTDIR):
		return void, nil
	}
	return none, err
}

// place moves the parked placeholder to its place, or makes a new one.
func (p placeholder) place(park string) error {
	parked := park != "" && move(p.parked(park), p.path) == nil
	switch {
	case p.file && parked:
		return nil
	case p.file:
		return p.makeFile()
	case !parked:
		if err := os.Mkdir(p.path, 0o700); err != nil {
			return err
		}
	}
	return os.Chmod(p.path, env.PlaceholderDir)
}

// parked returns where the placeholder is between two commands. No other placeholder has this name.
func (p placeholder) parked(park string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%t\x00%s", p.path, p.file, p.content) // an older version may have parked others
	return filepath.Join(park, strconv.FormatUint(h.Sum64(), 16))
}

// move renames a file, unless something has the new name.
func move(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// makeFile makes a file under another name first, so that nobody finds it half made.
func (p placeholder) makeFile() (err error) {
	f, err := os.CreateTemp(filepath.Dir(p.path), ".attractor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(p.content)
	if err = errors.Join(err, f.Chmod(env.PlaceholderFile), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), p.path)
}

// remove parks or removes the placeholder if it is still one.
func (p placeholder) remove(park string) error {
	if there, err := p.present(); there || err != nil {
		return nil // it is somebody's file by now
	}
	if park != "" {
		if done, err := p.putAway(p.parked(park)); done || err != nil {
			return err
		}
	}
	err := os.Remove(p.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

// putAway parks the placeholder. It reports false if the placeholder cannot be moved and is still
// at its place.
func (p placeholder) putAway(to string) (done bool, err error) {
	if !p.file && os.Chmod(p.path, env.PlaceholderDir|movable) != nil || move(p.path, to) != nil {
		return false, nil
	}
	moved := placeholder{to, p.file, p.content}
	if there, err := moved.present(); err == nil && !there { // also if another session has removed it already
		return true, nil
	}
	if err := move(to, p.path); err != nil { // somebody has put something in its place, or in it, meanwhile
		return false, fmt.Errorf("%s belongs at %s: %w", to, p.path, err)
	}
	return true, nil
}

// keeper makes placeholders for commands and removes them when no command of any session needs
// them. It also removes the links that commands leave in repositories.
type keeper struct {
	file    string  // with the locks
	offsets []int64 // one byte of it for each root
	all     []placeholder
	links   *links
	park    string // the directory for placeholders between two commands, or ""

	mu       sync.Mutex
	running  int
	used     bool // a command has begun since everything was removed
	retrying bool
	retries  sync.WaitGroup
	closed   chan struct{}
}

// newKeeper returns a keeper for the placeholders in some roots.
func newKeeper(state string, roots []string, all []placeholder, links *links) (*keeper, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	state, err := filepath.EvalSymlinks(state)
	if err != nil {
		return nil, err
	}
	k := &keeper{file: filepath.Join(state, "lock"), all: all, links: links, closed: make(chan struct{})}
	safe := true
	for _, root := range roots {
		safe = safe && !below(state, root) // where commands could put something in a parked one
		h := fnv.New64a()
		h.Write([]byte(root))
		k.offsets = append(k.offsets, int64(h.Sum64()>>2))
	}
	if safe {
		k.park = filepath.Join(state, "parked")
		if err := os.Mkdir(k.park, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		k.removeForgotten()
	}
	f, err := k.lock(context.Background(), unix.F_WRLCK)
	if err != nil {
		if errors.Is(err, errBusy) {
			return k, nil
		}
		return nil, err
	}
	return k, errors.Join(k.removeAll(), f.Close()) // what a killed host has left
}

// forgotten limits the time that a placeholder waits if its session does not come back, perhaps
// because its root is gone.
const forgotten = 24 * time.Hour

// removeForgotten removes what killed hosts have parked. A session that still needs one of them
// makes a new one.
func (k *keeper) removeForgotten() {
	list, _ := os.ReadDir(k.park)
	for _, e := range list {
		info, err := e.Info()
		if err == nil &&
			(info.Mode() == env.PlaceholderFile || info.Mode()&^movable == env.PlaceholderDir|fs.ModeDir) &&
			time.Since(info.ModTime()) > forgotten {
			_ = os.Remove(filepath.Join(k.park, e.Name())) // the next session tries again
		}
	}
}

var errBusy = errors.New("commands of another session run in the same directory")

// lock opens the file with a lock on the roots' bytes. For a command it waits, since others only
// remove placeholders meanwhile; to remove them it returns errBusy if a command runs. The lock
// belongs to the open file, which a command in the sandbox keeps open.
func (k *keeper) lock(ctx context.Context, kind int16) (*os.File, error) {
	f, err := os.OpenFile(k.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for _, offset := range k.offsets {
		for {
			err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: offset, Len: 1})
			if err == nil {
				break
			}
			busy := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES)
			if busy && kind == unix.F_RDLCK && pause(ctx, time.Millisecond) {
				continue
			}
			if busy {
				err = errors.Join(errBusy, context.Cause(ctx))
			}
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// pause waits and reports whether the context has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// replacement says what is at the place of a protected file that does not exist.
type replacement int

const (
	none replacement = iota // the file exists
	made                    // a placeholder
	void                    // nothing, because nobody may make it
)

// begin makes the missing placeholders for a command. The command keeps the lock open as long as
// anything of it runs. The caller closes it when the command has started or failed to, and calls
// end when it has ended. state tells what stands for the protected files that do not exist.
func (k *keeper) begin(ctx context.Context) (lock *os.File, state map[string]replacement, err error) {
	if lock, err = k.lock(ctx, unix.F_RDLCK); err != nil { // first, because others may be removing placeholders
		return nil, nil, err
	}
	state = make(map[string]replacement)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = true
	for _, p := range k.all {
		there, err := p.present()
		if err == nil && !there {
			state[p.path], err = p.make(k.park)
		}
		if err != nil {
			return nil, nil, errors.Join(err, lock.Close())
		}
	}
	k.running++
	return lock, state, nil
}

// endTime limits how long end waits for the kernel to end the sandbox. It takes longer if the
// command has left something running.
const endTime = 100 * time.Millisecond

// end removes the placeholders after a command, so that the file tools do not see them, if it was
// the last one. If something of it, or a command of another session, still runs, they are removed
// later.
func (k *keeper) end() {
	k.mu.Lock()
	k.running--
	k.mu.Unlock()
	k.links.remove() // now, whoever else still runs
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for k.sweep() != nil {
		if !pause(ctx, time.Millisecond) {
			k.retry()
			return
		}
	}
}

// retry removes the placeholders as soon as it is possible.
func (k *keeper) retry() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.retrying {
		return
	}
	k.retrying = true
	k.retries.Go(func() {
		timer := time.NewTicker(time.Second)
		defer timer.Stop()
		for err := errBusy; err != nil; err = k.sweep() {
			select {
			case <-k.closed:
				return
			case <-timer.C:
			}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.retrying = false
	})
}

// sweep removes the placeholders if no command runs. It returns an error if that has to be done
// later, errBusy because of another session.
func (k *keeper) sweep() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running > 0 || !k.used {
		return nil // the last command's end does it
	}
	f, err := k.lock(context.Background(), unix.F_WRLCK)
	if err != nil {
		return err
	}
	err = errors.Join(k.removeAll(), f.Close())
	k.used = err != nil
	return err
}

func (k *keeper) removeAll() error {
	k.links.remove()
	errs := make([]error, 0, len(k.all))
	for _, p := range k.all {
		errs = append(errs, p.remove(k.park))
	}
	return errors.Join(errs...)
}

// settleTime limits how long close waits for the kernel to end what is left of the commands.
const settleTime = time.Second

// close ends the goroutines and removes the placeholders. If commands of another session run in the
// same roots, that session removes them.
func (k *keeper) close() error {
	close(k.closed)
	k.retries.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	err := k.sweep()
	for err != nil && pause(ctx, 5*time.Millisecond) {
		err = k.sweep()
	}
	if errors.Is(err, errBusy) {
		err = nil
	}
	return errors.Join(err, k.unpark())
}

// unpark removes the parked placeholders. Another session in the same roots makes new ones.
func (k *keeper) unpark() error {
	if k.park == "" {
		return nil
	}
	var errs []error
	for _, p := range k.all {
		if err := os.Remove(p.parked(k.park)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
