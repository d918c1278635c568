package checkpoint

import (
	"io/fs"
	"time"

	"github.com/attractor-go/attractor/env"
)

// newIndex returns an index that knows nothing.
func newIndex(dir string) *index { return &index{dir: dir} }

// index holds what a recorder knows about a tree: the state of each file when it was read, and what
// was read. It is immutable once the recording has ended.
type index struct {
	dir   string    // the working directory
	root  env.Hash  // of the tree
	top   *knownDir // nil if nothing is known
	at    time.Time // when everything had been looked at
	files int
}

// knownDir holds the entries of a directory, sorted by name.
type knownDir struct{ entries []known }

// known holds an entry and the state of its file when it was read.
type known struct {
	name   string
	target string // of a link
	dir    *knownDir
	object digest // of a file or a directory
	stored int64  // the bytes of a file's object
	// Of the file:
	size              int64 // in bytes
	modified, changed int64 // in nanoseconds; changed is zero if it is not known
	inode, device     uint64
	mode              fs.FileMode // as in an Entry
	young             bool        // the content may change without a trace in the times, so it is read again
	read              bool        // object or target are set
}

// knownFrom returns an entry that was not read yet.
func knownFrom(node *env.Node) known {
	k := known{name: node.Name, size: node.Size, modified: node.ModTime.UnixNano(), inode: node.Inode,
		device: node.Device, mode: entryMode(node.Mode)}
	if !node.Changed.IsZero() {
		k.changed = node.Changed.UnixNano()
	}
	if !node.Mode.IsRegular() {
		k.size = 0
	}
	return k
}

// entryMode returns the mode of an Entry.
func entryMode(mode fs.FileMode) fs.FileMode {
	if mode.Type() == fs.ModeSymlink {
		return fs.ModeSymlink
	}
	return mode & (fs.ModeType | fs.ModePerm)
}

// changedAt returns the time of the last change of which the file system tells.
func (k *known) changedAt() int64 {
	if k.changed != 0 {
		return k.changed
	}
	return k.modified
}

// sameFile reports whether a file is in the same state.
func (k *known) sameFile(now *known) bool {
	return k.mode == now.mode && k.size == now.size && k.modified == now.modified && k.changed == now.changed &&
		k.inode == now.inode && k.device == now.device
}

// forget removes the content.
func (k *known) forget() {
	k.dir, k.object, k.target, k.stored, k.read = nil, digest{}, "", 0, false
}

// entry returns the entry.
func (k *known) entry() Entry {
	e := Entry{Name: k.name, Mode: k.mode}
	if k.read && k.mode.Type() != fs.ModeSymlink {
		e.Object = k.object.hash()
		if !k.mode.IsDir() {
			e.Size = k.stored
		}
	}
	e.Target = k.target
	return e
}

// knownEntry returns what an entry of a tree tells. It matches no file.
func knownEntry(e Entry) known {
	object, _ := digestOf(e.Object)
	return known{name: e.Name, target: e.Target, object: object, stored: e.Size, mode: e.Mode, read: e.Recorded(),
		changed: -1, young: true}
}
