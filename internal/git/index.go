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

// Index reads the index of a repository with these settings. It knows the versions 2 and 3. A
// repository to which nothing was ever added has none.
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

// idLen returns the length of ids, in bytes, in a repository with these settings.
func idLen(settings []Setting) int {
	for _, s := range settings {
		if s.Name == "extensions.objectformat" && s.Value == "sha256" {
			return 32
		}
	}
	return 20
}

// parseIndex parses an index of version 2 or 3.
func parseIndex(data []byte, idLen int) (x Index, err error) {
	x.seen = map[string]bool{}
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
	name := ""
	for range binary.BigEndian.Uint32(data[8:]) {
		n := 40 + idLen + 2 // the state of the file, the id and flags
		if len(rest) < n+2 {
			return nil, errIndex
		}
		mode := binary.BigEndian.Uint32(rest[24:])
		if rest[n-2]&0x40 != 0 {
			n += 2 // more flags
		}
		if n, name, err = entryName(rest, n, name, data[7] == 4); err != nil {
			return nil, err
		}
		if err := visit(name, mode); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return rest, nil
}

// entryName returns the name at n in an entry of an index, and the length of the entry. In version
// 4 the name begins with the one before, without as many bytes at its end as a number says.
func entryName(entry []byte, n int, before string, shortened bool) (length int, name string, err error) {
	if shortened {
		drop, digits := 0, 0
		for more := true; more; digits++ {
			if n+digits >= len(entry) || digits > 4 {
				return 0, "", errIndex
			}
			c := entry[n+digits]
			more = c&0x80 != 0
			drop = drop<<7 + int(c&0x7f)
			if more {
				drop++
			}
		}
		if n += digits; drop > len(before) {
			return 0, "", errIndex
		}
		name = before[:len(before)-drop]
	}
	end, _, ended := bytes.Cut(entry[n:], []byte{0})
	length = n + len(end) + 1
	if !shortened {
		length = (n + len(end) + 8) &^ 7
	}
	if !ended || length > len(entry) {
		return 0, "", errIndex
	}
	return length, name + string(end), nil
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

// NamesOutside reports whether an index names a file in .git or outside of the work tree. Git adds
// none, but it writes such a file when a user has it put back what is missing. What cannot be
// parsed names none.
func NamesOutside(index []byte, settings []Setting) bool {
	_, err := eachEntry(index, idLen(settings), func(name string, _ uint32) error {
		for elem := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
			if elem == "" && name != "" || elem == "." || elem == ".." || strings.EqualFold(elem, ".git") {
				return errNames
			}
		}
		return nil
	})
	return errors.Is(err, errNames)
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
