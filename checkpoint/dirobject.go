package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// The object of a directory is the line dirMagic and then its entries, sorted by the bytes of their
// names, without the directory's own name or mode. Numbers are uvarints (package encoding/binary),
// and so are the lengths before names and targets. An entry is
//
//	'f' permissions name size SHA-256    a file
//	'd' permissions name SHA-256         a directory, by the hash of its object
//	'l' 0 name target                    a symbolic link
//	'x' mode name                        something that is there and was not recorded, such as a FIFO or a file above the limit
//
// There is only one encoding of the same entries, so equal trees have equal roots. Names and
// targets are arbitrary bytes.
const (
	dirMagic     = "attractor directory 1\n"
	maxDirObject = 256 << 20 // bytes of an object
	hashLen      = 32        // bytes of a SHA-256

	kindFile   = 'f'
	kindDir    = 'd'
	kindLink   = 'l'
	kindUnread = 'x'
)

// errNoDirectory is wrapped by the errors of objects that are not the object of a directory.
var errNoDirectory = errors.New("not the object of a directory")

// EncodeDir returns the object of a directory. The entries are sorted by name. The error wraps
// fs.ErrInvalid if they cannot be the entries of a directory.
func EncodeDir(entries []Entry) ([]byte, error) {
	data := []byte(dirMagic)
	for i, e := range entries {
		if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") || i > 0 &&
			e.Name <= entries[i-1].Name {
			return nil, fmt.Errorf("checkpoint: %q cannot be the next name in a directory: %w", e.Name, fs.ErrInvalid)
		}
		var err error
		if data, err = appendEntry(data, e); err != nil {
			return nil, fmt.Errorf("checkpoint: %q: %w", e.Name, err)
		}
	}
	return data, nil
}

// appendEntry appends the encoding of an entry.
func appendEntry(to []byte, e Entry) ([]byte, error) {
	kind, mode := e.kind(), uint64(e.Mode.Perm())
	switch kind {
	case kindLink:
		mode = 0
	case kindUnread:
		mode = uint64(e.Mode)
	}
	to = append(to, kind)
	to = binary.AppendUvarint(to, mode)
	to = appendText(to, e.Name)
	switch kind {
	case kindFile:
		to = binary.AppendUvarint(to, uint64(e.Size))
	case kindLink:
		return appendText(to, e.Target), nil
	case kindUnread:
		return to, nil
	}
	sum, err := hex.DecodeString(string(e.Object))
	if err != nil || len(sum) != hashLen {
		return nil, fmt.Errorf("%q is not a hash: %w", e.Object, fs.ErrInvalid)
	}
	return append(to, sum...), nil
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// kind returns the first byte of an entry's encoding.
func (e *Entry) kind() byte {
	switch {
	case e.Mode.Type() == fs.ModeSymlink:
		return kindLink
	case e.Object == "":
		return kindUnread
	case e.Mode.IsDir():
		return kindDir
	}
	return kindFile
}

// DecodeDir returns the entries of a directory's object, sorted by name. Data that EncodeDir does
// not make is an error.
func DecodeDir(data []byte) ([]Entry, error) {
	rest, ok := bytes.CutPrefix(data, []byte(dirMagic))
	if !ok {
		return nil, fmt.Errorf("checkpoint: %w", errNoDirectory)
	}
	in := &dirReader{rest: rest, text: string(rest)}
	var entries []Entry
	for len(in.rest) > 0 && !in.bad {
		entries = append(entries, in.entry())
	}
	if again, err := EncodeDir(entries); in.bad || err != nil || !bytes.Equal(again, data) {
		return nil, fmt.Errorf("checkpoint: %w: it is damaged", errNoDirectory)
	}
	return entries, nil
}

// dirReader reads the entries of an object.
type dirReader struct {
	rest []byte
	text string // all of it, of which names are parts
	bad  bool
}

func (in *dirReader) entry() (e Entry) {
	kind := in.bytes(1)
	mode := fs.FileMode(uint32(in.number()))
	e.Name = in.string()
	switch {
	case in.bad:
	case kind[0] == kindFile:
		e.Mode = mode
		e.Size = int64(in.number())
		in.bad = in.bad || e.Size < 0
		e.Object = in.hash()
	case kind[0] == kindDir:
		e.Mode = fs.ModeDir | mode
		e.Object = in.hash()
	case kind[0] == kindLink:
		e.Mode = fs.ModeSymlink | mode
		e.Target = in.string()
	default:
		e.Mode = mode
	}
	return e
}

func (in *dirReader) number() uint64 {
	n, size := binary.Uvarint(in.rest)
	if size <= 0 {
		in.bad = true
		return 0
	}
	in.rest = in.rest[size:]
	return n
}

func (in *dirReader) bytes(n uint64) []byte {
	if in.bad || n > uint64(len(in.rest)) {
		in.bad = true
		return nil
	}
	var part []byte
	part, in.rest = in.rest[:n], in.rest[n:]
	return part
}

func (in *dirReader) string() string {
	part := in.bytes(in.number())
	end := len(in.text) - len(in.rest)
	return in.text[end-len(part) : end]
}

func (in *dirReader) hash() env.Hash { return env.Hash(hex.EncodeToString(in.bytes(hashLen))) }

// ReadDirObject returns the entries of a recorded directory, sorted by name.
func ReadDirObject(ctx context.Context, store Store, hash env.Hash) (_ []Entry, err error) {
	r, err := store.Open(ctx, hash)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDirObject+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxDirObject {
		return nil, fmt.Errorf("checkpoint: object %s has more than %d bytes: %w", hash, maxDirObject, errNoDirectory)
	}
	entries, err := DecodeDir(data)
	if err != nil {
		return nil, fmt.Errorf("%w (object %s)", err, hash)
	}
	return entries, nil
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
		err := visit(prefix+e.Name, e)
		if err == nil && e.kind() == kindDir {
			err = walkTree(ctx, store, e.Object, prefix+e.Name+"/", visit)
		}
		if err != nil && (!e.Mode.IsDir() || !errors.Is(err, fs.SkipDir)) {
			return err
		}
	}
	return nil
}

// Lookup returns the entry of a path in a tree, given its root, or nil if there is none. The path
// is relative and clean. The top directory itself has no entry.
func Lookup(ctx context.Context, store Store, root env.Hash, name string) (*Entry, error) {
	if name == "." {
		return nil, nil
	}
	return newLookup(store, root).at(ctx, name)
}
