package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/attractor-go/attractor/internal/filelock"
)

const (
	indexMagic = "attractor idx 1\n"
	indexExt   = ".idx"
	// indexEntry is the length of an entry: the digest, the offset and the length of the record.
	indexEntry = len(digest{}) + 8 + 8
	// indexFrom is the number of objects without an index from which on a batch writes one when it
	// ends.
	indexFrom = 2048
)

// packFile holds where the objects of a pack are. Most of them are in a table of sorted entries,
// which is what the index file holds. The index file is a cache: a reader scans what it does not
// cover.
type packFile struct {
	path  string
	table []byte
	tail  map[digest]place // the objects behind those of the table
	end   int64            // of the last complete batch that is known
	size  int64            // of the file when it was looked at
	// early holds the objects of complete batches behind end while somebody writes to the pack.
	// They can be read but not relied upon, because the last of these batches may not be durable
	// yet and may be taken back.
	early map[digest]place
	busy  bool // somebody was writing to the pack when it was looked at
	// damaged says that something behind end is no record. Nothing is appended to such a pack,
	// because there may be more behind that.
	damaged bool
}

// find returns where an object is.
func (p *packFile) find(object digest) (place, bool) {
	if at, ok := p.tail[object]; ok {
		return at, true
	}
	i, ok := p.search(object)
	if !ok {
		return place{}, false
	}
	return p.at(i).place, true
}

// search returns which entry of the table an object has.
func (p *packFile) search(object digest) (entry int, ok bool) {
	n := len(p.table) / indexEntry
	i := sort.Search(n, func(i int) bool { return bytes.Compare(p.entry(i)[:len(object)], object[:]) >= 0 })
	return i, i < n && bytes.Equal(p.entry(i)[:len(object)], object[:])
}

func (p *packFile) entry(i int) []byte { return p.table[i*indexEntry : (i+1)*indexEntry] }

func (p *packFile) at(i int) found {
	var f found
	rest := p.entry(i)[copy(f.object[:], p.entry(i)):]
	f.offset = int64(binary.LittleEndian.Uint64(rest))
	f.length = int64(binary.LittleEndian.Uint64(rest[8:]))
	return f
}

func (p *packFile) name() string { return filepath.Base(p.path) }

// sort makes the table hold all objects of the pack.
func (p *packFile) sort() {
	if len(p.tail) == 0 {
		return
	}
	objects := make([]found, 0, len(p.table)/indexEntry+len(p.tail))
	for i := range len(p.table) / indexEntry {
		if o := p.at(i); p.tail[o.object].length == 0 {
			objects = append(objects, o)
		}
	}
	for object, at := range p.tail {
		objects = append(objects, found{object, at})
	}
	slices.SortFunc(objects, func(a, b found) int { return bytes.Compare(a.object[:], b.object[:]) })
	p.table = make([]byte, 0, len(objects)*indexEntry)
	for _, o := range objects {
		p.table = append(p.table, o.object[:]...)
		p.table = binary.LittleEndian.AppendUint64(p.table, uint64(o.offset))
		p.table = binary.LittleEndian.AppendUint64(p.table, uint64(o.length))
	}
	p.tail = nil
}

func (p *packFile) add(objects []found, end int64) {
	if p.tail == nil {
		p.tail = make(map[digest]place, len(objects))
	}
	for _, o := range objects {
		p.tail[o.object] = o.place
	}
	p.end, p.size = end, max(p.size, end)
}

// follow updates the pack to its new size, unless somebody is writing to it: what is not durable
// yet cannot be relied upon.
func (p *packFile) follow(size int64) error {
	p.size, p.busy, p.early = size, false, nil
	if size <= p.end {
		return nil
	}
	file, err := os.Open(p.path)
	if err != nil {
		return err
	}
	err = filelock.TryLock(file, filelock.Shared)
	if err == nil {
		err = heldFile{file}.Close() // nobody else needs to wait for the reading
	} else {
		err = errors.Join(err, file.Close())
	}
	if p.busy = errors.Is(err, filelock.ErrLocked); p.busy {
		return nil
	}
	if err != nil {
		return err
	}
	return p.update(size)
}

// preview finds the objects that a pack has behind what is known of it, for reading alone.
func (p *packFile) preview() (err error) {
	file, err := os.Open(p.path)
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	objects, _, err := scanPack(file, p.end, p.size)
	if err = ignore(err, errDamaged); err != nil {
		return err
	}
	p.early = make(map[digest]place, len(objects))
	for _, o := range objects {
		p.early[o.object] = o.place
	}
	return nil
}

// update adds the complete batches between the known end and the new size. Nobody may be writing to
// the pack.
func (p *packFile) update(size int64) (err error) {
	if size <= p.end {
		p.size = size
		return nil
	}
	file, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	objects, end, err := scanPack(file, p.end, size)
	if p.damaged = errors.Is(err, errDamaged); err != nil && !p.damaged {
		return err
	}
	p.add(objects, end)
	p.size = size
	return nil
}

// openPack reads the index of a pack, and the pack where it has none.
func openPack(path string, size int64) (*packFile, error) {
	p := &packFile{path: path}
	data, err := os.ReadFile(p.indexPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if table, end, ok := parseIndex(data); ok && end <= size {
		p.table, p.end = table, end
	}
	return p, p.follow(size)
}

func (p *packFile) indexPath() string { return p.path[:len(p.path)-len(packExt)] + indexExt }

// parseIndex returns the table of an index file and the end of what it covers.
func parseIndex(data []byte) (table []byte, end int64, ok bool) {
	const begin = len(indexMagic) + 8
	if len(data) < begin+4 || string(data[:len(indexMagic)]) != indexMagic {
		return nil, 0, false
	}
	body := len(data) - 4
	if binary.LittleEndian.Uint32(data[body:]) != checksum(data[:body]) {
		return nil, 0, false
	}
	end = int64(binary.LittleEndian.Uint64(data[len(indexMagic):]))
	table = data[begin:body]
	return table, end, len(table)%indexEntry == 0 && end >= 0
}

// writeIndex makes the index file cover the whole pack.
func (p *packFile) writeIndex() error {
	p.sort()
	data := make([]byte, 0, len(indexMagic)+8+len(p.table)+4)
	data = append(data, indexMagic...)
	data = binary.LittleEndian.AppendUint64(data, uint64(p.end))
	data = append(data, p.table...)
	data = binary.LittleEndian.AppendUint32(data, checksum(data))
	return replaceFile(p.indexPath(), data)
}

// replaceFile writes a file in one step. It is not durable: a crash may leave a file that is
// damaged.
func replaceFile(path string, data []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "*"+tempExt)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// tempExt is the extension of files that are being written. Those of killed processes are removed
// by a collection.
const tempExt = ".tmp"
