package lookpath

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Find returns the absolute path of a program in the directories of a PATH that [Outside] leaves.
// The error wraps [exec.ErrNotFound].
func Find(name, path string, roots ...string) (string, error) {
	for _, dir := range filepath.SplitList(Outside(path, roots...)) {
		program, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(program); err == nil && !within(real, roots) {
			return program, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// System returns the absolute path of a program of the system: the one in /bin or /usr/bin or, on
// systems that have it elsewhere, what Find finds.
func System(name, path string, roots ...string) (string, error) {
	for _, dir := range []string{"/bin", "/usr/bin"} {
		if program, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return program, nil
		}
	}
	return Find(name, path, roots...)
}

// Outside returns a PATH without the directories that are relative, or in one of the roots.
func Outside(path string, roots ...string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		return !filepath.IsAbs(dir) || within(dir, roots)
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// within reports whether a file is in one of some directories, or is one. Links are followed. A
// directory that has the system's own programs does not count.
func within(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		root = real(root)
		return isIn(root, real(name)) && !isIn(root, "/usr/bin")
	})
}

func isIn(root, name string) bool {
	rel, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(rel)
}

// real returns a path without links, as far as it exists.
func real(name string) string {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		return resolved
	}
	return filepath.Clean(name)
}
