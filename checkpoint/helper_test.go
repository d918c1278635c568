package checkpoint_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memory is a store that counts.
type memory struct {
	mu      sync.Mutex
	objects map[env.Hash][]byte
	puts    int // objects that were added
	commits int
	stored  func(content string) // called with each content that was read, also several times
	fail    error
}

func newMemory() *memory { return &memory{objects: map[env.Hash][]byte{}} }

func (m *memory) Begin(context.Context) (checkpoint.Batch, error) { return memoryBatch{m}, nil }

func (m *memory) Open(_ context.Context, hash env.Hash) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.objects[hash]
	if !ok {
		return nil, fmt.Errorf("object %s: %w", hash, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

type memoryBatch struct{ *memory }

func (b memoryBatch) Has(hash env.Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.objects[hash]
	return ok
}

func (b memoryBatch) Put(_ context.Context, from io.Reader) (env.Hash, int64, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return "", 0, err
	}
	if b.stored != nil {
		b.stored(string(data))
	}
	hash := env.HashOf(data)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return "", 0, b.fail
	}
	if _, ok := b.objects[hash]; !ok {
		b.puts++
		b.objects[hash] = data
	}
	return hash, int64(len(data)), nil
}

func (b memoryBatch) Commit(_ context.Context, owner string, root env.Hash) error {
	b.commits++
	if !b.Has(root) || owner == "" {
		return fmt.Errorf("commit of %q for %q", root, owner)
	}
	return nil
}

func (b memoryBatch) Close() error { return nil }

// newLocal returns an environment of a new directory with files. Names with a slash at the end are
// directories, contents that begin with "->" are links.
func newLocal(t testing.TB, files map[string]string) (e *env.Local, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, content := range files {
		put(t, dir, name, content)
	}
	e, err = env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e, dir
}

func put(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	switch {
	case name[len(name)-1] == '/':
		must(t, os.MkdirAll(file, 0o755))
	case len(content) > 2 && content[:2] == "->":
		must(t, os.Symlink(content[2:], file))
	default:
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
}

func newRecorder(t testing.TB, o checkpoint.RecorderOptions) *checkpoint.Recorder {
	t.Helper()
	if o.Owner == "" {
		o.Owner = "session"
	}
	return checkpoint.NewRecorder(o)
}

func record(t testing.TB, r *checkpoint.Recorder, e env.Environment) checkpoint.Tree {
	t.Helper()
	tree, err := r.Record(t.Context(), e)
	must(t, err)
	return tree
}

// plain lists a recorded tree: for each path its kind, mode and content, read from the store.
func plain(t testing.TB, store checkpoint.Store, root env.Hash) map[string]string {
	t.Helper()
	list := map[string]string{}
	must(t, checkpoint.Walk(t.Context(), store, root, func(name string, e checkpoint.Entry) error {
		text := fmt.Sprint(e.Mode, " ", e.Target)
		if e.Mode.IsRegular() && e.Recorded() {
			text += contentOf(t, store, e.Object)
			if size := len(contentOf(t, store, e.Object)); int64(size) != e.Size {
				t.Errorf("%q has %d bytes, its entry says %d", name, size, e.Size)
			}
		}
		list[name] = text
		return nil
	}))
	return list
}

func contentOf(t testing.TB, store checkpoint.Store, object env.Hash) string {
	t.Helper()
	r, err := store.Open(t.Context(), object)
	must(t, err)
	data, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != string(object) {
		t.Errorf("object %s has another content", object)
	}
	return string(data)
}

// walked lists the files of a directory as plain does, by the functions of the standard library. It
// leaves out .git.
func walked(t testing.TB, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel := name[len(dir)+1:]
		switch {
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			list[rel] = fmt.Sprint(fs.ModeSymlink, " ", target)
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(name)
			list[rel] = fmt.Sprint(info.Mode().Perm(), " ", string(data))
			return err
		}
		list[rel] = fmt.Sprint(info.Mode()&(fs.ModeType|fs.ModePerm), " ")
		return nil
	}))
	return list
}

// hooked is an environment that calls functions before it opens something in a directory, and with
// what it says about files.
type hooked struct {
	*env.Local
	before func(op, name string)
	refuse func(op, name string) error // its error is the operation's
	lstat  func(node *env.Node)
}

func (h hooked) Lstat(ctx context.Context, name string) (env.Node, error) {
	node, err := h.Local.Lstat(ctx, name)
	if h.lstat != nil {
		h.lstat(&node)
	}
	return node, err
}

func (h hooked) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	dir, err := env.OpenDir(ctx, h.Local, name)
	return hookedDir{dir, h}, err
}

func (h hooked) call(op, name string) error {
	if h.before != nil {
		h.before(op, name)
	}
	if h.refuse != nil {
		return h.refuse(op, name)
	}
	return nil
}

type hookedDir struct {
	env.Dir
	env hooked
}

func (d hookedDir) Lstat(ctx context.Context, name string) (env.Node, error) {
	if err := d.env.call("lstat", name); err != nil {
		return env.Node{}, err
	}
	node, err := d.Dir.Lstat(ctx, name)
	if d.env.lstat != nil {
		d.env.lstat(&node)
	}
	return node, err
}

func (d hookedDir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := d.env.call("open", name); err != nil {
		return nil, err
	}
	return d.Dir.Open(ctx, name)
}

func (d hookedDir) Readlink(ctx context.Context, name string) (string, error) {
	if err := d.env.call("readlink", name); err != nil {
		return "", err
	}
	return d.Dir.Readlink(ctx, name)
}

func (d hookedDir) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	if err := d.env.call("opendir", name); err != nil {
		return nil, err
	}
	dir, err := d.Dir.OpenDir(ctx, name)
	return hookedDir{dir, d.env}, err
}
