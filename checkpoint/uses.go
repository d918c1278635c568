package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/filelock"
)

// InUseError reports that a workspace cannot be used or claimed because somebody uses it, or a part
// of it, or a directory around it.
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

// use is the content of the file that somebody keeps locked while a workspace is in use.
type use struct {
	Workspace string `json:"workspace"`
	Owner     string `json:"owner"`
	PID       int    `json:"pid"`
	Claim     bool   `json:"claim,omitempty"`
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
	return d.enter(ctx, use{Workspace: workspace, Owner: owner, PID: os.Getpid()})
}

// Claim takes a workspace for an owner alone until release is called or this process ends. It does
// not wait: the error is an [*InUseError] if anybody uses or has claimed the workspace, or a
// directory in or around it. That includes the uses of this process. The owner is the one whose
// trees are put back.
func (d *Dir) Claim(ctx context.Context, workspace, owner string) (release func() error, err error) {
	return d.enter(ctx, use{Workspace: workspace, Owner: owner, PID: os.Getpid(), Claim: true})
}

func (d *Dir) enter(ctx context.Context, u use) (release func() error, err error) {
	if u.Workspace == "" || u.Owner == "" {
		return nil, errors.New("checkpoint: a use needs the workspace and the owner")
	}
	lock, err := hold(ctx, d.file(usesName, lockName), filelock.Exclusive, lockWait)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cannot look who uses %s: %w", u.Workspace, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	others, err := d.uses()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cannot look who uses %s: %w", u.Workspace, err)
	}
	for _, o := range others {
		if (u.Claim || o.Claim) && overlap(u.Workspace, o.Workspace) {
			return nil, &InUseError{Workspace: o.Workspace, Owner: o.Owner, PID: o.PID, Claimed: o.Claim}
		}
	}
	return d.sign(u)
}

// sign makes the file that says that a workspace is in use. The caller holds the lock of these
// files.
func (d *Dir) sign(u use) (release func() error, err error) {
	data, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	file, err := tryHold(d.file(usesName, rand.Text()+useExt), filelock.Exclusive)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	release = sync.OnceValue(func() error { return removeHeld(file) })
	if _, err := file.Write(data); err != nil {
		return nil, errors.Join(full(err), release())
	}
	return release, nil
}

// removeHeld removes a file that is held, while nobody else can hold it if the system allows that.
func removeHeld(file heldFile) error {
	err := os.Remove(file.Name())
	errClose := file.Close()
	if err != nil {
		err = ignore(os.Remove(file.Name()), fs.ErrNotExist)
	}
	return errors.Join(err, errClose)
}

// overlap reports whether one of two workspaces is the other or lies in it.
func overlap(a, b string) bool { return inside(a, b) || inside(b, a) }

func inside(a, b string) bool {
	rest, ok := strings.CutPrefix(a, b)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || rest[0] == '/' || os.IsPathSeparator(b[len(b)-1]))
}

// uses returns who uses workspaces, and removes what ended processes have left. The caller holds
// the lock of these files.
func (d *Dir) uses() ([]use, error) {
	entries, err := os.ReadDir(d.file(usesName))
	if err != nil {
		return nil, err
	}
	var live []use
	for _, e := range entries {
		if filepath.Ext(e.Name()) != useExt {
			continue
		}
		u, ok, err := probe(d.file(usesName, e.Name()))
		if err != nil {
			return nil, err
		}
		if ok {
			live = append(live, u)
		}
	}
	return live, nil
}

// probe reports whether a use goes on. Otherwise it removes its file.
func probe(path string) (u use, live bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return u, false, ignore(err, fs.ErrNotExist)
	}
	switch err := filelock.TryLock(file, filelock.Exclusive); {
	case err == nil:
		return u, false, removeHeld(heldFile{file})
	case !errors.Is(err, filelock.ErrLocked):
		return u, false, errors.Join(err, file.Close())
	}
	data, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err = errors.Join(err, file.Close()); err != nil {
		return u, false, err
	}
	if err := json.Unmarshal(data, &u); err != nil {
		return u, false, fmt.Errorf("%s: %w", path, err)
	}
	return u, true, nil
}

// usedBy returns the owners that use a workspace.
func (d *Dir) usedBy(ctx context.Context) (_ map[string]bool, err error) {
	lock, err := hold(ctx, d.file(usesName, lockName), filelock.Exclusive, lockWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	uses, err := d.uses()
	if err != nil {
		return nil, err
	}
	owners := make(map[string]bool, len(uses))
	for _, u := range uses {
		owners[u.Owner] = true
	}
	return owners, nil
}
