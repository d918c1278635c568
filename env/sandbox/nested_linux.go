package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxWalked limits the directories that are looked at for nested repositories, once outside of
// node_modules and once in them, and maxNested the repositories in which commands may commit;
// further ones are read-only.
const (
	maxWalked = 10_000
	maxNested = 16
)

// A directory is read-only if it has others that are further below a root than maxLevels, or whose
// paths have more than longestDir bytes, which leaves room for the files of a repository: those are
// not looked at. Each directory above a protected one is a mount, so commands that make deep ones
// would otherwise keep the next session from starting.
const (
	maxLevels  = 64
	longestDir = unix.PathMax - 512
)

// walk looks for repositories below a root, those near its top first.
type walk struct {
	plan    *plan
	options *Options
	root    string
	found   int
	dirs    []string // that are still to be looked at
	modules []string // directories of packages, which come last

	inModules bool // it is their turn
}

func newWalk(p *plan, o *Options, root string) *walk {
	return &walk{plan: p, options: o, root: root, dirs: []string{root}}
}

// nested protects the repositories that exist now, as far as git would use them.
func (w *walk) nested() {
	for range 2 {
		for range maxWalked {
			if len(w.dirs) == 0 {
				break
			}
			w.next()
		}
		w.dirs, w.modules, w.inModules = w.modules, nil, true
	}
}

// next looks at one directory.
func (w *walk) next() {
	dir := w.dirs[0]
	w.dirs = w.dirs[1:]
	list, err := os.ReadDir(dir)
	if err != nil || !w.plan.writable(dir) {
		return
	}
	at := slices.IndexFunc(list, func(e fs.DirEntry) bool { return e.Name() == ".git" })
	if at >= 0 && dir != w.root {
		w.repository(dir, list[at])
	}
	if isGitDir(dir) {
		w.bare(dir)
		if at < 0 {
			return
		}
	}
	for _, e := range list {
		switch name := filepath.Join(dir, e.Name()); {
		case !e.IsDir() || e.Name() == ".git":
		case e.Name() == "node_modules" && !w.inModules:
			w.modules = append(w.modules, name)
		case len(name) > longestDir || strings.Count(name[len(w.root):], "/") > maxLevels:
			w.plan.freeze(dir) // and not name, as there may be any number of them
			return
		default:
			w.dirs = append(w.dirs, name)
		}
	}
}

// bare protects a directory that git may take for that of a repository.
func (w *walk) bare(dir string) {
	if w.found++; w.found > maxNested && dir != w.root {
		w.plan.freeze(dir)
		return
	}
	w.plan.gitDir(dir)
	w.plan.configured(w.options, dir, dir)
	w.plan.shield(dir)
}

// repository protects a nested repository, whose work tree is dir.
func (w *walk) repository(dir string, dotGit fs.DirEntry) {
	p, name := w.plan, filepath.Join(dir, ".git")
	if there, err := (placeholder{path: name}).present(); err == nil && !there {
		return // it is a placeholder of another session
	}
	w.found++
	switch {
	case dotGit.Type()&fs.ModeSymlink != 0: // which nothing can cover
		p.freeze(dir)
		p.target(w.options, name, dir)
	case !dotGit.IsDir():
		if real, err := filepath.EvalSymlinks(linkedDir(name)); err == nil && w.found > maxNested && p.writable(real) {
			p.freeze(real)
		}
		p.pointed(w.options, name)
	case w.found > maxNested:
		p.protect(placeholder{path: name})
		p.frozen = append(p.frozen, name)
	default:
		p.gitDir(name)
		p.configured(w.options, name, dir)
		p.shield(dir)
	}
}

// freeze makes a directory read-only, unless it has been protected already.
func (p *plan) freeze(dir string) {
	if slices.ContainsFunc(p.mounts, func(m mount) bool { return m.path == dir }) {
		return
	}
	p.add(mount{path: dir, readOnly: true})
	p.frozen = append(p.frozen, dir)
}

// pointed protects a .git file, and the repository that it names if commands can write there.
func (p *plan) pointed(o *Options, dotGit string) {
	p.protect(placeholder{path: dotGit})
	if dir := linkedDir(dotGit); dir != "" {
		p.target(o, dir, filepath.Dir(dotGit))
	}
}

// target protects the directory of a repository that lies elsewhere below a root, or the place
// where it would lie. top is the work tree.
func (p *plan) target(o *Options, dir, top string) {
	own, err := filepath.EvalSymlinks(dir)
	if err != nil {
		if to, err := os.Readlink(dir); err == nil {
			dir = absolute(to, filepath.Dir(dir))
		}
		p.protectBelow(dir, false)
		return
	}
	common := commonDir(own)
	if !p.writable(common) { // what it names may be
		p.configured(o, own, top)
		return
	}
	tree := filepath.Dir(own) == filepath.Join(common, "worktrees") && namesBack(own, filepath.Join(top, ".git"))
	switch {
	case own == common || tree:
		p.gitDir(common)
		p.configured(o, common, top)
		p.linked(common, own)
		p.submodules(own, top)
	case p.writable(own):
		p.protect(placeholder{path: own})
	}
}

// namesBack reports whether the directory of a linked work tree names its .git file.
func namesBack(own, dotGit string) bool {
	back := small(filepath.Join(own, "gitdir"))
	if back == "" {
		return false
	}
	a, err1 := os.Stat(absolute(strings.TrimSpace(back), own))
	b, err2 := os.Stat(dotGit)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// writable reports whether the plan lets commands write in a directory of a root.
func (p *plan) writable(dir string) bool {
	in := p.innermost(dir)
	return in != nil && !in.readOnly && in.source == "" && !p.covered(dir, in)
}

// covered reports whether a directory is a protected one, or lies in one, with its innermost mount
// around that.
func (p *plan) covered(dir string, in *mount) bool {
	return slices.ContainsFunc(p.files, func(f placeholder) bool {
		return below(dir, f.path) && (in.path == f.path || !below(in.path, f.path))
	})
}

// shield keeps a directory and all above it that commands can write in from becoming another
// repository. Commands can break the one that is there, since git writes HEAD by renaming, and
// outside git would look on: for a bare repository in the directory itself, and above it.
func (p *plan) shield(dir string) {
	for ; p.writable(dir); dir = filepath.Dir(dir) {
		dotGit := placeholder{path: filepath.Join(dir, ".git")}
		if there, err := dotGit.present(); !there && err == nil {
			p.protect(dotGit)
		}
		if !isGitDir(dir) {
			p.notBare(dir)
		}
	}
}

// notBare keeps a directory from becoming a bare repository. Git takes it for one if it has HEAD,
// objects and refs, the latter two perhaps where the file commondir says. HEAD is the last choice:
// with it there, git refuses "git diff HEAD" as ambiguous.
func (p *plan) notBare(dir string) {
	for _, name := range []string{"refs", "objects", "HEAD"} {
		f := placeholder{path: filepath.Join(dir, name)}
		if there, err := f.present(); !there && err == nil || name == "HEAD" {
			p.protect(f)
			break
		}
	}
	p.protect(placeholder{path: filepath.Join(dir, "commondir")})
}

// isGitDir reports whether git may take a directory for that of a repository.
func isGitDir(dir string) bool {
	has := func(name string) bool {
		there, err := placeholder{path: filepath.Join(dir, name)}.present()
		return there || err != nil
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}
