package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// The object of a directory is the line dirMagic and then its entries in JSON, sorted by the bytes
// of their names, without the directory's own name or mode. There is only one encoding of the same
// entries, so equal trees have equal roots.
const (
	dirMagic     = "attractor directory 2\n"
	maxDirObject = 256 << 20 // bytes of an object
)

// errNoDirectory is wrapped by the errors of objects that are not the object of a directory.
var errNoDirectory = errors.New("not the object of a directory")

// EncodeDir returns the object of a directory. The entries are sorted by name. The error wraps
// fs.ErrInvalid if they cannot be the entries of a directory.
func EncodeDir(entries []Entry) ([]byte, error) {
	last := Name("")
	for _, e := range entries {
		if e.Name <= last || e.Name == "." || e.Name == ".." || strings.ContainsAny(string(e.Name), "/\x00") {
			return nil, fmt.Errorf("checkpoint: %q cannot be the next name in a directory: %w", e.Name, fs.ErrInvalid)
		}
		if d, ok := digestOf(e.Object); e.Object != "" && (!ok || d.hash() != e.Object) {
			return nil, fmt.Errorf("checkpoint: %q is not a hash: %w", e.Object, fs.ErrInvalid)
		}
		last = e.Name
	}
	data, err := json.Marshal(append([]Entry{}, entries...)) // not null
	return append([]byte(dirMagic), data...), err
}

// DecodeDir returns the entries of a directory's object, sorted by name. Data that EncodeDir does
// not make is an error.
func DecodeDir(data []byte) (entries []Entry, err error) {
	text, ok := bytes.CutPrefix(data, []byte(dirMagic))
	if !ok {
		return nil, fmt.Errorf("checkpoint: %w", errNoDirectory)
	}
	if err = json.Unmarshal(text, &entries); err == nil {
		var again []byte
		if again, err = EncodeDir(entries); err == nil && bytes.Equal(again, data) {
			return entries, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("checkpoint: %w: it is damaged", errNoDirectory), err)
}

// ReadDirObject returns the entries of a recorded directory, sorted by name.
func ReadDirObject(ctx context.Context, store Store, hash env.Hash) ([]Entry, error) {
	data, err := content(ctx, store, hash, maxDirObject)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeDir(data)
	if err != nil {
		return nil, fmt.Errorf("%w (object %s)", err, hash)
	}
	return entries, nil
}

// content returns an object of at most limit bytes. A larger one is an error.
func content(ctx context.Context, s Store, hash env.Hash, limit int64) (data []byte, err error) {
	r, err := s.Open(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("reading what was recorded: %w", err)
	}
	data, err = io.ReadAll(io.LimitReader(r, limit+1))
	if err = errors.Join(err, r.Close()); err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("object %s has more than %d bytes", hash, limit)
	}
	return data, err
}

// Walk calls visit with each entry of a tree, given its root. Entries come in the order of their
// paths' elements, a directory before what is in it. Visit returns fs.SkipDir to leave out what is
// in a directory, and any other error to end the walk.
func Walk(ctx context.Context, store Store, root env.Hash, visit func(path string, e Entry) error) error {
	return walkTree(ctx, store, root, "", visit)
}

func walkTree(ctx context.Context, store Store, dir env.Hash, prefix string,
	visit func(path string, e Entry) error) error {
	entries, err := ReadDirObject(ctx, store, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := prefix + string(e.Name)
		err := visit(name, e)
		if err == nil && e.isTree() {
			err = walkTree(ctx, store, e.Object, name+"/", visit)
		}
		if err != nil && (!e.Mode.IsDir() || !errors.Is(err, fs.SkipDir)) {
			return err
		}
	}
	return nil
}

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
		if !at.isTree() { // the tree may know a directory only by name
			return nil, nil
		}
		list, known := l.dirs[at.Object]
		if !known {
			var err error
			if list, err = ReadDirObject(ctx, l.store, at.Object); err != nil {
				return nil, err
			}
			l.dirs[at.Object] = list
		}
		i, ok := searchEntry(list, Name(elem))
		if !ok {
			return nil, nil
		}
		at = &list[i]
	}
	return at, nil
}

// searchEntry returns where an entry is among those of a directory, or where it would be, and
// whether it is there.
func searchEntry(entries []Entry, name Name) (at int, ok bool) {
	return slices.BinarySearchFunc(entries, name,
		func(e Entry, name Name) int { return strings.Compare(string(e.Name), string(name)) })
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
