package env

import (
	"context"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The layout of a directory entry in getdents64(2), after 8 bytes each of inode and offset.
const (
	direntLength = 16 // 2 bytes, of the whole entry
	direntType   = 18 // 1 byte
	direntName   = 19 // up to a NUL byte

	typicalDirent = 32 // bytes of a whole entry
)

func (d *localDir) List(ctx context.Context) ([]Entry, error) {
	if err := ended(ctx); err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: d.name, Err: err}
	}
	entries, err := d.list()
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: d.name, Err: err}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// list reads the directory from its beginning.
func (d *localDir) list() ([]Entry, error) {
	d.listing.Lock()
	defer d.listing.Unlock()
	if d.listed {
		if _, err := unix.Seek(d.fd, 0, 0); err != nil {
			return nil, err
		}
	}
	d.listed = true
	var entries []Entry
	var buf [8 << 10]byte
	for {
		n, err := restarted(func() (int, error) { return unix.Getdents(d.fd, buf[:]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return entries, nil
		}
		text := string(buf[:n]) // one allocation for all names
		entries = slices.Grow(entries, n/typicalDirent)
		for rest := buf[:n]; len(rest) > direntName; {
			length := int(binary.NativeEndian.Uint16(rest[direntLength:]))
			if length <= direntName || length > len(rest) {
				return nil, unix.EBADMSG
			}
			at := n - len(rest)
			name, _, _ := strings.Cut(text[at+direntName:at+length], "\x00")
			if entry, ok := d.entry(name, rest[direntType]); ok {
				entries = append(entries, entry)
			}
			rest = rest[length:]
		}
	}
}

// entry skips "." and ".." and files that have vanished. It asks for the type if the file system
// did not report it.
func (d *localDir) entry(name string, kind byte) (e Entry, ok bool) {
	if name == "." || name == ".." {
		return Entry{}, false
	}
	e.Name = name
	if kind != unix.DT_UNKNOWN {
		e.Type = fileMode(uint32(kind) << 12).Type() // the values are those of st_mode, by design
		return e, true
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(d.fd, e.Name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, false
	}
	e.Type = fileMode(stat.Mode).Type()
	return e, true
}

// fileMode converts the system's file mode to Go's.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	default:
		m |= fs.ModeIrregular
	}
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}
