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
func ReadOnly(e Environment) Environment {
	return &readOnly{Checked{Base{e}, func(_ context.Context, op, name string) error {
		return &fs.PathError{Op: op, Path: name, Err: ErrReadOnly}
	}}}
}

type readOnly struct{ Checked }

// Lock implements Locker. It locks nothing, because nothing is changed.
func (r *readOnly) Lock(context.Context, ...string) (unlock func(), err error) { return func() {}, nil }

func (r *readOnly) Start(context.Context, Command) (Process, error) {
	return nil, fmt.Errorf("start command: %w", ErrReadOnly)
}

// Confinement implements Confined: no directory is writable.
func (r *readOnly) Confinement() Confinement {
	c := ConfinementOf(r.Environment)
	c.Writable, c.ReadOnly = []string{}, nil
	return c
}

// Below implements View.
func (r *readOnly) Below(context.Context, string, string) (Environment, func(error)) {
	return r.Environment, func(error) {}
}
