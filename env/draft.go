package env

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"
)

// Draft returns an environment that shows the files of e and keeps changes of them in memory, so
// that what a tool would do to files can be seen before it does it. It starts no commands, lists
// directories without its changes, and makes no links and directories.
func Draft(e Environment) Environment {
	return &draft{Base: Base{e}, files: map[string]*draftFile{}}
}

// draft implements Draft.
type draft struct {
	Base
	mu    sync.Mutex
	files map[string]*draftFile // by the path without links; nil for a removed file
}

// draftFile is a file that was written.
type draftFile struct {
	data []byte
	perm fs.FileMode
}

// find returns the path without links and the file that was written there, if something was done to
// it.
func (d *draft) find(ctx context.Context, name string) (at string, file *draftFile, changed bool) {
	at, err := Resolve(ctx, d.Environment, name)
	if err != nil {
		at = path.Clean(name)
		if !path.IsAbs(at) {
			at = path.Join(d.WorkDir(), at)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	file, changed = d.files[at]
	return at, file, changed
}

// Open implements Environment.
func (d *draft) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	_, file, changed := d.find(ctx, name)
	switch {
	case !changed:
		return d.Environment.Open(ctx, name)
	case file == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(bytes.NewReader(file.data)), nil
}

// Stat implements Environment.
func (d *draft) Stat(ctx context.Context, name string) (Info, error) {
	_, file, changed := d.find(ctx, name)
	switch {
	case !changed:
		return d.Environment.Stat(ctx, name)
	case file == nil:
		return Info{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return Info{Name: path.Base(name), Size: int64(len(file.data)), Mode: file.perm, ModTime: time.Now()}, nil
}

// WriteFile implements Environment.
func (d *draft) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	old, err := d.Stat(ctx, name)
	switch {
	case err == nil && !old.Mode.IsRegular():
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("it is not a regular file")}
	case err == nil:
		perm = old.Mode
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return d.put(ctx, name, &draftFile{bytes.Clone(data), perm})
}

// Remove implements Environment.
func (d *draft) Remove(ctx context.Context, name string) error {
	if _, err := d.Stat(ctx, name); err != nil {
		return err
	}
	return d.put(ctx, name, nil)
}

// put keeps a change.
func (d *draft) put(ctx context.Context, name string, file *draftFile) error {
	at, _, _ := d.find(ctx, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[at] = file
	return nil
}

// Start implements Environment.
func (d *draft) Start(context.Context, Command) (Process, error) {
	return nil, errors.New("start command: only files can be changed in a draft")
}

// Lock implements Locker. It locks nothing, because nothing is changed.
func (d *draft) Lock(context.Context, ...string) (unlock func(), err error) { return func() {}, nil }
