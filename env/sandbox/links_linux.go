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
	dirs   []string             // they cannot be replaced by commands, and have no links in their paths
	before map[[2]string]string // by a directory and a name in it, where a link leads

	mu      sync.Mutex
	indexes map[string]fileVersion // those from before, and those that were looked at
}

// fileVersion tells a file from what others make of it later: a command cannot choose the time of a
// change.
type fileVersion struct {
	inode  uint64
	change unix.Timespec
}

// newLinks remembers the links that are there now.
func newLinks(dirs []string) *links {
	l := &links{dirs: dirs, before: map[[2]string]string{}, indexes: map[string]fileVersion{}}
	for _, dir := range dirs {
		for _, name := range indexes(dir) {
			l.indexes[name] = versionOf(name)
		}
		inGitDir(dir, func(_ *os.Root, name, to string) { l.before[[2]string{dir, name}] = to })
	}
	return l
}

// remove removes the links that were not there before. What cannot be removed, git cannot write
// through either, or the end of the next command removes it.
func (l *links) remove() {
	for _, dir := range l.dirs {
		inGitDir(dir, func(root *os.Root, name, to string) {
			if was, ok := l.before[[2]string{dir, name}]; (!ok || was != to) && root.Remove(name) != nil {
				give(root.Stat, root.Chmod, path.Dir(name), 0o700)
				_ = root.Remove(name)
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
	settings, _ = git.ParseConfig(small(filepath.Join(commonDir(dir), "config"))) // git reads none that cannot be parsed
	return data, settings, err
}

// inGitDir visits the symbolic links in the directory of a repository, those near its top first,
// with their names in it. It leaves out those that git itself makes of refs, and the many
// directories in those named objects, in which git chooses the names and the contents.
func inGitDir(dir string, visit func(root *os.Root, name, to string)) {
	give(os.Stat, os.Chmod, dir, 0o500)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return // it is gone
	}
	defer root.Close() // it was only read
	for dirs := []string{"."}; len(dirs) > 0; dirs = dirs[1:] {
		give(root.Stat, root.Chmod, dirs[0], 0o500)
		list, _ := fs.ReadDir(root.FS(), dirs[0]) // of one that is gone, nothing
		for _, e := range list {
			name := path.Join(dirs[0], e.Name())
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				to, err := root.Readlink(filepath.FromSlash(name))
				if ofRef := strings.HasPrefix(to, "refs/") && !strings.Contains(to, ".."); err == nil && !ofRef {
					visit(root, name, to)
				}
			case e.IsDir() && (path.Base(dirs[0]) != "objects" || e.Name() == "info" || e.Name() == "pack"):
				dirs = append(dirs, name)
			}
		}
	}
}

// give gives this user rights to a directory that a command has taken away. Git needs no right to
// read a directory to find a file by its name, and none to write there to write through a link.
func give(stat func(string) (fs.FileInfo, error), chmod func(string, fs.FileMode) error, dir string,
	rights fs.FileMode) {
	if info, err := stat(dir); err == nil && info.Mode()&rights != rights {
		_ = chmod(dir, info.Mode()|rights) // that of another user stays as it is
	}
}
