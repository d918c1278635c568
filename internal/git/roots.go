package git

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Roots returns the directories on this machine that must be readable for Look to describe the repository which dir belongs to: the top
// of its work tree and, for a linked work tree or a submodule, where the rest of it is.
//
// A .git that does not belong to the owner of dir, nor to this user, is no repository: who can write to a directory above must not be able to give
// us documents. Another repository is named only if it says that it has this work tree, since a .git file can be made by anybody.
func Roots(dir string) []string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	here, err := os.Stat(abs)
	if err != nil {
		return nil
	}
	for at := abs; ; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		if info, err := os.Stat(dotGit); err == nil && (at == abs || trusted(info, here)) {
			if info.IsDir() && exists(filepath.Join(dotGit, "HEAD")) {
				return []string{at}
			}
			if info.Mode().IsRegular() {
				return append([]string{at}, elsewhere(at)...)
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// elsewhere returns the directory that a work tree's .git file names, if it names the work tree in turn.
func elsewhere(top string) []string {
	dotGit := filepath.Join(top, ".git")
	target, ok := strings.CutPrefix(small(dotGit), "gitdir:")
	if !ok {
		return nil
	}
	gitDir := from(top, strings.TrimSpace(target))
	if back := small(filepath.Join(gitDir, "gitdir")); back != "" { // a linked work tree: <common>/worktrees/<name>
		worktrees := filepath.Dir(gitDir)
		common := filepath.Dir(worktrees)
		if filepath.Base(worktrees) == "worktrees" && exists(filepath.Join(common, "HEAD")) && exists(filepath.Join(common, "objects")) &&
			same(from(gitDir, strings.TrimSpace(back)), dotGit) {
			return []string{common}
		}
		return nil
	}
	for name, value := range settings(small(filepath.Join(gitDir, "config"))) { // a submodule
		if name == "core.worktree" && same(from(gitDir, value), top) {
			return []string{gitDir}
		}
	}
	return nil
}

// small returns the content of a file that is regular and not large, else nothing.
func small(name string) string {
	info, err := os.Stat(name) // before it is opened, because opening a FIFO blocks
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxSmall))
	if err != nil {
		return ""
	}
	return string(data)
}

func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
