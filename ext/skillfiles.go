package ext

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
)

// The limits of the list of a skill's files.
const (
	maxFiles   = 100
	maxEntries = 1000 // that are looked at
	maxDepth   = 6
	maxNotes   = 5
)

// SkillFile is the name of the file with a skill's text, in the skill's directory.
const SkillFile = "SKILL.md"

// ReadSkillFile reads the SKILL.md in a skill's directory, at most a byte more than a skill may
// have. A symbolic link that leads out of the directory is an error, and so is what is no regular
// file.
func ReadSkillFile(dir string) (data []byte, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := regular(root); err != nil {
		return nil, err
	}
	f, err := root.Open(SkillFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// regular returns an error if the SKILL.md in a directory is not a regular file inside it.
func regular(root *os.Root) error {
	info, err := root.Stat(SkillFile)
	if err != nil {
		if _, inside := root.Lstat(SkillFile); inside == nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is a symbolic link that leads out of the skill's directory, so it is not read",
				SkillFile)
		}
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", SkillFile)
	}
	return nil
}

// files returns the names of the skill's other files, relative to its directory, and what a reader
// should know about others.
func (s *Skill) files() (list, notes []string) {
	if s.Dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, []string{"the directory of the skill cannot be read: " + texts.Error(err)}
	}
	defer root.Close() // it was only read
	l := lister{root: root}
	l.dir(".", 1)
	return l.list, l.notes
}

// lister lists the files below a directory.
type lister struct {
	root        *os.Root
	list, notes []string
	looked      int
	full        bool
}

// dir lists a directory.
func (l *lister) dir(name string, depth int) {
	entries, err := l.read(name)
	if err != nil {
		l.note("%s cannot be read: %s", texts.Shown(name), texts.Error(err))
		return
	}
	for _, e := range entries {
		if e.Name() == ".git" || depth == 1 && e.Name() == SkillFile {
			continue
		}
		if l.looked++; l.looked > maxEntries || len(l.list) >= maxFiles {
			if !l.full {
				l.note("the skill has more files than are listed here")
				l.full = true
			}
			return
		}
		l.entry(path.Join(name, e.Name()), depth)
	}
}

// read returns the first entries of a directory, in order.
func (l *lister) read(name string) (entries []fs.DirEntry, err error) {
	f, err := l.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	entries, err = f.ReadDir(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// entry lists a file, or the files of a directory.
func (l *lister) entry(name string, depth int) {
	info, err := l.root.Stat(name)
	switch {
	case err != nil:
		l.note("%s is not listed, because it leads out of the skill's directory or cannot be read", texts.Shown(name))
	case info.Mode().IsRegular():
		l.list = append(l.list, name)
	case info.IsDir() && depth < maxDepth:
		// a link may lead to a directory above it
		if link, err := l.root.Lstat(name); err == nil && link.Mode()&fs.ModeSymlink == 0 {
			l.dir(name, depth+1)
		}
	}
}

// note keeps what a reader should know.
func (l *lister) note(format string, args ...any) {
	if len(l.notes) < maxNotes {
		l.notes = append(l.notes, fmt.Sprintf(format, args...))
	}
}
