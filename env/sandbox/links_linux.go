package sandbox

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// links removes the symbolic links that commands leave in the directories of repositories. Git
// writes through some of them, such as COMMIT_EDITMSG, index and those of logs, with what commands
// may choose: so a link to config, or to a file outside of the roots, would have the user's next
// git command write there. Links that were there before stay. An index that names such files is
// removed as well: git writes them when the user has it put back what is missing.
type links struct {
	dirs      []string             // they cannot be replaced by commands, and have no links in their paths
	protected map[string]bool      // what is in them and cannot be changed by commands
	before    map[[2]string]string // by a directory and a name in it, where a link leads

	mu      sync.Mutex
	indexes map[string]fileVersion // those from before, and those that were looked at
}

// fileVersion tells a file from what others make of it later: a command cannot choose the time of a
// change.
type fileVersion struct {
	inode  uint64
	change unix.Timespec
}

// newLinks remembers the links that are there now, except those at and below protected places.
func newLinks(dirs []string, protected []placeholder) *links {
	l := &links{dirs: dirs, protected: map[string]bool{}, before: map[[2]string]string{},
		indexes: map[string]fileVersion{}}
	for _, p := range protected {
		l.protected[p.path] = true
	}
	for _, dir := range dirs {
		for _, name := range indexes(dir) {
			l.indexes[name] = versionOf(name)
		}
		l.inGitDir(dir, func(_ *os.Root, name, to string) { l.before[[2]string{dir, name}] = to })
	}
	return l
}

// remove removes the links that were not there before. What cannot be removed, git cannot write
// through either, or the end of the next command removes it.
func (l *links) remove() {
	for _, dir := range l.dirs {
		l.inGitDir(dir, func(in *os.Root, name, to string) {
			if was, ok := l.before[[2]string{dir, name}]; (!ok || was != to) && in.Remove(path.Base(name)) != nil {
				give(in.Stat, in.Chmod, ".", 0o700)
				_ = in.Remove(path.Base(name)) // the end of the next command tries again
			}
		})
		l.removeIndexes(dir)
	}
}

// removeIndexes removes the index of a repository, or the parts of a split one, if it was not there
// before and names files in .git or outside of the work tree, or is too large to tell.
func (l *links) removeIndexes(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range indexes(dir) {
		now := versionOf(name)
		if now == l.indexes[name] {
			continue
		}
		data, settings, err := readIndex(dir, name)
		if err == nil && git.NamesOutside(data, settings) {
			_ = os.Remove(name) // of this user, as all that the command could write
			continue
		}
		l.indexes[name] = now
	}
}

// versionOf returns the version of a file. One that cannot be looked at has none.
func versionOf(name string) (v fileVersion) {
	var st unix.Stat_t
	if unix.Lstat(name, &st) == nil {
		v = fileVersion{st.Ino, st.Ctim}
	}
	return v
}

// indexes returns the names of the index of a repository, or of the parts of a split one.
func indexes(dir string) (names []string) {
	list, _ := os.ReadDir(dir) // of one that is gone, nothing
	for _, e := range list {
		if e.Name() == "index" || strings.HasPrefix(e.Name(), "sharedindex.") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

// maxIndex is the most bytes of an index that are read: several times those of the largest
// repositories that are known.
const maxIndex = 256 << 20

// readIndex reads a file of indexes, and the settings of its repository.
func readIndex(dir, name string) (data []byte, settings []git.Setting, err error) {
	data, err = userfiles.Read(name, maxIndex)
	// git reads none that cannot be parsed
	settings, _ = git.ParseConfig(small(filepath.Join(commonDir(dir), "config")))
	return data, settings, err
}

// inGitDir visits the symbolic links in the directory of a repository, with their names in it,
// below the directories that have them. It leaves out what is protected, where commands can write
// nothing, the links that git itself makes of refs, and the many directories of objects, in which
// git chooses the names and the contents.
func (l *links) inGitDir(dir string, visit func(in *os.Root, name, to string)) {
	give(os.Stat, os.Chmod, dir, 0o500)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return // it is gone
	}
	defer root.Close() // it was only read
	l.below(root, dir, "", visit)
}

// maxPath is the most bytes of a path with which Linux opens a file: git finds none that is deeper.
const maxPath = 4096

// below visits the links in and below the directory at of the directory of a repository.
func (l *links) below(in *os.Root, dir, at string, visit func(in *os.Root, name, to string)) {
	list, _ := fs.ReadDir(in.FS(), ".") // of one that is gone, nothing
	for _, e := range list {
		name := path.Join(at, e.Name())
		switch {
		case l.protected[filepath.Join(dir, name)]:
		case e.Type()&fs.ModeSymlink != 0:
			to, err := in.Readlink(e.Name())
			if ofRef := strings.HasPrefix(to, "refs/") && !strings.Contains(to, ".."); err == nil && !ofRef {
				visit(in, name, to)
			}
		case e.IsDir() && len(name) < maxPath && !ofObjects(at, e.Name()):
			give(in.Stat, in.Chmod, e.Name(), 0o500)
			if next, err := in.OpenRoot(e.Name()); err == nil { // else it is gone
				l.below(next, dir, name, visit)
				_ = next.Close() // it was only read
			}
		}
	}
}

// ofObjects reports whether a directory is one of those whose names begin those of objects, of git
// or of Git LFS. Branches and their logs can have such directories, too.
func ofObjects(in, name string) bool {
	top, _, _ := strings.Cut(in, "/")
	return path.Base(in) == "objects" && name != "info" && name != "pack" && top != "refs" && top != "logs"
}

// give gives this user rights to a directory that a command has taken away. Git needs no right to
// read a directory to find a file by its name, and none to write there to write through a link.
func give(stat func(string) (fs.FileInfo, error), chmod func(string, fs.FileMode) error, dir string,
	rights fs.FileMode) {
	if info, err := stat(dir); err == nil && info.Mode()&rights != rights {
		_ = chmod(dir, info.Mode()|rights) // that of another user stays as it is
	}
}
