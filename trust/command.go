package trust

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// UnchangedCommand returns an error unless the files of the project that decide what a command does
// are those in the snapshot, as far as [Watched] knows them. The command is a script for a shell,
// or, with arguments, a program. Call it right before the command runs in the root of the project.
// A file that has been added since counts as changed. Directories do not count, nor files to which
// a script only writes by a redirection, tee or touch, unless a symbolic link leads to them.
func (s *Snapshot) UnchangedCommand(command string, args ...string) error {
	left := maxParsed
	w := newWatcher(s.Root, s.Root, &left)
	w.read = func(name string) []byte {
		if f := s.File(name); f != nil {
			return f.Data
		}
		return nil
	}
	w.command(command, args)
	for _, name := range w.named {
		if err := s.unchangedOrAbsent(name); err != nil {
			return err
		}
	}
	return nil
}

// unchangedOrAbsent returns an error if a file is neither the one in the snapshot nor missing from
// both, and no directory.
func (s *Snapshot) unchangedOrAbsent(name string) error {
	if s.File(name) != nil {
		return s.Unchanged(name)
	}
	info, err := os.Stat(filepath.Join(s.Root, filepath.FromSlash(name))) // fails for most words, which name no file
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s: %w: it is new", name, ErrChanged)
	}
	return nil
}

// linked reports whether a file of the project is reached through a symbolic link, so that writing
// to it may change another file.
func linked(root, name string) bool {
	file := filepath.Join(root, filepath.FromSlash(name))
	if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return true
	}
	dir := filepath.Dir(file)
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real != dir
}
