package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// allBut returns files and directories that together are all but the covered ones, whose paths have no links: Landlock can only add. What
// is made later beside a covered file is not among them, nor is another name of a covered file, or another mount of a directory that leads to
// one, where it stands beside: a rule would count for both. It also returns the directories of which not all is among them.
func allBut(covered []string) ([]string, []dirState) {
	o := &others{covered: map[string]bool{}, above: map[string]bool{}, same: map[identity]bool{}}
	for _, name := range covered {
		o.covered[name] = true
		if id, stat := identityOf(name); stat != nil && stat.Nlink > 1 && stat.Mode&unix.S_IFMT == unix.S_IFREG {
			o.same[id], o.files = true, true
		}
		for dir := filepath.Dir(name); !o.above[dir]; dir = filepath.Dir(dir) {
			o.above[dir] = true
			if id, stat := identityOf(dir); stat != nil {
				o.same[id] = true
			}
		}
	}
	o.add("/")
	return o.parts, o.dirs
}

// others collects what stands beside covered files.
type others struct {
	covered, above map[string]bool // the covered files, and the directories that lead to them
	same           map[identity]bool
	files          bool // same has files, too
	parts          []string
	dirs           []dirState
}

// dirState tells whether entries of a directory were made, removed or replaced.
type dirState struct {
	name    string
	id      identity
	changed unix.Timespec
	fresh   bool // it had changed so recently that its time may stay the same when it changes again
}

// stateOf returns the state of a directory.
func stateOf(name string) dirState {
	id, stat := identityOf(name)
	if stat == nil {
		return dirState{name: name, fresh: true}
	}
	const resolution = 20 * time.Millisecond // of the times of files; the kernel's clock ticks at least every 10 ms
	return dirState{name: name, id: id, changed: stat.Ctim, fresh: time.Since(time.Unix(stat.Ctim.Unix())) < resolution}
}

// holds reports whether the directory is as it was.
func (d *dirState) holds() bool {
	id, stat := identityOf(d.name)
	return !d.fresh && stat != nil && id == d.id && stat.Ctim == d.changed
}

type identity struct{ device, inode uint64 }

func identityOf(name string) (identity, *unix.Stat_t) {
	var stat unix.Stat_t
	if unix.Lstat(name, &stat) != nil {
		return identity{}, nil
	}
	return identity{stat.Dev, stat.Ino}, &stat
}

// add adds what is in a directory that leads to covered files.
func (o *others) add(dir string) {
	o.dirs = append(o.dirs, stateOf(dir)) // first: it may change meanwhile
	list, err := os.ReadDir(dir)
	if err != nil {
		return // then commands cannot list it either
	}
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0 || o.covered[name]: // what a link leads to has a rule of its own, or none
		case o.above[name]:
			o.add(name)
		case o.isCovered(name, e):
		default:
			o.parts = append(o.parts, name)
		}
	}
}

// isCovered reports whether an entry is another name of something covered, or another mount of what leads to it.
func (o *others) isCovered(name string, e fs.DirEntry) bool {
	if !e.IsDir() && !o.files {
		return false
	}
	id, stat := identityOf(name)
	return stat != nil && o.same[id]
}

// links resolves symbolic links, each directory once.
type links map[string]string

// path returns a path without symbolic links, as far as it exists.
func (l links) path(name string) string {
	if real, known := l[name]; known {
		return real
	}
	real := "/"
	if dir := filepath.Dir(name); dir != name {
		real = filepath.Join(l.path(dir), filepath.Base(name))
		if _, stat := identityOf(real); stat != nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			real, _ = resolved(real)
		}
	}
	l[name] = real
	return real
}

// maxLinks is how many entries of a covered directory are looked at for links.
const maxLinks = 1000

// leadingOut returns where the symbolic links in a directory and below it lead, among the first entries.
func leadingOut(dir string, left int) (targets []string) {
	for dirs := []string{dir}; len(dirs) > 0; dirs = dirs[1:] {
		list, err := os.ReadDir(dirs[0])
		if err != nil {
			continue // it is a file, or it does not exist
		}
		for _, e := range list {
			if left--; left < 0 {
				return targets
			}
			name := filepath.Join(dirs[0], e.Name())
			switch {
			case e.IsDir():
				dirs = append(dirs, name)
			case e.Type()&fs.ModeSymlink != 0:
				if target, exists := resolved(name); exists && !below(target, dir) {
					targets = append(targets, target)
				}
			}
		}
	}
	return targets
}
