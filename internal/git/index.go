package git

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

const (
	maxIndex     = 64 << 20  // bytes
	maxPath      = 4096      // bytes of one path
	maxPathBytes = 128 << 20 // bytes of all paths, which version 4 compresses
)

// Types of files in indexes.
const (
	kindMask = 0o170000
	kindFile = 0o100000
	kindRepo = 0o160000 // a commit of a submodule
)

// indexEntry holds a tracked file.
type indexEntry struct {
	path string
	mode uint32
}

// readIndex returns the files in the index, by path. A repository to which nothing was ever added has none.
func (r *repository) readIndex(ctx context.Context) ([]indexEntry, error) {
	name := path.Join(r.gitDir, "index")
	info, err := r.env.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
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
	return parseIndex(data, r.idLen())
}

// parseIndex parses an index of version 2, 3 or 4.
func parseIndex(data []byte, idLen int) ([]indexEntry, error) {
	if len(data) < 12+idLen || string(data[:4]) != "DIRC" {
		return nil, errUnknown
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 || count > len(data)/(42+idLen) {
		return nil, errUnknown
	}
	entries := make([]indexEntry, 0, count)
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
		entries = append(entries, e)
	}
	return entries, checkExtensions(rest)
}

// parseEntry parses the entry at the beginning of data, and returns its length.
func parseEntry(data string, idLen int, version uint32, before string) (e indexEntry, n int, err error) {
	const stats = 40
	if len(data) < stats+idLen+2 {
		return e, 0, errUnknown
	}
	e.mode = bigEndian(data[24:28])
	n = stats + idLen + 2
	flags := bigEndian(data[n-2 : n])
	if flags&0x4000 != 0 && version >= 3 {
		n += 2 // more flags
	}
	if len(data) < n {
		return e, 0, errUnknown
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

// checkExtensions looks at what follows the entries. An extension whose name begins with a small letter changes the meaning of the entries.
func checkExtensions(data string) error {
	for len(data) >= 8 {
		name, size := data[:4], int(bigEndian(data[4:8]))
		data = data[8:]
		if size > len(data) || name[0] >= 'a' && name[0] <= 'z' {
			return errUnknown
		}
		data = data[size:]
	}
	return nil
}

// offsetNumber reads a number of 7 bits a byte, the highest first, as an index of version 4 has it. Each byte but the last one adds one.
func offsetNumber(in io.ByteReader) (n int64, err error) {
	for range 9 {
		b, err := in.ReadByte()
		if err != nil {
			return 0, errUnknown
		}
		n = n<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			return n, nil
		}
		n++
	}
	return 0, errUnknown
}

// Index holds what the index of a work tree says, as paths from its top.
type Index struct {
	// Links are the repositories inside: submodules, and those that were added like them.
	Links []string
	// Dirs are the directories with tracked files, and Attributes the tracked files named .gitattributes.
	Dirs, Attributes []string
}

// ReadIndex reads the index of a repository.
func ReadIndex(ctx context.Context, f Files, repo *Repository) (x Index, err error) {
	r := &repository{env: f.Env, gitDir: repo.GitDir, commonDir: repo.CommonDir, budget: maxRead}
	if there, err := f.Exists(ctx, path.Join(repo.GitDir, "index")); err == nil && !there {
		return x, nil // nothing was ever added, and there may be no configuration either
	}
	if err := r.configure(ctx); err != nil {
		return x, err
	}
	entries, err := r.readIndex(ctx)
	if err != nil {
		return x, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		for dir := path.Dir(e.path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			x.Dirs = append(x.Dirs, dir)
		}
		switch {
		case e.mode&kindMask == kindRepo && (len(x.Links) == 0 || x.Links[len(x.Links)-1] != e.path):
			x.Links = append(x.Links, e.path)
		case e.mode&kindMask == kindFile && path.Base(e.path) == ".gitattributes":
			x.Attributes = append(x.Attributes, e.path)
		}
	}
	return x, nil
}
