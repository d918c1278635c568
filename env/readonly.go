package env

import (
	"context"
	"fmt"
	"io/fs"
)

// ErrReadOnly reports that an environment made by ReadOnly refused an operation. It wraps
// fs.ErrPermission.
var ErrReadOnly = fmt.Errorf("the environment is read-only: %w", fs.ErrPermission)

// ReadOnly returns a view of e that can only read files. Changing files, and running commands,
// which could change files, return errors that wrap ErrReadOnly.
func ReadOnly(e Environment) Environment { return readOnly{Base{e}} }

type readOnly struct{ Base }

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

// Lock implements Locker. It locks nothing, because nothing is changed.
func (r readOnly) Lock(context.Context, ...string) (unlock func(), err error) { return func() {}, nil }

func (r readOnly) Start(context.Context, Command) (Process, error) {
	return nil, fmt.Errorf("start command: %w", ErrReadOnly)
}

// Confinement implements Confined: no directory is writable.
func (r readOnly) Confinement() Confinement {
	c := ConfinementOf(r.Environment)
	c.Writable, c.ReadOnly = []string{}, nil
	return c
}

// Below implements View.
func (r readOnly) Below(context.Context, string, string) (Environment, func(error)) {
	return r.Environment, func(error) {}
}
