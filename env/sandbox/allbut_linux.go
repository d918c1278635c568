package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// allBut returns files and directories that together are all of top but the covered ones, whose
// paths have no links: Landlock can only add. What is made later beside a covered file is not among
// them, nor is another name of a covered file, or another mount of a directory that leads to one,
// where it stands beside: a rule would count for both.
func allBut(top string, covered []string) []string {
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
	if !o.above[top] {
		return []string{top}
	}
	o.add(top)
	return o.parts
}

// others collects what stands beside covered files.
type others struct {
	covered, above map[string]bool // the covered files, and the directories that lead to them
	same           map[identity]bool
	files          bool // same has files, too
	parts          []string
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

// isCovered reports whether an entry is another name of something covered, or another mount of what
// leads to it.
func (o *others) isCovered(name string, e fs.DirEntry) bool {
	if !e.IsDir() && !o.files {
		return false
	}
	id, stat := identityOf(name)
	return stat != nil && o.same[id]
}

// maxLinks is how many entries of a covered directory are looked at for links.
const maxLinks = 1000

// leadingOut returns where the symbolic links in a directory and below it lead, among the first
// entries.
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
