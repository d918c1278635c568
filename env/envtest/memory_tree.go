package envtest

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// node is a file, or a directory if it has entries. Nodes are immutable: a change makes a new tree, so open files and directory
// listings need no lock.
type node struct {
	mode    fs.FileMode
	mod     time.Time
	changed time.Time // time of the last mode change; zero if none
	data    []byte
	entries map[string]*node
}

func newDir(mod time.Time) *node {
	return &node{mode: fs.ModeDir | 0o755, mod: mod, entries: map[string]*node{}}
}

func (n *node) isDir() bool { return n.mode.IsDir() }

func (n *node) info(name string) env.Info {
	return env.Info{Name: name, Size: int64(len(n.data)), Mode: n.mode, ModTime: n.mod}
}

// compare returns an error if a file's content is not the expected one. A nil node is a missing file.
func (n *node) compare(was env.Hash) error {
	switch {
	case n == nil && was == env.NoFile:
		return nil
	case n == nil:
		return env.ErrChanged
	case n.isDir():
		return errIsDir
	case was == env.NoFile || env.HashOf(n.data) != was:
		return env.ErrChanged
	}
	return nil
}

// withChange returns a copy of the directory tree in which do's result replaces the node at elems. It makes missing directories on the
// way if the result is not nil.
func (n *node) withChange(elems []string, now time.Time, do func(old *node) (*node, error)) (*node, error) {
	if len(elems) == 0 {
		return do(n)
	}
	if n == nil {
		n = newDir(now)
	}
	old := n.entries[elems[0]]
	child, err := old.withChange(elems[1:], now, do)
	if err != nil {
		return nil, err
	}
	same := *n
	if len(elems) == 1 {
		same.mod = now
	}
	same.entries = maps.Clone(n.entries)
	if child == nil {
		delete(same.entries, elems[0])
	} else {
		same.entries[elems[0]] = child
	}
	return &same, nil
}

// root returns the working directory.
func (m *Memory) root() *node {
	if m.top == nil {
		return newDir(m.now())
	}
	return m.top
}

// locate returns the elements of the path from the working directory to a name, which need not exist. It follows env.Local: an
// absolute name must lead through the working directory, a name that leaves it is refused even if it comes back, and .. after
// something that is not a directory is an error.
func (m *Memory) locate(name string) ([]string, error) {
	switch {
	case name == "", strings.ContainsRune(name, 0), name == "~", strings.HasPrefix(name, "~/"):
		return nil, fmt.Errorf("%q is not a file name: %w", name, fs.ErrInvalid)
	}
	todo := strings.Split(name, "/")
	if path.IsAbs(name) {
		var inside bool
		if todo, inside = enter(todo); !inside {
			return nil, errOutside()
		}
	}
	var elems []string
	way := []*node{m.root()} // the nodes along elems; nil if missing
	for i, elem := range todo {
		at := way[len(way)-1]
		switch {
		case at == nil && slices.Contains(todo[i:], ".."):
			return nil, fs.ErrNotExist
		case at != nil && !at.isDir():
			return nil, errNotDir
		case elem == "" || elem == ".":
		case elem == ".." && len(elems) == 0:
			return nil, errOutside()
		case elem == "..":
			elems, way = elems[:len(elems)-1], way[:len(way)-1]
		default:
			elems = append(elems, elem)
			if at != nil {
				at = at.entries[elem]
			}
			way = append(way, at)
		}
	}
	return elems, nil
}

// enter removes the leading elements of an absolute name that lead to the working directory. It does not look at files.
func enter(todo []string) (rest []string, inside bool) {
	pos := "/"
	for i, elem := range todo {
		if pos = path.Join(pos, elem); pos == MemoryDir {
			return todo[i+1:], true
		}
	}
	return nil, false
}

func errOutside() error {
	return fmt.Errorf("outside of the allowed directories (%s/); use a path inside of them: %w", MemoryDir, fs.ErrPermission)
}
