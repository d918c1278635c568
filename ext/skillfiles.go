package ext

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
)

// The limits of the list of a skill's files.
const (
	maxFiles   = 100
	maxEntries = 1000 // that are looked at
	maxDepth   = 5
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

// files holds the names of a skill's other files, relative to its directory, and what a reader
// should know about others.
type files struct{ list, notes []string }

// note adds what a reader should know.
func (f *files) note(format string, args ...any) {
	if len(f.notes) < maxNotes {
		f.notes = append(f.notes, fmt.Sprintf(format, args...))
	}
}

// files returns the skill's other files. Links to directories are not followed.
func (s *Skill) files() (f files) {
	if s.Dir == "" {
		return f
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		f.note("the directory of the skill cannot be read: %s", texts.Error(err))
		return f
	}
	defer root.Close() // it was only read
	looked := 0
	visit := func(name string, entry fs.DirEntry, err error) error {
		looked++
		switch {
		case err != nil:
			f.note("%s cannot be read: %s", texts.Shown(name), texts.Error(err))
			return nil
		case name == "." || name == SkillFile:
			return nil
		case entry.IsDir() && (entry.Name() == ".git" || strings.Count(name, "/") == maxDepth):
			return fs.SkipDir
		case len(f.list) == maxFiles || looked > maxEntries:
			f.note("the skill has more files than are listed here")
			return fs.SkipAll
		}
		info, err := root.Stat(name)
		switch {
		case err != nil:
			f.note("%s is not listed, because it leads out of the skill's directory or cannot be read",
				texts.Shown(name))
		case info.Mode().IsRegular():
			f.list = append(f.list, name)
		}
		return nil
	}
	_ = fs.WalkDir(root.FS(), ".", visit) // visit returns no error
	return f
}
