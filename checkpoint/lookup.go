package checkpoint

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// lookup finds paths in a recorded tree. It keeps the directories that it has read. It is for one
// goroutine.
type lookup struct {
	store Store
	root  env.Hash
	dirs  map[env.Hash][]Entry
}

func newLookup(s Store, root env.Hash) *lookup {
	return &lookup{store: s, root: root, dirs: map[env.Hash][]Entry{}}
}

// at returns a path's entry, or nil if the tree does not have it.
func (l *lookup) at(ctx context.Context, name string) (*Entry, error) {
	at := &Entry{Mode: fs.ModeDir, Object: l.root}
	if name == "." {
		return at, nil
	}
	for elem := range strings.SplitSeq(name, "/") {
		if at.kind() != kindDir { // the tree may know a directory only by name
			return nil, nil
		}
		list, err := l.dir(ctx, at.Object)
		if err != nil {
			return nil, err
		}
		i, ok := searchEntry(list, elem)
		if !ok {
			return nil, nil
		}
		at = &list[i]
	}
	return at, nil
}

// searchEntry returns where an entry is among those of a directory, or where it would be, and
// whether it is there.
func searchEntry(entries []Entry, name string) (at int, ok bool) {
	return slices.BinarySearchFunc(entries, name, func(e Entry, name string) int {
		return strings.Compare(e.Name,
			name)
	})
}

// dir returns the entries of a directory's object, sorted by name.
func (l *lookup) dir(ctx context.Context, object env.Hash) ([]Entry, error) {
	if list, ok := l.dirs[object]; ok {
		return list, nil
	}
	list, err := ReadDirObject(ctx, l.store, object)
	if err == nil {
		l.dirs[object] = list
	}
	return list, err
}

// content returns an object of at most limit bytes. A larger one is an error.
func content(ctx context.Context, s Store, hash env.Hash, limit int64) (data []byte, err error) {
	r, err := s.Open(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("reading what was recorded: %w", err)
	}
	defer func() {
		if errClose := r.Close(); err == nil {
			err = errClose
		}
	}()
	data, err = io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("a recorded file has more than %d bytes", limit)
	}
	return data, err
}

// inWorkspace reports whether a path of a change is one that may be changed: relative, without
// detours, and not part of a repository's own files.
func inWorkspace(name string) bool {
	if name == "" || name == "." || path.IsAbs(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
		return false
	}
	for elem := range strings.SplitSeq(name, "/") {
		if elem == ".." || strings.EqualFold(elem, ".git") {
			return false
		}
	}
	return true
}
