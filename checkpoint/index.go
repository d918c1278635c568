package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"io/fs"
	"os"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
)

// index holds what a recorder knows about a tree: the state of each file when it was read, and what
// was read. It is immutable once the recording has ended.
type index struct {
	Version int
	Dir     string    // the working directory
	At      time.Time // when everything had been looked at
	Top     *knownDir
}

// indexVersion is the form of indexes that this package writes and reads.
const indexVersion = 2

// newIndex returns an index that knows nothing.
func newIndex(dir string) *index {
	return &index{Version: indexVersion, Dir: dir, Top: new(knownDir)}
}

// knownDir describes a directory that was read.
type knownDir struct {
	Object  env.Hash
	Entries []known // sorted by name
	Files   int     // files, links and directories of the tree
	Bytes   int64   // of its files
}

// known is an entry of a tree, and the state of its file when it was read.
type known struct {
	Entry
	State fileState // zero for a directory, and for what is not recorded
	Young bool      // the content may change without a trace in the times, so it is read again
	Dir   *knownDir // of a directory that is recorded
}

// fileState changes when a file does. Times are in nanoseconds.
type fileState struct {
	Size              int64
	Modified, Changed int64 // Changed is zero if it is not known
	Inode, Device     uint64
}

// knownFrom returns an entry that was not read yet.
func knownFrom(node *env.Node) known {
	k := known{Entry: Entry{Name: Name(node.Name), Mode: entryMode(node.Mode)}}
	if k.Mode.IsDir() {
		return k
	}
	k.State = fileState{Modified: node.ModTime.UnixNano(), Inode: node.Inode, Device: node.Device}
	if !node.Changed.IsZero() {
		k.State.Changed = node.Changed.UnixNano()
	}
	if k.Mode.IsRegular() {
		k.State.Size = node.Size
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
	if k.State.Changed != 0 {
		return k.State.Changed
	}
	return k.State.Modified
}

// sameFile reports whether a file is in the same state.
func (k *known) sameFile(now *known) bool { return k.Mode == now.Mode && k.State == now.State }

// unrecorded returns the entry for something that has no content in the tree.
func (k *known) unrecorded() known { return known{Entry: Entry{Name: k.Name, Mode: k.Mode}} }

// save replaces the file of the index. It has the SHA-256 of the rest at its beginning.
func (x *index) save(name string) error {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(x); err != nil {
		return err
	}
	sum := sha256.Sum256(data.Bytes())
	return atomicfile.Write(name, append(sum[:], data.Bytes()...))
}

// loadIndex returns the index in a file, or an empty one if the file has none for the directory.
func loadIndex(name, dir string) *index {
	data, err := os.ReadFile(name)
	if err != nil || len(data) < sha256.Size {
		return newIndex(dir)
	}
	data, sum := data[sha256.Size:], [sha256.Size]byte(data)
	x := new(index)
	if sha256.Sum256(data) != sum || gob.NewDecoder(bytes.NewReader(data)).Decode(x) != nil {
		return newIndex(dir)
	}
	if x.Version != indexVersion || x.Dir != dir || x.Top == nil {
		return newIndex(dir)
	}
	return x
}
