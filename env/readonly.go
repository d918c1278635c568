package env

import (
	"context"
	"fmt"
	"io/fs"
	"time"
)

// ErrReadOnly reports that an environment made by ReadOnly refused an operation. It wraps fs.ErrPermission.
var ErrReadOnly = fmt.Errorf("the environment is read-only: %w", fs.ErrPermission)

// ReadOnly returns a view of e that can only read files. Changing files, and running commands, which could change files, return
// errors that wrap ErrReadOnly.
func ReadOnly(e Environment) Environment { return readOnly{e} }

type readOnly struct{ Environment }

func (r readOnly) WriteFile(_ context.Context, name string, _ []byte, _ fs.FileMode) error {
	return &fs.PathError{Op: "write", Path: name, Err: ErrReadOnly}
}

func (r readOnly) Remove(_ context.Context, name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: ErrReadOnly}
}

// Replace implements Replacer. It refuses.
func (r readOnly) Replace(_ context.Context, name string, _ Hash, _ []byte, _ fs.FileMode) error {
	return &fs.PathError{Op: "replace", Path: name, Err: ErrReadOnly}
}

// Delete implements Replacer. It refuses.
func (r readOnly) Delete(_ context.Context, name string, _ Hash) error {
	return &fs.PathError{Op: "delete", Path: name, Err: ErrReadOnly}
}

// Lstat implements Tree.
func (r readOnly) Lstat(ctx context.Context, name string) (Node, error) {
	return TreeOf(r.Environment).Lstat(ctx, name)
}

// Readlink implements Tree.
func (r readOnly) Readlink(ctx context.Context, name string) (string, error) {
	return TreeOf(r.Environment).Readlink(ctx, name)
}

// Symlink implements Tree. It refuses.
func (r readOnly) Symlink(_ context.Context, _, name string) error {
	return &fs.PathError{Op: "symlink", Path: name, Err: ErrReadOnly}
}

// Mkdir implements Tree. It refuses.
func (r readOnly) Mkdir(_ context.Context, name string, _ fs.FileMode) error {
	return &fs.PathError{Op: "mkdir", Path: name, Err: ErrReadOnly}
}

// Chmod implements Tree. It refuses.
func (r readOnly) Chmod(_ context.Context, name string, _ fs.FileMode) error {
	return &fs.PathError{Op: "chmod", Path: name, Err: ErrReadOnly}
}

// Resolve implements Resolver.
func (r readOnly) Resolve(ctx context.Context, name string) (string, error) {
	return Resolve(ctx, r.Environment, name)
}

// Guarded implements Guard.
func (r readOnly) Guarded(ctx context.Context, name string) string {
	return guardedBelow(ctx, r.Environment, name)
}

func (r readOnly) Start(context.Context, Command) (Process, error) {
	return nil, fmt.Errorf("start command: %w", ErrReadOnly)
}

// Containment implements Contained.
func (r readOnly) Containment() string { return Containment(r.Environment) }

// Confinement implements Confined: no directory is writable.
func (r readOnly) Confinement() Confinement {
	c := ConfinementOf(r.Environment)
	c.Writable, c.ReadOnly = []string{}, nil
	return c
}

// KillGrace implements Graceful.
func (r readOnly) KillGrace() time.Duration { return KillGrace(r.Environment) }

// HidesHost implements Hiding.
func (r readOnly) HidesHost() bool { return HidesHost(r.Environment) }

// Below implements View.
func (r readOnly) Below(context.Context, string, string) (Environment, func(error)) {
	return r.Environment, func(error) {}
}
