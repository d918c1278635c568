package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
)

// maxWalked limits the directories that are looked at for nested repositories, maxDepth how deep, and maxNested the repositories in
// which commands may commit; further ones are read-only.
const (
	maxWalked = 10_000
	maxDepth  = 5
	maxNested = 16
)

// repository adds what commands need to use the repository of a writable root, and protects what could start programs outside.
func (p *plan) repository(root string) {
	found := git.Roots(root)
	if len(found) == 0 {
		return
	}
	top := found[0]
	if real, err := filepath.EvalSymlinks(top); err != nil || p.hidden(real) {
		return // a repository of the home directory would show all of it
	}
	if top != root {
		p.add(mount{path: top, readOnly: true})
	}
	dotGit := filepath.Join(top, ".git")
	if info, err := os.Lstat(dotGit); err == nil && info.IsDir() {
		p.gitDir(dotGit)
		return
	}
	p.protect(placeholder{path: dotGit})
	if len(found) < 2 { // its directory does not name the work tree in turn
		return
	}
	gitDir := found[1]
	if p.hidden(gitDir) {
		return
	}
	p.gitDir(gitDir)
	if own, ok := linkedDir(dotGit); ok && filepath.Dir(filepath.Dir(own)) == gitDir {
		p.add(mount{path: own})
		for _, name := range []string{"commondir", "gitdir"} {
			p.protect(placeholder{path: filepath.Join(own, name), file: true})
		}
		p.worktreeConfig(gitDir, own)
	}
}

// linkedDir returns the directory that a .git file names.
func linkedDir(dotGit string) (string, bool) {
	data, err := os.ReadFile(dotGit)
	if err != nil {
		return "", false
	}
	target, ok := strings.CutPrefix(string(data), "gitdir:")
	if target = strings.TrimSpace(target); !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(dotGit), target)
	}
	real, err := filepath.EvalSymlinks(target)
	return real, ok && err == nil
}

// gitDir lets commands write in the directory of a repository, except what starts programs: hooks, the configuration, and what leads to
// another one.
func (p *plan) gitDir(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Clean(dir) {
		p.protect(placeholder{path: dir}) // a link is refused when a command starts
		return
	}
	p.add(mount{path: dir})
	for _, name := range []string{"hooks", "info", "modules", "worktrees"} {
		p.protect(placeholder{path: filepath.Join(dir, name)})
	}
	p.protect(placeholder{path: filepath.Join(dir, "config"), file: true})
	p.protect(placeholder{path: filepath.Join(dir, "commondir"), file: true, content: ".\n"})
	p.worktreeConfig(dir, dir)
	if hooks := hooksPath(dir); hooks != "" {
		if info, err := os.Lstat(hooks); err == nil && info.IsDir() {
			p.protect(placeholder{path: hooks})
		}
	}
}

// worktreeConfig protects config.worktree in own, if the repository reads it.
func (p *plan) worktreeConfig(common, own string) {
	name := filepath.Join(own, "config.worktree")
	_, err := os.Lstat(name)
	if err == nil || strings.Contains(strings.ToLower(configOf(common)), "worktreeconfig") {
		p.protect(placeholder{path: name, file: true})
	}
}

// hooksPath returns the directory of hooks that a repository's own configuration names, if it is in the work tree.
func hooksPath(dir string) string {
	for line := range strings.Lines(configOf(dir)) {
		name, value, ok := strings.Cut(line, "=")
		if ok && strings.EqualFold(strings.TrimSpace(name), "hooksPath") {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if !filepath.IsAbs(value) {
				value = filepath.Join(filepath.Dir(dir), value)
			}
			return filepath.Clean(value)
		}
	}
	return ""
}

// configOf returns a repository's configuration, or "".
func configOf(dir string) string {
	info, err := os.Lstat(filepath.Join(dir, "config"))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return ""
	}
	return string(data)
}

// nested protects the repositories below a root that exist now. Directories of packages and those of other mounts in the plan are left out.
func (p *plan) nested(root string) {
	walked, found := 0, 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		if walked++; walked > maxWalked {
			return
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range list {
			name := filepath.Join(dir, e.Name())
			switch {
			case e.Name() == ".git" && dir != root:
				if found++; e.IsDir() && found <= maxNested {
					p.gitDir(name)
				} else if e.Type()&fs.ModeSymlink == 0 {
					p.protect(placeholder{path: name})
				}
			case e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules" && depth < maxDepth:
				walk(name, depth+1)
			}
		}
	}
	walk(root, 0)
}
