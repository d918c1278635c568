package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// The file of an index has a line with its version, the working directory, the root of the tree,
// the time, the number of files and then the entries, each directory's after its own entry. Its end
// is the SHA-256 of the rest. Numbers are varints. Any other file is ignored.
const (
	indexMagicLine = "attractor index 1\n"
	maxIndexFile   = 1 << 30
	maxIndexDepth  = 10_000 // directories within each other
)

// The flags of an entry.
const (
	hasContent = 1 << iota
	isYoung
	hasDir
)

// save replaces the file of the index.
func (x *index) save(name string) error {
	data := []byte(indexMagicLine)
	data = appendText(data, x.dir)
	data = appendText(data, string(x.root))
	data = binary.AppendVarint(data, x.at.UnixNano())
	data = binary.AppendVarint(data, int64(x.files))
	data = x.top.append(data)
	total := sha256.Sum256(data)
	return replaceFile(name, append(data, total[:]...))
}

func (d *knownDir) append(to []byte) []byte {
	if d == nil {
		return binary.AppendUvarint(to, 0)
	}
	to = binary.AppendUvarint(to, uint64(len(d.entries)))
	for i := range d.entries {
		to = d.entries[i].append(to)
	}
	return to
}

func (k *known) append(to []byte) []byte {
	flags := uint64(0)
	if k.read {
		flags |= hasContent
	}
	if k.young {
		flags |= isYoung
	}
	if k.dir != nil {
		flags |= hasDir
	}
	to = binary.AppendUvarint(to, flags)
	to = appendText(to, k.name)
	to = appendText(to, k.target)
	to = binary.AppendUvarint(to, uint64(k.mode))
	for _, n := range []int64{k.stored, k.size, k.modified, k.changed - k.modified} {
		to = binary.AppendVarint(to, n)
	}
	to = binary.AppendUvarint(to, k.inode)
	to = binary.AppendUvarint(to, k.device)
	to = append(to, k.object[:]...)
	if k.dir != nil {
		to = k.dir.append(to)
	}
	return to
}

// loadIndex returns the index in a file, or an empty one if the file has none for the directory.
func loadIndex(name, dir string) *index {
	if name == "" {
		return newIndex(dir)
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndexFile {
		return newIndex(dir)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return newIndex(dir)
	}
	if x := parseIndexFile(data); x != nil && x.dir == dir {
		return x
	}
	return newIndex(dir)
}

// parseIndexFile returns the index, or nil if the data is not what save writes.
func parseIndexFile(data []byte) *index {
	end := len(data) - hashLen
	if end < 0 || !bytes.HasPrefix(data, []byte(indexMagicLine)) {
		return nil
	}
	if total := sha256.Sum256(data[:end]); !bytes.Equal(total[:], data[end:]) {
		return nil
	}
	rest := data[len(indexMagicLine):end]
	in := &indexReader{dirReader{rest: rest, text: string(rest)}}
	x := &index{dir: in.string(), root: env.Hash(in.string()), at: time.Unix(0, in.varint()), files: int(in.varint())}
	x.top = in.dir(0)
	if in.bad || len(in.rest) > 0 {
		return nil
	}
	return x
}

// indexReader reads the parts of an index.
type indexReader struct{ dirReader }

func (in *indexReader) varint() int64 {
	n, size := binary.Varint(in.rest)
	if size <= 0 {
		in.bad = true
		return 0
	}
	in.rest = in.rest[size:]
	return n
}

func (in *indexReader) dir(depth int) *knownDir {
	n := in.number()
	if in.bad || n > uint64(len(in.rest)/hashLen) || depth > maxIndexDepth {
		in.bad = true
		return nil
	}
	d := &knownDir{entries: make([]known, 0, n)}
	for range n {
		if in.bad {
			return nil
		}
		d.entries = append(d.entries, in.known(depth))
	}
	return d
}

func (in *indexReader) known(depth int) (k known) {
	flags := in.number()
	k.read, k.young = flags&hasContent != 0, flags&isYoung != 0
	k.name, k.target = strings.Clone(in.string()), strings.Clone(in.string())
	k.mode = fs.FileMode(uint32(in.number()))
	k.stored, k.size, k.modified = in.varint(), in.varint(), in.varint()
	k.changed = k.modified + in.varint()
	k.inode, k.device = in.number(), in.number()
	copy(k.object[:], in.bytes(hashLen))
	if flags&hasDir != 0 {
		k.dir = in.dir(depth + 1)
	}
	return k
}
