package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path"
)

const maxIndex = 64 << 20 // bytes

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

	seen map[string]bool // directories
}

// Index reads the index of a repository with these settings. It knows the versions 2 and 3. A
// repository to which nothing was ever added has none.
func (f Files) Index(ctx context.Context, repo *Repository, settings []Setting) (x Index, err error) {
	idLen := 20 // bytes of an id
	for _, s := range settings {
		if s.Name == "extensions.objectformat" && s.Value == "sha256" {
			idLen = 32
		}
	}
	data, err := f.readUpTo(ctx, path.Join(repo.GitDir, "index"), maxIndex)
	if missing(err) {
		return x, nil
	}
	if err != nil {
		return x, err
	}
	return parseIndex(data, idLen)
}

// parseIndex parses an index of version 2 or 3.
func parseIndex(data []byte, idLen int) (x Index, err error) {
	if len(data) < 12+idLen || string(data[:7]) != "DIRC\x00\x00\x00" || data[7] != 2 && data[7] != 3 {
		return x, errIndex
	}
	rest := data[12 : len(data)-idLen] // without the checksum at the end
	x.seen = map[string]bool{}
	for range binary.BigEndian.Uint32(data[8:]) {
		n := 40 + idLen + 2 // the state of the file, the id and flags
		if len(rest) < n+2 {
			return x, errIndex
		}
		mode := binary.BigEndian.Uint32(rest[24:])
		if rest[n-2]&0x40 != 0 {
			n += 2 // more flags
		}
		name, _, ended := bytes.Cut(rest[n:], []byte{0})
		n = (n + len(name) + 8) &^ 7
		if !ended || len(name) == 0 || name[0] == '/' || n > len(rest) { // paths lead from the top
			return x, errIndex
		}
		x.add(string(name), mode)
		rest = rest[n:]
	}
	return x, checkExtensions(rest)
}

// add adds a tracked file.
func (x *Index) add(name string, mode uint32) {
	for dir := path.Dir(name); !x.seen[dir]; dir = path.Dir(dir) {
		x.seen[dir] = true
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
