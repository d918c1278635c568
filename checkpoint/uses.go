package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// InUseError reports that a workspace cannot be used or claimed because somebody uses it, or a part
// of it, or a directory around it. It is also the content of the file that says so, which its
// process keeps locked.
type InUseError struct {
	Workspace string // what is in use
	Owner     string // who uses it, such as the id of a session
	PID       int    // the process that does
	Claimed   bool   // whether that process has the workspace alone, as an undo does
}

// Error says who has the workspace.
func (e *InUseError) Error() string {
	if e.Claimed {
		return fmt.Sprintf("an undo of %s is changing %s (process %d)", e.Owner, e.Workspace, e.PID)
	}
	return fmt.Sprintf("%s uses %s (process %d)", e.Owner, e.Workspace, e.PID)
}

const useExt = ".use"

// Use says that an owner, such as a session, uses a workspace until release is called or this
// process ends. Others may use it as well, but nobody can claim it, or a directory in or around it.
// The workspace is an absolute path without symbolic links; for one on another machine, something
// that names the machine stands before the path. While an owner uses or has claimed a workspace, a
// full store does not drop its trees.
//
// The error is an [*InUseError] if somebody has claimed the workspace.
func (d *Dir) Use(ctx context.Context, workspace, owner string) (release func() error, err error) {
	return d.enter(ctx, InUseError{Workspace: workspace, Owner: owner, PID: os.Getpid()})
}

// Claim takes a workspace for an owner alone until release is called or this process ends. It does
// not wait: the error is an [*InUseError] if anybody uses or has claimed the workspace, or a
// directory in or around it. That includes the uses of this process. The owner is the one whose
// trees are put back.
func (d *Dir) Claim(ctx context.Context, workspace, owner string) (release func() error, err error) {
	return d.enter(ctx, InUseError{Workspace: workspace, Owner: owner, PID: os.Getpid(), Claimed: true})
}

func (d *Dir) enter(ctx context.Context, u InUseError) (release func() error, err error) {
	if u.Workspace == "" || u.Owner == "" {
		return nil, errors.New("checkpoint: a use needs the workspace and the owner")
	}
	err = d.withUses(ctx, func(others []InUseError) error {
		for _, o := range others {
			if (u.Claimed || o.Claimed) && (inside(u.Workspace, o.Workspace) || inside(o.Workspace, u.Workspace)) {
				return &o
			}
		}
		data, err := json.Marshal(u)
		if err != nil {
			return err
		}
		file, err := tryHold(d.file(usesName, rand.Text()+useExt), filelock.Exclusive)
		if err != nil {
			return err
		}
		release = sync.OnceValue(func() error {
			return errors.Join(file.Close(), ignore(os.Remove(file.Name()), fs.ErrNotExist))
		})
		if _, err := file.Write(data); err != nil {
			return errors.Join(full(err), release())
		}
		return nil
	})
	if inUse := (*InUseError)(nil); err != nil && !errors.As(err, &inUse) {
		err = fmt.Errorf("checkpoint: cannot enter %s: %w", u.Workspace, err)
	}
	return release, err
}

// inside reports whether a workspace is another one or lies in it.
func inside(a, b string) bool {
	rest, ok := strings.CutPrefix(a, b)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || rest[0] == '/' || os.IsPathSeparator(b[len(b)-1]))
}

// withUses calls a function with the uses of workspaces, while nobody else can add one. It removes
// what ended processes have left.
func (d *Dir) withUses(ctx context.Context, do func([]InUseError) error) (err error) {
	lock, err := hold(ctx, d.file(usesName, lockName), filelock.Exclusive, lockWait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	files, err := os.ReadDir(d.file(usesName))
	if err != nil {
		return err
	}
	var live []InUseError
	for _, file := range files {
		if filepath.Ext(file.Name()) != useExt {
			continue
		}
		u, ok, err := probe(d.file(usesName, file.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		if ok {
			live = append(live, u)
		}
	}
	return do(live)
}

// probe reports whether a use goes on. Otherwise it removes its file.
func probe(path string) (u InUseError, live bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return u, false, ignore(err, fs.ErrNotExist)
	}
	switch err := filelock.TryLock(file, filelock.Exclusive); {
	case err == nil:
		return u, false, errors.Join(heldFile{file}.Close(), ignore(os.Remove(path), fs.ErrNotExist))
	case !errors.Is(err, filelock.ErrLocked):
		return u, false, errors.Join(err, file.Close())
	}
	err = json.NewDecoder(file).Decode(&u)
	return u, true, errors.Join(err, file.Close())
}

// usedBy returns the owners that use a workspace.
func (d *Dir) usedBy(ctx context.Context) (owners map[string]bool, err error) {
	owners = map[string]bool{}
	err = d.withUses(ctx, func(uses []InUseError) error {
		for _, u := range uses {
			owners[u.Owner] = true
		}
		return nil
	})
	return owners, err
}

// lockWait limits how long a lock of the store is waited for. Batches and collections take seconds.
const lockWait = time.Minute

// heldFile is a file that this process has open and locked. The lock ends with the process.
type heldFile struct{ *os.File }

// Close releases the lock. Closing the file alone would not, while a child that is being forked has
// it open.
func (f heldFile) Close() error { return errors.Join(filelock.Unlock(f.File), f.File.Close()) }

// tryHold opens a file, makes it if it is missing, and locks it. The error wraps filelock.ErrLocked
// if it is locked.
func tryHold(path string, shared bool) (heldFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return heldFile{}, err
	}
	if err := filelock.TryLock(file, shared); err != nil {
		return heldFile{}, errors.Join(err, file.Close())
	}
	return heldFile{file}, nil
}

// hold waits for a lock, at most as long as given.
func hold(ctx context.Context, path string, shared bool, wait time.Duration) (file heldFile, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait,
		fmt.Errorf("%s stayed locked by another process: %w", path, filelock.ErrLocked))
	defer cancel()
	err = filelock.Wait(ctx, func() (err error) {
		file, err = tryHold(path, shared)
		return err
	})
	return file, err
}
