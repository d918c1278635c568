package env

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Hash identifies a file's content: the SHA-256 of its bytes in lower-case hexadecimal. The zero
// value is [NoFile].
type Hash string

// NoFile is the Hash of a file that does not exist.
const NoFile Hash = ""

// HashOf returns the hash of data.
func HashOf(data []byte) Hash {
	sum := sha256.Sum256(data)
	return Hash(hex.EncodeToString(sum[:]))
}

// HashFrom returns the hash of the rest of a reader.
func HashFrom(r io.Reader) (Hash, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return NoFile, err
	}
	return Hash(hex.EncodeToString(sum.Sum(nil))), nil
}

// HashFile returns the hash of a file's content, or NoFile if the file does not exist. It reads the
// whole file.
func HashFile(ctx context.Context, e Environment, name string) (h Hash, err error) {
	f, err := e.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return NoFile, nil
	}
	if err != nil {
		return NoFile, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return HashFrom(f)
}

// ErrChanged reports that a file was not changed because its content was not the expected one.
var ErrChanged = errors.New("the file has changed: its content is not the expected one")

// A Replacer is an Environment that can change a file on the condition that its content is still
// the expected one. A session that reads a file, decides and writes it through a Replacer never
// loses another's change: after ErrChanged it decides again.
//
// The two methods compare and change in one step with respect to each other, across sessions and
// processes. A writer that does not use them (an editor, a command) can still write in between;
// environments keep that time as short as they can.
//
// A wrapper whose environment is not a Replacer returns an error that wraps errors.ErrUnsupported.
type Replacer interface {
	// Replace writes a file as WriteFile does if the hash of its content is was; NoFile means that
	// the file must not exist. Otherwise it changes nothing and the error wraps ErrChanged.
	Replace(ctx context.Context, name string, was Hash, data []byte, perm fs.FileMode) error
	// Delete removes a file if the hash of its content is was. Otherwise, or if the file does not
	// exist, it changes nothing and the error wraps ErrChanged. For a symbolic link it compares the
	// target's content and removes the link.
	Delete(ctx context.Context, name string, was Hash) error
}

// Replace replaces a file's content through e's Replacer. If e is not one, it compares and writes
// in two steps and may overwrite a change made between them.
func Replace(ctx context.Context, e Environment, name string, was Hash, data []byte, perm fs.FileMode) error {
	if r, ok := e.(Replacer); ok {
		if err := r.Replace(ctx, name, was, data, perm); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	if err := compare(ctx, e, "replace", name, was); err != nil {
		return err
	}
	return e.WriteFile(ctx, name, data, perm)
}

// Delete removes a file through e's Replacer, or in two steps as Replace does.
func Delete(ctx context.Context, e Environment, name string, was Hash) error {
	if r, ok := e.(Replacer); ok {
		if err := r.Delete(ctx, name, was); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	if was == NoFile {
		return changed("delete", name)
	}
	if err := compare(ctx, e, "delete", name, was); err != nil {
		return err
	}
	return e.Remove(ctx, name)
}

// compare returns an error if a file's content is not the expected one.
func compare(ctx context.Context, e Environment, op, name string, was Hash) error {
	now, err := HashFile(ctx, e, name)
	if err != nil {
		return err
	}
	if now != was {
		return changed(op, name)
	}
	return nil
}

func changed(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: ErrChanged} }

// A Locker is an Environment in which sessions can lock files, so that no other session changes
// them between reading and writing. Locks are advisory: they affect only callers of Lock. A
// Replacer does not need them, but a session that holds the lock rarely has to decide again, and a
// change of several files is one step for all callers of Lock.
type Locker interface {
	// Lock waits for a bounded time until nobody else has locked any of the files, and locks all of
	// them until unlock is called or this process ends. Different names of one file share a lock,
	// and a file need not exist. Files that cannot be written are ignored. The error wraps
	// ErrLocked if the time is over.
	//
	// A caller that holds a lock must not ask for another one.
	Lock(ctx context.Context, names ...string) (unlock func(), err error)
}

// ErrLocked reports that another session has held a file's lock for longer than a change takes.
var ErrLocked = errors.New("another session is changing the file; try again later")

// Lock locks files through e's Locker. If e is not one, it does nothing.
func Lock(ctx context.Context, e Environment, names ...string) (unlock func(), err error) {
	if l, ok := e.(Locker); ok {
		return l.Lock(ctx, names...)
	}
	return func() {}, nil
}

// unsupported returns a wrapper's error for an operation that its environment does not support.
func unsupported(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("this environment does not support it: %w",
		errors.ErrUnsupported)}
}

// replaceBelow and deleteBelow call the wrapped environment's Replacer, if it is one.
func replaceBelow(ctx context.Context, e Environment, name string, was Hash, data []byte, perm fs.FileMode) error {
	if r, ok := e.(Replacer); ok {
		return r.Replace(ctx, name, was, data, perm)
	}
	return unsupported("replace", name)
}

func deleteBelow(ctx context.Context, e Environment, name string, was Hash) error {
	if r, ok := e.(Replacer); ok {
		return r.Delete(ctx, name, was)
	}
	return unsupported("delete", name)
}
