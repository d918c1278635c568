package git

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

const (
	maxIndex     = 64 << 20  // bytes
	maxPath      = 4096      // bytes of one path
	maxPathBytes = 128 << 20 // bytes of all paths, which version 4 compresses
)

// Types of files in indexes and trees.
const (
	kindMask = 0o170000
	kindDir  = 0o040000
	kindFile = 0o100000
	kindLink = 0o120000
	kindRepo = 0o160000 // a commit of a submodule
)

// index holds git's list of tracked files.
type index struct {
	entries []indexEntry // by path
	trees   map[string]string
	written time.Time // modification time of the index; files that changed later may have kept their times
}

// indexEntry holds one file, with the result of git's last lstat.
type indexEntry struct {
	path       string
	id         string
	mode       uint32
	size       uint32
	sec, nsec  uint32 // of the modification
	stage      uint8  // other than 0 in a conflict
	unobserved bool   // git ignores changes of the file: skip-worktree, assume-unchanged
}

// readIndex reads the index. A repository to which nothing was ever added has none.
func (r *repository) readIndex(ctx context.Context) (*index, error) {
	name := path.Join(r.gitDir, "index")
	info, err := r.env.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return &index{}, nil
	}
	if err == nil && info.Size > maxIndex {
		err = errBudget
	}
	if err != nil {
		return nil, err
	}
	data, err := r.readSized(ctx, name, info.Size, maxIndex)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data, r.idLen())
	if err == nil {
		x.written = info.ModTime
	}
	return x, err
}

// parseIndex parses an index of version 2, 3 or 4.
func parseIndex(data []byte, idLen int) (*index, error) {
	if len(data) < 12+idLen || string(data[:4]) != "DIRC" {
		return nil, errUnknown
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 || count > len(data)/(42+idLen) {
		return nil, errUnknown
	}
	x := &index{entries: make([]indexEntry, 0, count), trees: map[string]string{}}
	rest := string(data[12 : len(data)-idLen]) // without the checksum at the end; the entries have parts of it
	before, total := "", 0
	for range count {
		e, n, err := parseEntry(rest, idLen, version, before)
		if err != nil {
			return nil, err
		}
		if total += len(e.path); total > maxPathBytes || e.path < before {
			return nil, errUnknown
		}
		before, rest = e.path, rest[n:]
		x.entries = append(x.entries, e)
	}
	return x, x.extensions(rest, idLen)
}

// parseEntry parses the entry at the beginning of data, and returns its length.
func parseEntry(data string, idLen int, version uint32, before string) (e indexEntry, n int, err error) {
	const stats = 40
	if len(data) < stats+idLen+2 {
		return e, 0, errUnknown
	}
	number := func(i int) uint32 { return bigEndian(data[4*i : 4*i+4]) }
	e.sec, e.nsec, e.mode, e.size = number(2), number(3), number(6), number(9)
	e.id = data[stats : stats+idLen]
	n = stats + idLen + 2
	flags := bigEndian(data[n-2 : n])
	e.stage = uint8(flags >> 12 & 3)
	e.unobserved = flags&0x8000 != 0
	if flags&0x4000 != 0 && version >= 3 {
		if len(data) < n+2 {
			return e, 0, errUnknown
		}
		e.unobserved = e.unobserved || bigEndian(data[n:n+2])&0x4000 != 0
		n += 2
	}
	kept := ""
	if version == 4 { // the path replaces the last bytes of the previous one
		in := strings.NewReader(data[n:])
		cut, err := offsetNumber(in)
		if err != nil || cut > int64(len(before)) {
			return e, 0, errUnknown
		}
		kept = before[:len(before)-int(cut)]
		n = len(data) - in.Len()
	}
	end := strings.IndexByte(data[n:], 0)
	if end < 0 || len(kept)+end > maxPath || len(kept)+end == 0 {
		return e, 0, errUnknown
	}
	if e.path = kept + data[n:n+end]; e.path[0] == '/' { // git has none: paths lead from the top
		return e, 0, errUnknown
	}
	if n += end + 1; version < 4 {
		n = (n + 7) &^ 7
	}
	if n > len(data) {
		return e, 0, errUnknown
	}
	return e, n, nil
}

// bigEndian returns the number in at most four bytes.
func bigEndian(data string) (n uint32) {
	for i := range len(data) {
		n = n<<8 | uint32(data[i])
	}
	return n
}

// extensions reads what follows the entries. An extension whose name begins with a small letter changes the meaning of the entries.
func (x *index) extensions(data string, idLen int) error {
	for len(data) >= 8 {
		name, size := data[:4], int(bigEndian(data[4:8]))
		data = data[8:]
		if size > len(data) || name[0] >= 'a' && name[0] <= 'z' {
			return errUnknown
		}
		if name == "TREE" {
			x.readTrees(data[:size], idLen)
		}
		data = data[size:]
	}
	return nil
}

// readTrees reads the ids of the directories that equal a tree, by path; the path of the top is "". It only saves time, so it stops at
// the first error.
func (x *index) readTrees(text string, idLen int) {
	type level struct {
		dir  string
		subs int // subdirectories that are still to come
	}
	var above []level
	total := 0
	for len(text) > 0 {
		name, rest, ok1 := strings.Cut(text, "\x00")
		line, rest, ok2 := strings.Cut(rest, "\n")
		entries, subtrees, ok3 := strings.Cut(line, " ")
		subs, ok4 := smallNumber(subtrees)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return
		}
		for len(above) > 0 && above[len(above)-1].subs == 0 {
			above = above[:len(above)-1]
		}
		dir := name
		if len(above) > 0 {
			above[len(above)-1].subs--
			dir = path.Join(above[len(above)-1].dir, name)
		}
		if total += len(dir); len(dir) > maxPath || total > maxPathBytes {
			return
		}
		if !strings.HasPrefix(entries, "-") { // else the id is outdated
			if len(rest) < idLen {
				return
			}
			x.trees[dir], rest = rest[:idLen], rest[idLen:]
		}
		above = append(above, level{dir, subs})
		text = rest
	}
}

// smallNumber parses a decimal number of at most seven digits.
func smallNumber(text string) (n int, ok bool) {
	if text == "" || len(text) > 7 {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
