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
	"time"
	"unicode"

	"github.com/attractor-go/attractor/env"
)

// MemoryDir is the working directory of every Memory, and its only directory besides those below it.
const MemoryDir = "/work"

// Memory implements env.Environment in memory, for tests of code that uses environments:
//
//	e := envtest.NewMemory(map[string]string{"main.go": "package main\n"})
//	... e.Files() ...
//
// It needs no disk, no processes and no time, so it works in a testing/synctest bubble. Names mean the same as for an env.Local
// without further roots, and errors are of the same kinds. There are no symbolic links and no umask; permission bits are stored but
// have no effect. Commands are Go functions.
//
// The zero value is an empty environment, ready to use. Fields must be set before the first use. It is safe for concurrent use.
type Memory struct {
	// Now returns the time for modification times and durations; nil means time.Now.
	Now func() time.Time
	// Commands runs each started command in its own goroutine; Scripts.Run is one. If it is nil, Start returns an error that wraps
	// errors.ErrUnsupported.
	//
	// Its context ends when the command is killed. A function that has not returned after Grace is abandoned: the command's exit is
	// then SIGKILL, and later output is lost. A killed command that returns a zero Exit has exit SIGTERM. Exit.Duration is filled
	// in. After a return with Exit.Left the context lasts until Kill.
	Commands func(ctx context.Context, cmd *MemoryCommand) env.Exit
	// Grace is the time that a killed command has to return; zero means env.DefaultGrace.
	Grace time.Duration

	mu        sync.RWMutex
	top       *node // nil for an empty working directory
	processes processes
}

var (
	_ env.Environment = (*Memory)(nil)
	_ env.Replacer    = (*Memory)(nil)
	_ env.Resolver    = (*Memory)(nil)
	_ env.Graceful    = (*Memory)(nil)
	_ env.Tree        = (*Memory)(nil)
)

// NewMemory returns an environment with the given files, by name and content, of mode 0644. It panics on names that WriteFile
// refuses.
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
	var collect func(dir string, n *node)
	collect = func(dir string, n *node) {
		for name, child := range n.entries {
			if name = path.Join(dir, name); child.isDir() {
				collect(name, child)
			} else {
				files[name] = string(child.data)
			}
		}
	}
	if m.top != nil {
		collect("", m.top)
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

// KillGrace implements env.Graceful.
func (m *Memory) KillGrace() time.Duration { return cmp.Or(m.Grace, env.DefaultGrace) }

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// memoryFile is an open file with the content it had when it was opened.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// Open implements env.Environment. The reader also implements io.Seeker and io.ReaderAt.
func (m *Memory) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	n, err := m.find(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	if n.isDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errIsDir}
	}
	return memoryFile{bytes.NewReader(n.data)}, nil
}

// Stat implements env.Environment. The size of a directory is 0.
func (m *Memory) Stat(ctx context.Context, name string) (env.Info, error) {
	n, err := m.find(ctx, "stat", name)
	if err != nil {
		return env.Info{}, err
	}
	return n.info(m.base(name)), nil
}

// ReadDir implements env.Environment.
func (m *Memory) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	n, err := m.find(ctx, "readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.isDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	list := make([]env.Info, 0, len(n.entries))
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, n.entries[name].info(name))
	}
	return list, nil
}

// Resolve implements env.Resolver.
func (m *Memory) Resolve(ctx context.Context, name string) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	elems, err := m.locate(name)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return "", &fs.PathError{Op: "resolve", Path: name, Err: err}
	}
	return path.Join(MemoryDir, path.Join(elems...)), nil
}

// find returns the node of a name. Nodes are immutable, so it may be used without the lock.
func (m *Memory) find(ctx context.Context, op, name string) (*node, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	err := context.Cause(ctx)
	var elems []string
	if err == nil {
		elems, err = m.locate(name)
	}
	n := m.root()
	for _, elem := range elems {
		if n != nil {
			n = n.entries[elem]
		}
	}
	if err == nil && n == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

// WriteFile implements env.Environment. The name of a new file must not contain control characters, as for env.Local.
func (m *Memory) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return m.change(ctx, "write", name, func(old *node) (*node, error) { return m.written(old, name, data, perm) })
}

// written returns a file node with new content.
func (m *Memory) written(old *node, name string, data []byte, perm fs.FileMode) (*node, error) {
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case old != nil && old.isDir(), base == "":
		return nil, errIsDir
	case old != nil:
		perm = old.mode
	case strings.ContainsFunc(base, unicode.IsControl):
		return nil, fmt.Errorf("a new file's name must not contain control characters: %w", fs.ErrInvalid)
	}
	return &node{mode: perm.Perm(), mod: m.now(), data: bytes.Clone(data)}, nil
}

// Replace implements env.Replacer.
func (m *Memory) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	return m.change(ctx, "replace", name, func(old *node) (*node, error) {
		if err := old.compare(was); err != nil {
			return nil, err
		}
		return m.written(old, name, data, perm)
	})
}

// Delete implements env.Replacer.
func (m *Memory) Delete(ctx context.Context, name string, was env.Hash) error {
	return m.change(ctx, "delete", name, func(old *node) (*node, error) {
		if err := old.compare(was); err != nil || was == env.NoFile {
			return nil, cmp.Or(err, error(env.ErrChanged))
		}
		return nil, nil
	})
}

// Remove implements env.Environment.
func (m *Memory) Remove(ctx context.Context, name string) error {
	return m.change(ctx, "remove", name, func(old *node) (*node, error) {
		switch {
		case old == nil:
			return nil, fs.ErrNotExist
		case path.Base(name) == ".":
			return nil, errors.New("a name that ends in a dot cannot be removed")
		case len(old.entries) > 0:
			return nil, fmt.Errorf("the directory is not empty: %w", fs.ErrExist)
		}
		return nil, nil
	})
}

// change replaces the node of a name by do's result, or removes it if that is nil.
func (m *Memory) change(ctx context.Context, op, name string, do func(old *node) (*node, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := context.Cause(ctx)
	var elems []string
	if err == nil {
		elems, err = m.locate(name)
	}
	switch {
	case err != nil:
	case len(elems) == 0 && (op == "remove" || op == "delete"):
		err = errors.New("the working directory itself cannot be removed")
	default:
		var top *node
		if top, err = m.root().withChange(elems, m.now(), do); err == nil {
			m.top = top
		}
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// These errors are of the same kinds as env.Local's.
var (
	errIsDir  = fmt.Errorf("is a directory: %w", fs.ErrInvalid)
	errNotDir = errors.New("not a directory")
)
