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

// Hash names a file's content: the SHA-256 of its bytes in lower-case hexadecimal. The zero value is [NoFile].
type Hash string

// NoFile stands for the content of a file that does not exist.
const NoFile Hash = ""

// HashOf returns the hash of a content.
func HashOf(data []byte) Hash {
	sum := sha256.Sum256(data)
	return Hash(hex.EncodeToString(sum[:]))
}

// HashFrom returns the hash of what a reader still gives.
func HashFrom(r io.Reader) (Hash, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return NoFile, err
	}
	return Hash(hex.EncodeToString(sum.Sum(nil))), nil
}

// HashFile returns the hash of a file's content, or NoFile if there is no such file. It reads the whole file.
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

// ErrChanged says that a file was not changed because its content was not the expected one.
var ErrChanged = errors.New("the file's content is not the expected one")

// Replacer is implemented by environments that change a file only if its content is still the one that the change was decided
// upon. Whoever reads a file, decides and writes it through a Replacer loses nobody's change: after ErrChanged it decides again.
//
// The two methods compare and change in one step as far as other calls of them are concerned, whichever session and process they
// come from. A writer that uses neither (an editor, a command) can still get in between the two, for a moment as short as the
// environment can make it.
//
// A wrapper around an environment that is no Replacer returns an error that wraps errors.ErrUnsupported.
type Replacer interface {
	// Replace is WriteFile if the hash of the file's content is was, where NoFile means that there must be no file. Otherwise nothing is
	// changed and the error wraps ErrChanged.
	Replace(ctx context.Context, name string, was Hash, data []byte, perm fs.FileMode) error
	// Delete is Remove of a file if the hash of its content is was. Otherwise, also if there is no such file, nothing is changed and
	// the error wraps ErrChanged. Of a symbolic link the content is its target's, and the link is removed.
	Delete(ctx context.Context, name string, was Hash) error
}

// Replace replaces a file's content through e's Replacer. In an environment without one it compares and writes in two steps, so
// that only a change between these is lost.
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

// Locker is implemented by environments in which sessions can keep each other from changing a file between its reading and its
// writing. The lock is advisory: it holds only those who ask for it. A Replacer does not need it, but who holds it seldom has to
// decide again, and a change of several files looks like one to everybody who asks for it.
type Locker interface {
	// Lock waits until nobody else holds one of the files, for a bounded time, and holds all of them until unlock is called or this process
	// ends. Names of the same file are the same, and a file need not exist. Names that cannot be written are passed over. The
	// error wraps ErrLocked when the wait was in vain.
	//
	// Who holds a lock must not ask for another one.
	Lock(ctx context.Context, names ...string) (unlock func(), err error)
}

// ErrLocked says that another session holds a file for longer than a change takes.
var ErrLocked = errors.New("another session is changing the file; try again later")

// Lock locks files through e's Locker. In an environment without one it does nothing.
func Lock(ctx context.Context, e Environment, names ...string) (unlock func(), err error) {
	if l, ok := e.(Locker); ok {
		return l.Lock(ctx, names...)
	}
	return func() {}, nil
}

// unsupported returns the error of a wrapper for what the environment below cannot do.
func unsupported(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("not in this environment: %w", errors.ErrUnsupported)}
}

// replaceBelow and deleteBelow are what wrappers forward to.
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
