package git

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/internal/userfiles"
)

// Roots returns the directories on this machine that Look must be able to read to describe the
// repository of dir: the top of its work tree and, for a linked work tree or a submodule, the
// directory with the rest.
//
// Roots ignores a .git that belongs neither to the owner of dir nor to this user, because whoever
// can write to a directory above must not be able to provide documents. It returns the directory
// that a .git file names only if that names the work tree in turn, because anybody can make a .git
// file.
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

// Tops returns the tops of the work trees around a directory on this machine, the innermost first,
// whoever owns them: safe.directory and sudo make git use those of others. Git uses the innermost
// one, but the others may start what is in it.
func Tops(dir string) (tops []string) {
	for at := dir; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, ".git")) {
			tops = append(tops, at)
		}
		if at == filepath.Dir(at) {
			return tops
		}
	}
}

// WorkTrees returns the directories on this machine in which programs are those of the repositories
// that dir is in: their work trees, as Tops has them, the other work trees of the same
// repositories, such as the main one of a linked one, and those around these. There are no links in
// them. One that the home directory or the system's programs are in has others' programs as well,
// and does not count.
func WorkTrees(dir, home string) (tops []string) {
	home = userfiles.RealPath(home)
	known, listed := map[string]bool{}, map[string]bool{}
	for next := []string{dir}; len(next) > 0; next = next[1:] {
		for _, top := range Tops(userfiles.RealPath(next[0])) {
			if known[top] || isIn(top, home) || isIn(top, "/usr/bin") {
				continue
			}
			known[top], tops = true, append(tops, top)
			if common := commonDir(top); !listed[common] { // many work trees may have the same
				listed[common] = true
				next = append(next, treesOf(common)...)
			}
		}
	}
	return tops
}

// isIn reports whether a file is in a directory, or is it.
func isIn(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// commonDir returns the directory that all work trees of a work tree's repository share.
func commonDir(top string) string {
	common := filepath.Join(top, ".git")
	if target, is := strings.CutPrefix(small(common), "gitdir:"); is {
		common = from(top, strings.TrimSpace(target))
		if shared := strings.TrimSpace(small(filepath.Join(common, "commondir"))); shared != "" {
			common = from(common, shared)
		}
	}
	return userfiles.RealPath(common)
}

// treesOf returns the main work tree of a repository, and the linked ones. They may not exist.
func treesOf(common string) (tops []string) {
	tops = append(tops, filepath.Dir(common)) // also of one without a work tree, beside which others are
	linked, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil { // there are none
		return tops
	}
	for _, entry := range linked {
		admin := filepath.Join(common, "worktrees", entry.Name())
		if dotGit := strings.TrimSpace(small(filepath.Join(admin, "gitdir"))); dotGit != "" {
			tops = append(tops, filepath.Dir(from(admin, dotGit)))
		}
	}
	return tops
}

// elsewhere returns the directory that a work tree's .git file names, if it names the work tree in
// turn.
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
		if filepath.Base(worktrees) == "worktrees" && exists(filepath.Join(common, "HEAD")) &&
			exists(filepath.Join(common, "objects")) &&
			userfiles.SameFile(from(gitDir, strings.TrimSpace(back)), dotGit) {
			return []string{common}
		}
		return nil
	}
	settings, err := ParseConfig(small(filepath.Join(gitDir, "config")))
	if err != nil {
		return nil
	}
	for _, s := range settings { // a submodule
		if s.Name == "core.worktree" && userfiles.SameFile(from(gitDir, s.Value), top) {
			return []string{gitDir}
		}
	}
	return nil
}

// small returns the beginning of a regular file, or "" if it cannot be read.
func small(name string) string {
	data, err := userfiles.Read(name, maxFile)
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
