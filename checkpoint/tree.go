package checkpoint

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// Tree describes a recorded tree.
type Tree struct {
	// Root is the hash of the object of the top directory.
	Root  env.Hash `json:"root"`
	Files int      `json:"files"` // files, links and directories
	Bytes int64    `json:"bytes"` // of the files
	// Left says what was left out.
	Left Left `json:"left,omitzero"`
}

// Left says what a recording has left out: the first few names of each kind, with a slash behind a
// directory's, and how many there are.
type Left struct {
	Ignored    Names `json:"ignored,omitzero"`    // by .gitignore files
	Special    Names `json:"special,omitzero"`    // FIFOs, sockets, devices
	Large      Names `json:"large,omitzero"`      // files above the limit
	Unreadable Names `json:"unreadable,omitzero"` // each with the reason
	Unsteady   Names `json:"unsteady,omitzero"`   // files that kept changing while they were read
}

// Names holds the first few of a number of names.
type Names struct {
	First []string `json:"first,omitempty"`
	Count int      `json:"count,omitempty"`
}

// maxNames limits the names of each kind in a Left.
const maxNames = 10

// add adds a name. The first ones in order are kept.
func (n *Names) add(name string) {
	n.Count++
	if i, _ := slices.BinarySearch(n.First, name); i < maxNames {
		n.First = slices.Insert(n.First, i, name)
		n.First = n.First[:min(len(n.First), maxNames)]
	}
}

// has reports whether a path, or a directory above it, is among the names.
func (n *Names) has(name string) bool {
	return slices.ContainsFunc(n.First, func(first string) bool {
		dir, isDir := strings.CutSuffix(first, "/")
		return first == name || isDir && (dir == name || strings.HasPrefix(name, first))
	})
}

// Entry describes a file, a symbolic link or a directory of a tree. A tree also has entries of
// files that it knows only by name; see [Entry.Recorded].
type Entry struct {
	Name Name        `json:"name,omitempty"` // the last element of the path
	Mode fs.FileMode `json:"mode"`           // the type and the permission bits
	// Object is the hash of a file's content, or of a directory's object.
	// It is empty for a file that was not recorded.
	Object env.Hash `json:"object,omitempty"`
	Size   int64    `json:"size,omitempty"`   // of a file, in bytes
	Target Name     `json:"target,omitempty"` // of a symbolic link
}

// Recorded reports whether the tree has all of a file, or nil for its absence, which suffices to
// restore it. If not, something was there that was left out: a FIFO, a socket, a device, a file
// above the limit, a file or directory that could not be read.
func (e *Entry) Recorded() bool {
	return e == nil || e.Object != "" || e.isLink() && e.Target != ""
}

// Same reports whether two entries have the same type, permissions and content. Nil means that
// there is no file.
func (e *Entry) Same(other *Entry) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Mode == other.Mode && e.Object == other.Object && e.Target == other.Target
}

// isDir reports whether there is a directory, isFile whether there is a regular file, and isLink
// whether there is a symbolic link.
func (e *Entry) isDir() bool  { return e != nil && e.Mode.IsDir() }
func (e *Entry) isFile() bool { return e != nil && e.Mode.IsRegular() }
func (e *Entry) isLink() bool { return e != nil && e.Mode.Type() == fs.ModeSymlink }

// isTree reports whether the entry is a directory whose entries are recorded.
func (e *Entry) isTree() bool { return e.isDir() && e.Object != "" }

// tree returns the object of a directory, or env.NoFile.
func (e *Entry) tree() env.Hash {
	if e.isDir() {
		return e.Object
	}
	return env.NoFile
}

// Change describes how one path differs between two trees, or what became of it in a session. The
// path is relative to the top directory.
type Change struct {
	Path string `json:"path"`
	// Before and After are nil where there was no file.
	Before *Entry `json:"before,omitempty"`
	After  *Entry `json:"after,omitempty"`
	// Mixed says that somebody else has changed the path between two changes by the session.
	Mixed bool `json:"mixed,omitempty"`
	// Unknown says that a call was ended by a kill: the session or somebody else has changed the
	// path, and nobody knows which.
	Unknown bool `json:"unknown,omitempty"`
}

// Name is a path or a link's target, of any bytes. In JSON, what is not UTF-8 is written in base64.
type Name string

// namePrefix begins a name in base64.
const namePrefix = "base64:"

// MarshalText implements encoding.TextMarshaler.
func (n Name) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) && !strings.HasPrefix(string(n), namePrefix) {
		return []byte(n), nil
	}
	return []byte(namePrefix + base64.StdEncoding.EncodeToString([]byte(n))), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Name) UnmarshalText(text []byte) error {
	encoded, ok := strings.CutPrefix(string(text), namePrefix)
	if !ok {
		*n = Name(text)
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("a name in base64: %w", err)
	}
	*n = Name(data)
	return nil
}

// Shown returns the name for people, without control characters.
func (n Name) Shown() string { return texts.Shown(string(n)) }
