package envtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/attractor-go/attractor/env"
)

// MemoryDir is the working directory of every Memory, and its only directory besides those below
// it.
const MemoryDir = "/work"

// Memory implements env.Environment in memory, for tests of code that uses environments:
//
//	e := envtest.NewMemory(map[string]string{"main.go": "package main\n"})
//	... e.Files() ...
//
// It needs no disk, no processes and no time, so it works in a testing/synctest bubble. Names mean
// the same as for an env.Local without further roots, and errors are of the same kinds. There are
// no symbolic links and no umask; permission bits are stored but have no effect. Commands are Go
// functions.
//
// The zero value is an empty environment, ready to use. Fields must be set before the first use. It
// is safe for concurrent use.
type Memory struct {
	// Commands runs each started command in its own goroutine. If it is nil, Start returns an error
	// that wraps errors.ErrUnsupported.
	//
	// The command's directory is absolute, and its Output is never nil; its input is lost. The
	// context ends when the command is killed. A function that has not returned after Grace is
	// abandoned: the command's exit is then SIGKILL, and later output is lost. A killed command
	// that returns a zero Exit has exit SIGTERM. Exit.Duration is filled in.
	Commands func(ctx context.Context, cmd env.Command) env.Exit
	// Grace is the time that a killed command has to return; zero means env.DefaultGrace.
	Grace time.Duration

	mu    sync.RWMutex
	nodes map[string]*node // by names below the working directory, which is "."

	commands atomic.Int64 // that were started
}

// node is a file or a directory. It is replaced and never changed, so open files need no lock.
type node struct {
	mode    fs.FileMode
	mod     time.Time
	changed time.Time // time of the last mode change; zero if none
	data    []byte
}

var (
	_ env.Environment = (*Memory)(nil)
	_ env.Resolver    = (*Memory)(nil)
	_ env.Confined    = (*Memory)(nil)
	_ env.Tree        = (*Memory)(nil)
)

// NewMemory returns an environment with the given files, by name and content, of mode 0644. It
// panics on names that WriteFile refuses.
func NewMemory(files map[string]string) *Memory {
	m := &Memory{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := m.WriteFile(context.Background(), name, []byte(files[name]), 0o644); err != nil {
			panic(fmt.Sprintf("envtest: %v", err))
		}
	}
	return m
}

// Files returns the contents of all files by their names relative to the working directory.
func (m *Memory) Files() map[string]string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	files := map[string]string{}
	for name, n := range m.nodes {
		if !n.mode.IsDir() {
			files[name] = string(n.data)
		}
	}
	return files
}

// WorkDir returns MemoryDir.
func (m *Memory) WorkDir() string { return MemoryDir }

// Platform returns a made-up platform. It has a shell if there are commands.
func (m *Memory) Platform() env.Platform {
	p := env.Platform{OS: "linux", Arch: "amd64", Version: "in memory"}
	if m.Commands != nil {
		p.Shell = "/bin/sh"
	}
	return p
}

// Confinement implements env.Confined.
func (m *Memory) Confinement() env.Confinement {
	return env.Confinement{KillGrace: cmp.Or(m.Grace, env.DefaultGrace)}
}

// at returns what is at a place, or nil.
func (m *Memory) at(place string) *node {
	if n := m.nodes[place]; n != nil || place != "." {
		return n
	}
	return newDir(0o755)
}

func newDir(perm fs.FileMode) *node {
	return &node{mode: fs.ModeDir | perm.Perm(), mod: time.Now()}
}

func (n *node) info(name string) env.Info {
	return env.Info{Name: name, Size: int64(len(n.data)), Mode: n.mode, ModTime: n.mod}
}

// locate returns the place of a name, which need not exist. It follows env.Local: an absolute name
// must lead through the working directory, a name that leaves it is refused even if it comes back,
// and .. after something that is not a directory is an error.
func (m *Memory) locate(name string) (place string, err error) {
	if name == "" || strings.ContainsRune(name, 0) || name == "~" || strings.HasPrefix(name, "~/") {
		return "", fmt.Errorf("%q is not a file name: %w", name, fs.ErrInvalid)
	}
	todo := strings.Split(name, "/")
	if path.IsAbs(name) {
		above := "/"
		for above != MemoryDir {
			if len(todo) == 0 {
				return "", errOutside
			}
			above, todo = path.Join(above, todo[0]), todo[1:]
		}
	}
	place = "."
	for i, elem := range todo {
		switch n := m.at(place); {
		case n == nil && slices.Contains(todo[i:], ".."):
			return "", fs.ErrNotExist
		case n != nil && !n.mode.IsDir():
			return "", errNotDir
		case elem == ".." && place == ".":
			return "", errOutside
		}
		place = path.Join(place, elem)
	}
	return place, nil
}

// look calls do with what is at a name, which must exist.
func (m *Memory) look(ctx context.Context, op, name string, do func(place string, n *node) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	err := context.Cause(ctx)
	var place string
	if err == nil {
		place, err = m.locate(name)
	}
	n := m.at(place)
	if err == nil && n == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = do(place, n)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// base returns the name that a file at a place has in its directory.
func base(place string) string { return path.Base(path.Join(MemoryDir, place)) }

// memoryFile is an open file with the content it had when it was opened.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// Open implements env.Environment. The reader also implements io.Seeker and io.ReaderAt.
func (m *Memory) Open(ctx context.Context, name string) (f io.ReadCloser, err error) {
	err = m.look(ctx, "open", name, func(_ string, n *node) error {
		if n.mode.IsDir() {
			return errIsDir
		}
		f = memoryFile{bytes.NewReader(n.data)}
		return nil
	})
	return f, err
}

// Stat implements env.Environment. The size of a directory is 0.
func (m *Memory) Stat(ctx context.Context, name string) (info env.Info, err error) {
	err = m.look(ctx, "stat", name, func(place string, n *node) error {
		info = n.info(base(place))
		return nil
	})
	return info, err
}

// ReadDir implements env.Environment.
func (m *Memory) ReadDir(ctx context.Context, name string) (list []env.Info, err error) {
	err = m.look(ctx, "readdir", name, func(place string, n *node) error {
		if !n.mode.IsDir() {
			return errNotDir
		}
		list = []env.Info{}
		for below, n := range m.nodes {
			if below != "." && path.Dir(below) == place {
				list = append(list, n.info(base(below)))
			}
		}
		slices.SortFunc(list, func(a, b env.Info) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	return list, err
}

// Resolve implements env.Resolver.
func (m *Memory) Resolve(ctx context.Context, name string) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	place, err := m.locate(name)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return "", &fs.PathError{Op: "resolve", Path: name, Err: err}
	}
	return path.Join(MemoryDir, place), nil
}

// change replaces what is at a name by do's result, or removes it if that is nil.
func (m *Memory) change(ctx context.Context, op, name string, do func(place string, old *node) (*node, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := context.Cause(ctx)
	var place string
	if err == nil {
		place, err = m.locate(name)
	}
	if err == nil && place == "." && op == "remove" {
		err = errors.New("the working directory itself cannot be removed")
	}
	var n *node
	if err == nil {
		n, err = do(place, m.at(place))
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	m.put(place, n)
	return nil
}

// put puts a node at a place, or removes what is there if it is nil. It makes missing directories.
func (m *Memory) put(place string, n *node) {
	if m.nodes == nil {
		m.nodes = map[string]*node{}
	}
	if m.nodes[place] = n; n == nil {
		delete(m.nodes, place)
	}
	for dir, made := place, true; dir != "." && made; {
		dir = path.Dir(dir)
		above := newDir(0o755)
		if old := m.at(dir); old != nil {
			made = false
			above.mode, above.changed = old.mode, old.changed
		}
		m.nodes[dir] = above
	}
}

// WriteFile implements env.Environment. The name of a new file must not contain control characters,
// as for env.Local.
func (m *Memory) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return m.change(ctx, "write", name, func(_ string, old *node) (*node, error) {
		return written(old, name, data, perm)
	})
}

// written returns a file node with new content.
func written(old *node, name string, data []byte, perm fs.FileMode) (*node, error) {
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case old != nil && old.mode.IsDir(), base == "":
		return nil, errIsDir
	case old != nil:
		perm = old.mode
	case strings.ContainsFunc(base, unicode.IsControl):
		return nil, fmt.Errorf("a new file's name must not contain control characters: %w", fs.ErrInvalid)
	}
	return &node{mode: perm.Perm(), mod: time.Now(), data: bytes.Clone(data)}, nil
}

// Remove implements env.Environment.
func (m *Memory) Remove(ctx context.Context, name string) error {
	return m.change(ctx, "remove", name, func(place string, old *node) (*node, error) {
		switch {
		case old == nil:
			return nil, fs.ErrNotExist
		case path.Base(name) == ".":
			return nil, errors.New("a name that ends in a dot cannot be removed")
		case m.hasEntries(place):
			return nil, fmt.Errorf("the directory is not empty: %w", fs.ErrExist)
		}
		return nil, nil
	})
}

// hasEntries reports whether something is in a directory.
func (m *Memory) hasEntries(dir string) bool {
	for name := range m.nodes {
		if path.Dir(name) == dir {
			return true
		}
	}
	return false
}

// Lstat implements env.Tree. It reports no device, inode or links.
func (m *Memory) Lstat(ctx context.Context, name string) (described env.Node, err error) {
	err = m.look(ctx, "lstat", name, func(place string, n *node) error {
		described = env.Node{Info: n.info(base(place)), Changed: n.changed}
		if n.changed.Before(n.mod) {
			described.Changed = n.mod
		}
		return nil
	})
	return described, err
}

// Readlink implements env.Tree. It always returns an error, because there are no links.
func (m *Memory) Readlink(ctx context.Context, name string) (string, error) {
	return "", m.look(ctx, "readlink", name, func(string, *node) error {
		return fmt.Errorf("not a symbolic link: %w", fs.ErrInvalid)
	})
}

// Symlink implements env.Tree. It returns an error that wraps errors.ErrUnsupported.
func (m *Memory) Symlink(_ context.Context, _, name string) error {
	return &fs.PathError{Op: "symlink", Path: name, Err: fmt.Errorf("no links in memory: %w", errors.ErrUnsupported)}
}

// Mkdir implements env.Tree.
func (m *Memory) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return m.change(ctx, "mkdir", name, func(place string, old *node) (*node, error) {
		if old != nil {
			return nil, fs.ErrExist
		}
		if strings.ContainsFunc(base(place), unicode.IsControl) {
			return nil, fmt.Errorf("a new directory's name must not contain control characters: %w", fs.ErrInvalid)
		}
		return newDir(perm), nil
	})
}

// Chmod implements env.Tree.
func (m *Memory) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return m.change(ctx, "chmod", name, func(_ string, old *node) (*node, error) {
		if old == nil {
			return nil, fs.ErrNotExist
		}
		same := *old
		same.mode, same.changed = old.mode.Type()|perm.Perm(), time.Now()
		return &same, nil
	})
}

// These errors are of the same kinds as env.Local's.
var (
	errIsDir   = fmt.Errorf("is a directory: %w", fs.ErrInvalid)
	errNotDir  = errors.New("not a directory")
	errOutside = fmt.Errorf("outside of the allowed directories (%s/); use a path inside of them: %w", MemoryDir,
		fs.ErrPermission)
)
