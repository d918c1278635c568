package wire

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"syscall"

	"github.com/attractor-go/attractor/env"
)

// Error is an error for the wire: what people read, and what programs ask about.
type Error struct {
	Text Text `json:"text"`
	// Op and Path are those of an fs.PathError, whose cause the rest describes.
	Op   Text `json:"op,omitempty"`
	Path Text `json:"path,omitempty"`
	// Kinds lists what errors.Is reports for it.
	Kinds []string `json:"kinds,omitempty"`
}

// kind is an error that errors.Is knows on both sides.
type kind struct {
	name string
	err  error
}

// kinds returns the errors that keep their identity.
func kinds() []kind {
	return []kind{
		{"not_exist", fs.ErrNotExist}, {"exist", fs.ErrExist}, {"permission", fs.ErrPermission},
		{"invalid", fs.ErrInvalid}, {"closed", fs.ErrClosed},
		{"changed", env.ErrChanged}, {"locked", env.ErrLocked}, {"read_only", env.ErrReadOnly},
		{"unsupported", errors.ErrUnsupported},
		{"canceled", context.Canceled}, {"deadline", context.DeadlineExceeded}, {"program_not_found", exec.ErrNotFound},
		{"too_large", ErrTooLarge}, {"busy", ErrBusy},
		{"ENOENT", syscall.ENOENT}, {"EEXIST", syscall.EEXIST}, {"EACCES", syscall.EACCES}, {"EPERM", syscall.EPERM},
		{"ENOTDIR", syscall.ENOTDIR}, {"EISDIR", syscall.EISDIR}, {"ENOTEMPTY", syscall.ENOTEMPTY},
		{"ELOOP", syscall.ELOOP},
		{"ENAMETOOLONG", syscall.ENAMETOOLONG}, {"ENOSPC", syscall.ENOSPC}, {"EROFS", syscall.EROFS},
		{"EPIPE", syscall.EPIPE},
		{"EIO", syscall.EIO}, {"E2BIG", syscall.E2BIG}, {"EBUSY", syscall.EBUSY}, {"EXDEV", syscall.EXDEV},
		{"EFBIG", syscall.EFBIG},
		{"ETXTBSY", syscall.ETXTBSY}, {"EMFILE", syscall.EMFILE}, {"ENFILE", syscall.ENFILE},
		{"EAGAIN", syscall.EAGAIN}, {"ENOMEM", syscall.ENOMEM},
	}
}

// ErrorOf returns an error for the wire, or nil for nil.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{}
	// only the outermost: its text is built again on the other side
	if p, ok := err.(*fs.PathError); ok && p.Err != nil {
		e.Op, e.Path, err = Text(p.Op), Text(p.Path), p.Err
	}
	e.Text = Text(err.Error())
	for _, k := range kinds() {
		if errors.Is(err, k.err) {
			e.Kinds = append(e.Kinds, k.name)
		}
	}
	return e
}

// Err returns the error that it describes, or nil for nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	r := &remoteError{text: string(e.Text)}
	for _, k := range kinds() {
		for _, name := range e.Kinds {
			if name == k.name {
				r.kinds = append(r.kinds, k.err)
			}
		}
	}
	if e.Op != "" || e.Path != "" {
		return &fs.PathError{Op: string(e.Op), Path: string(e.Path), Err: r}
	}
	return r
}

// remoteError is an error of the other side.
type remoteError struct {
	text  string
	kinds []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.kinds }
