package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path"
	"strings"
)

// maxIndex limits an index that is read, and the names of the directories in it, in bytes.
const maxIndex = 64 << 20

// Types of files in indexes.
const (
	kindMask = 0o170000
	kindFile = 0o100000
	kindRepo = 0o160000 // a commit of a submodule
)

var errIndex = errors.New("the index has a form that is not known here")

// Index holds what the index of a work tree says, as paths from its top.
type Index struct {
	// Links are the repositories inside: submodules, and those that were added like them.
	Links []string
	// Dirs are the directories with tracked files, and Attributes the tracked files named
	// .gitattributes.
	Dirs, Attributes []string

	seen  map[string]bool // directories
	bytes int             // of their names
}

// Index reads the index of a repository with these settings. It knows the versions 2 and 3, without
// places from which git reads in several threads. A repository to which nothing was ever added has
// none.
func (f Files) Index(ctx context.Context, repo *Repository, settings []Setting) (x Index, err error) {
	data, err := f.readUpTo(ctx, path.Join(repo.GitDir, "index"), maxIndex)
	if missing(err) {
		return x, nil
	}
	if err != nil {
		return x, err
	}
	return parseIndex(data, idLen(settings))
}

// idLen returns the length of ids, in bytes, in a repository with these settings, of which the last
// counts.
func idLen(settings []Setting) (n int) {
	n = 20
	for _, s := range settings {
		switch {
		case s.Name != "extensions.objectformat":
		case s.Value == "sha256":
			n = 32
		default:
			n = 20
		}
	}
	return n
}

// parseIndex parses an index of version 2 or 3.
func parseIndex(data []byte, idLen int) (x Index, err error) {
	x.seen = map[string]bool{}
	if endOfEntries(data, idLen) > 0 {
		return x, errIndex
	}
	rest, err := eachEntry(data, idLen, func(name string, mode uint32) error {
		if data[7] > 3 || name == "" || name[0] == '/' { // paths lead from the top
			return errIndex
		}
		if x.add(name, mode); x.bytes > maxIndex {
			return errIndex
		}
		return nil
	})
	if err != nil {
		return x, err
	}
	return x, checkExtensions(rest)
}

// eachEntry visits the entries of an index of version 2, 3 or 4, until visit returns an error. It
// returns what follows them. In a split index a name can be empty.
func eachEntry(data []byte, idLen int, visit func(name string, mode uint32) error) (rest []byte, err error) {
	if len(data) < 12+idLen || string(data[:7]) != "DIRC\x00\x00\x00" || data[7] < 2 || data[7] > 4 {
		return nil, errIndex
	}
	rest = data[12 : len(data)-idLen] // without the checksum at the end
	return eachOf(rest, binary.BigEndian.Uint32(data[8:]), idLen, data[7] == 4, visit)
}

// eachOf visits some entries in a row, as eachEntry does. If their names are shortened, as in
// version 4, the first one has its whole name.
func eachOf(rest []byte, entries uint32, idLen int, shortened bool,
	visit func(string, uint32) error) ([]byte, error) {
	name := ""
	for i := range entries {
		n := 40 + idLen + 2 // the state of the file, the id and flags
		if len(rest) < n+2 {
			return nil, errIndex
		}
		mode, nameLen := binary.BigEndian.Uint32(rest[24:]), int(binary.BigEndian.Uint16(rest[n-2:])&longName)
		if rest[n-2]&0x40 != 0 {
			n += 2 // more flags
		}
		kept := 0
		if shortened {
			drop, digits := varint(rest[n:])
			if n += digits; digits == 0 || i > 0 && drop > len(name) {
				return nil, errIndex
			}
			kept = max(len(name)-drop, 0)
		}
		end, _, ended := bytes.Cut(rest[n:], []byte{0})
		length := n + len(end) + 1
		if !shortened {
			length = (n + len(end) + 8) &^ 7
		}
		if !ended || length > len(rest) || kept+len(end) > maxName {
			return nil, errIndex
		}
		if name = name[:kept] + string(end); nameLen != min(len(name), longName) { // git goes by that
			return nil, errIndex
		}
		if err := visit(name, mode); err != nil {
			return nil, err
		}
		rest = rest[length:]
	}
	return rest, nil
}

// maxName limits the name of a file: Linux opens none by a longer one. longName stands for the
// length of a name that is at least as long, in the flags of an entry.
const (
	maxName  = 4096
	longName = 0xfff
)

// varint returns the number at the beginning of data, in the form of version 4, and how many bytes
// it has: 0 if there is none.
func varint(data []byte) (n, digits int) {
	for digits < min(len(data), 5) {
		c := data[digits]
		digits++
		if n = n<<7 + int(c&0x7f); c&0x80 == 0 {
			return n, digits
		}
		n++
	}
	return 0, 0
}

// IndexLinks returns the repositories inside that an index has, as far as it can be parsed.
func IndexLinks(index []byte, settings []Setting) (links []string) {
	_, _ = eachEntry(index, idLen(settings), func(name string, mode uint32) error {
		if mode&kindMask == kindRepo {
			links = append(links, name)
		}
		return nil
	})
	return links
}

var errNames = errors.New("the index names a file in .git or outside of the work tree")

// NamesOutside reports whether an index names a file in .git or outside of the work tree, or cannot
// be parsed. Git adds none, but it writes such a file when a user has it put back what is missing.
func NamesOutside(index []byte, settings []Setting) bool {
	look := func(name string, _ uint32) error {
		for elem := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
			if elem == "" && name != "" || elem == "." || elem == ".." || strings.EqualFold(elem, ".git") {
				return errNames
			}
		}
		return nil
	}
	length := idLen(settings)
	if _, err := eachEntry(index, length, look); err != nil {
		return true
	}
	left := binary.BigEndian.Uint32(index[8:])
	for _, b := range blocks(index, length) {
		if b.entries > left || int64(b.at) > int64(len(index)) {
			return true
		}
		left -= b.entries
		if _, err := eachOf(index[b.at:], b.entries, length, index[7] == 4, look); err != nil {
			return true
		}
	}
	return false
}

// A block is a number of entries of an index, which begin at a byte of it.
type block struct{ at, entries uint32 }

// blocks returns the blocks of entries that an extension lists, so that git reads a large index in
// several threads: it looks for entries where they say, and nowhere else. How git finds the
// extension is in its gitformat-index(5), as are the forms of both.
func blocks(index []byte, idLen int) (list []block) {
	const head = 8 // of an extension: its name and its size
	end := endOfEntries(index, idLen)
	if end == 0 {
		return nil
	}
	at := int64(binary.BigEndian.Uint32(index[end+head:]))
	for at+head <= int64(end) {
		size := int64(binary.BigEndian.Uint32(index[at+4:]))
		content := index[at+head : min(at+head+size, int64(end))]
		if string(index[at:at+4]) != "IEOT" {
			at += head + size
			continue
		}
		for content = content[min(4, len(content)):]; len(content) >= 8; content = content[8:] { // behind a version
			list = append(list, block{binary.BigEndian.Uint32(content), binary.BigEndian.Uint32(content[4:])})
		}
		return list
	}
	return nil
}

// endOfEntries returns where the extension begins that says where the entries of an index end, or
// 0. Git looks for it in one place, whatever is in front of it, and reads it as if it had an id of
// SHA-1 even where ids are longer, though it writes such a one.
func endOfEntries(index []byte, idLen int) int {
	for _, length := range []int{20, idLen} {
		if at := len(index) - idLen - length - 4 - 8; at > 0 && string(index[at:at+4]) == "EOIE" {
			return at
		}
	}
	return 0
}

// add adds a tracked file, with its directories up to the limit for their names.
func (x *Index) add(name string, mode uint32) {
	for dir := path.Dir(name); !x.seen[dir] && x.bytes <= maxIndex; dir = path.Dir(dir) {
		x.seen[dir] = true
		x.bytes += len(dir)
		x.Dirs = append(x.Dirs, dir)
	}
	switch {
	case mode&kindMask == kindRepo:
		x.Links = append(x.Links, name)
	case mode&kindMask == kindFile && path.Base(name) == ".gitattributes":
		x.Attributes = append(x.Attributes, name)
	}
}

// checkExtensions looks at what follows the entries. An extension whose name begins with a small
// letter changes the meaning of the entries.
func checkExtensions(data []byte) error {
	for len(data) >= 8 {
		size := uint64(binary.BigEndian.Uint32(data[4:])) + 8
		if size > uint64(len(data)) || data[0] >= 'a' && data[0] <= 'z' {
			return errIndex
		}
		data = data[size:]
	}
	return nil
}
