package env

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// parentPerm is the mode of parent directories that are made, before the umask.
const parentPerm fs.FileMode = 0o755

// WriteFile replaces a file's content atomically: it renames a temporary file of the same
// directory, so that readers see the old content or the new, even if this process is killed. It
// does not call fsync, which costs milliseconds: after a power failure the file may be empty or
// old, as after a build or a git checkout.
//
// A new file gets perm, less the umask. An existing one keeps its permission bits, and its owner if
// this process may set it; set-user-id and set-group-id bits are dropped, since they were given to
// other content. Of several hard links only the named one gets the new content. A file without
// write permission is replaced if its directory is writable. The name of a new file must not
// contain control characters.
func (l *Local) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	if err := context.Cause(ctx); err != nil {
		return l.fileError("write", name, err)
	}
	// Resolve all links, also the last one: a rename would replace the link and not its target.
	p, err := l.resolve(ctx, name, true)
	if err == nil {
		err = l.write(ctx, p, name, file{data: data, perm: perm, any: l.anyNames})
	}
	if err != nil {
		return l.fileError("write", name, err)
	}
	return nil
}

// file is the content to write.
type file struct {
	data []byte
	perm fs.FileMode // for a new file
	was  *Hash       // the expected content; nil for any
	any  bool        // a new file's name may have control characters
}

func (l *Local) write(ctx context.Context, p place, name string, f file) error {
	if p.rel == "." || strings.HasSuffix(name, "/") {
		return notRegular(fs.ModeDir)
	}
	err := l.inDirectory(ctx, p, f.was == nil || *f.was == NoFile,
		func(dir *os.Root, base string) error { return f.replace(ctx, dir, base) })
	return f.asChanged(err)
}

// asChanged converts the error for a file that does not exist to ErrChanged if a content was
// expected.
func (f file) asChanged(err error) error {
	if f.was != nil && errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	return err
}

// The names of temporary files are tempPrefix, tempRandom characters and tempExt.
const (
	tempPrefix = ".attractor-"
	tempRandom = 26 // of rand.Text
	tempExt    = ".tmp"
)

// IsTemporary reports whether a file name is one of those under which a Local writes new content
// before it replaces a file. Such a file stays behind if the process is killed meanwhile.
func IsTemporary(name string) bool {
	random, isTemp := strings.CutPrefix(name, tempPrefix)
	random, hasExt := strings.CutSuffix(random, tempExt)
	return isTemp && hasExt && len(random) == tempRandom &&
		strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// replace writes a file by way of a temporary one, and removes that after a failure.
func (f file) replace(ctx context.Context, dir *os.Root, base string) (err error) {
	old, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
		if f.was != nil && *f.was != NoFile {
			return ErrChanged
		}
		if err := checkNew(base, f.any); err != nil {
			return err
		}
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return notRegular(old.Mode())
	case f.was != nil && *f.was == NoFile:
		return ErrChanged
	}
	temp := tempPrefix + rand.Text() + tempExt // not derived from base, which may have the maximum length
	if err := f.writeTemp(dir, temp, old); err != nil {
		return err
	}
	if err = context.Cause(ctx); err == nil {
		err = f.renameTemp(dir, temp, base)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// renameTemp renames the temporary file, after a last check of the content it replaces.
func (f file) renameTemp(dir *os.Root, temp, base string) error {
	switch {
	case f.was == nil:
	case *f.was != NoFile:
		if now, err := hashIn(dir, base); err != nil {
			return f.asChanged(err)
		} else if now != *f.was {
			return ErrChanged
		}
	default: // a hard link fails if there is a file
		err := dir.Link(temp, base)
		if errors.Is(err, fs.ErrExist) {
			return ErrChanged
		}
		if err == nil {
			return dir.Remove(temp)
		}
		if _, err := dir.Lstat(base); !errors.Is(err, fs.ErrNotExist) { // the file system has no hard links
			return errors.Join(ErrChanged, err)
		}
	}
	return dir.Rename(temp, base)
}

// hashIn returns the hash of a directory's file.
func hashIn(dir *os.Root, base string) (h Hash, err error) {
	f, err := dir.OpenFile(base, openFlags, 0)
	if err != nil {
		return NoFile, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := checkRegular(f); err != nil {
		return NoFile, err
	}
	return HashFrom(f)
}

// writeTemp makes the temporary file. It sets owner and mode on the handle, before anybody can open
// the file under its final name.
func (f file) writeTemp(dir *os.Root, temp string, old fs.FileInfo) error {
	perm := f.perm.Perm()
	if old != nil {
		perm = 0o600
	}
	t, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if old != nil {
		err = keepOwner(t, old)
	}
	if err == nil && old != nil {
		err = t.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = t.Write(f.data)
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// Replace implements Replacer. Comparing and replacing is one step for all sessions on this kernel.
// Another writer can write in between for some microseconds, but cannot be overwritten where no
// file is expected.
func (l *Local) Replace(ctx context.Context, name string, was Hash, data []byte, perm fs.FileMode) error {
	err := l.swap(ctx, name, func(p place) error { return l.write(ctx, p, name, file{data, perm, &was, l.anyNames}) })
	if err != nil {
		return l.fileError("replace", name, err)
	}
	return nil
}

// Delete implements Replacer, as Replace does.
func (l *Local) Delete(ctx context.Context, name string, was Hash) error {
	err := l.swap(ctx, name, func(p place) error {
		now, err := hashIn(p.root.dir, p.rel)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && now != was:
			return ErrChanged
		case err != nil:
			return err
		}
		return l.Remove(ctx, name)
	})
	if err != nil {
		return l.fileError("delete", name, err)
	}
	return nil
}

// swap calls do for a file while no other swap of it can run.
func (l *Local) swap(ctx context.Context, name string, do func(place) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p, err := l.resolve(ctx, name, true)
	if err != nil {
		return err
	}
	release, err := l.locks.acquire(ctx, lockSwap, p)
	if err != nil {
		return err
	}
	defer release()
	return do(p)
}
