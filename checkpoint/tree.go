package checkpoint

import (
	"io/fs"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Tree describes a recorded tree.
type Tree struct {
	// Root is the hash of the object of the top directory.
	Root env.Hash `json:"root"`
	// At is when the recording began.
	At    time.Time `json:"at"`
	Files int       `json:"files"` // files, links and directories
	Bytes int64     `json:"bytes"` // of the files
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

// Entry describes a file, a symbolic link or a directory of a tree. A tree also has entries of
// files that it knows only by name; see [Entry.Recorded].
type Entry struct {
	Name string      `json:"name"` // the last element of the path
	Mode fs.FileMode `json:"mode"` // the type and the permission bits
	// Object is the hash of a file's content, or of a directory's object.
	// It is empty for a file that was not recorded.
	Object env.Hash `json:"object,omitempty"`
	Size   int64    `json:"size,omitempty"`   // of a file, in bytes
	Target string   `json:"target,omitempty"` // of a symbolic link
}

// Recorded reports whether the tree has all of a file, or nil for its absence, which suffices to
// restore it. If not, something was there that was left out: a FIFO, a socket, a device, a file
// above the limit, a file or directory that could not be read.
func (e *Entry) Recorded() bool { return e == nil || e.kind() != kindUnread }

// Same reports whether two entries have the same type, permissions and content. Nil means that
// there is no file.
func (e *Entry) Same(other *Entry) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Mode == other.Mode && e.Object == other.Object && e.Target == other.Target
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
