package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// repositories adds what commands need to use the repository of a writable root, and protects what
// could start programs outside, also from the repositories around that one.
func (p *plan) repositories(o *Options, root string) {
	p.repository(o, root)
	for _, top := range git.Tops(root) {
		if slices.ContainsFunc(p.git, func(s started) bool { return s.top == top }) {
			continue
		}
		dotGit := filepath.Join(top, ".git")
		if to := linkedDir(dotGit); to != "" {
			dotGit = to
		}
		if dir, err := filepath.EvalSymlinks(dotGit); err == nil {
			p.configured(o, dir, top)
		}
	}
}

// repository is repositories for the one that git uses in the root.
func (p *plan) repository(o *Options, root string) {
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
		p.configured(o, dotGit, top)
		return
	}
	if len(found) < 2 { // its directory does not name the work tree in turn
		p.pointed(o, dotGit)
		return
	}
	p.protect(placeholder{path: dotGit})
	gitDir := found[1]
	if p.hidden(gitDir) {
		return
	}
	p.gitDir(gitDir)
	p.configured(o, gitDir, top)
	if own, err := filepath.EvalSymlinks(linkedDir(dotGit)); err == nil {
		p.linked(gitDir, own)
		p.submodules(own, top)
	}
}

// linked lets commands write in the directory own of a linked work tree of a repository, except
// what leads to another one, and the repositories of its submodules.
func (p *plan) linked(gitDir, own string) {
	if filepath.Dir(own) != filepath.Join(gitDir, "worktrees") {
		return
	}
	p.add(mount{path: own})
	p.gitDirs = append(p.gitDirs, own)
	for _, name := range []string{"commondir", "gitdir"} {
		p.protect(placeholder{path: filepath.Join(own, name), file: true})
	}
	p.protect(placeholder{path: filepath.Join(own, "modules")})
	p.worktreeConfig(gitDir, own)
}

// linkedDir returns the directory that a .git file names, or "".
func linkedDir(dotGit string) string {
	target, ok := strings.CutPrefix(small(dotGit), "gitdir:")
	if target = strings.TrimSpace(target); !ok || target == "" {
		return ""
	}
	return absolute(target, filepath.Dir(dotGit))
}

// commonDir returns the directory with what all work trees have of a repository, of whose work tree
// own is the directory. Neither has links in it.
func commonDir(own string) string {
	if to := small(filepath.Join(own, "commondir")); to != "" {
		if common, err := filepath.EvalSymlinks(absolute(strings.TrimSpace(to), own)); err == nil {
			return common
		}
	}
	return own
}

// maxSmall limits the bytes that are read of a repository's file: it can be a command's, and large.
const maxSmall = 1 << 20

// small returns the beginning of a regular file, or "".
func small(name string) string {
	data, err := userfiles.Read(name, maxSmall)
	if err != nil {
		return ""
	}
	return string(data)
}

// gitDir lets commands write in the directory of a repository, except what starts programs: hooks,
// the configuration, also that of remotes in its old forms, and what leads to another one.
func (p *plan) gitDir(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Clean(dir) {
		p.protect(placeholder{path: dir}) // a link is refused when a command starts
		return
	}
	p.add(mount{path: dir})
	p.gitDirs = append(p.gitDirs, dir)
	for _, name := range []string{"hooks", "info", "modules", "worktrees", "remotes", "branches"} {
		p.protect(placeholder{path: filepath.Join(dir, name)})
	}
	p.protect(placeholder{path: filepath.Join(dir, "config"), file: true})
	p.protect(placeholder{path: filepath.Join(dir, "commondir"), file: true, content: ".\n"})
	p.worktreeConfig(dir, dir)
	p.hooks(filepath.Join(dir, "hooks"))
}

// hooks protects what links in a directory of hooks lead to.
func (p *plan) hooks(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return // git finds none either
	}
	for _, e := range list {
		hook := filepath.Join(dir, e.Name())
		to, err := os.Readlink(hook)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(hook); err == nil {
			p.protectBelow(real, true)
		}
		p.protectBelow(absolute(to, dir), true)
	}
}

// started holds what git starts in a work tree.
type started struct {
	top      string
	commands []string // for the shell
}

// configured protects what a repository's configuration names in places where commands can write:
// directories of hooks, and files that it includes. It notes the commands that git starts. top is
// the work tree.
func (p *plan) configured(o *Options, dir, top string) {
	p.submodules(dir, top)
	hooks := filepath.Join(commonDir(dir), "hooks")
	commands := hookCommands(hooks)
	p.hooks(hooks)
	defer func() { p.git = append(p.git, started{top, commands}) }()
	program, err := o.find("git")
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--git-dir="+dir, "config", "--includes", "--show-origin", "--null",
		"--list")
	cmd.Dir, cmd.Env, cmd.WaitDelay = top, o.ofGit(), time.Second
	out, err := cmd.Output()
	if err != nil {
		return // git cannot read it outside either
	}
	for fields := strings.Split(string(out), "\x00"); len(fields) >= 2; fields = fields[2:] {
		origin, _ := strings.CutPrefix(fields[0], "file:")
		name, value, _ := strings.Cut(fields[1], "\n")
		setting := git.Setting{Name: name, Value: value}
		path := setting.Path(getenv(o.Environ, "HOME"))
		switch {
		case value == "", strings.HasPrefix(path, "~"):
		case name == "core.hookspath":
			dir := absolute(path, top)
			p.protectBelow(dir, false)
			p.hooks(dir)
			commands = append(commands, hookCommands(dir)...)
		case name == "init.templatedir":
			p.protectBelow(absolute(path, top), false)
		case name == "include.path", strings.HasPrefix(name, "includeif.") && strings.HasSuffix(name, ".path"):
			p.protectBelow(absolute(path, filepath.Dir(absolute(origin, top))), true)
		case setting.MayStart():
			commands = append(commands, setting.Command())
		}
	}
}

// hookCommands returns commands for the shell that run the hooks of a directory. Those in one that
// husky has made, named _, have a shell read the hooks around it.
func hookCommands(dir string) (commands []string) {
	hooks, _ := git.Hooks(dir)
	if filepath.Base(dir) == "_" {
		around, _ := git.Hooks(filepath.Dir(dir))
		hooks = append(hooks, around...)
	}
	for _, hook := range hooks {
		commands = append(commands, shquote.Words(hook))
	}
	return commands
}

// maxSubmodules limits the submodules of a repository that are protected.
const maxSubmodules = 50

// submodules protects the places of repositories that the index of a work tree has and that are not
// there yet, as in a clone without its submodules: git status in the work tree would run git in
// what a command puts there. dir has the index, and top is the work tree.
func (p *plan) submodules(dir, top string) {
	left := maxSubmodules
	for _, name := range indexes(dir) {
		data, settings, err := readIndex(dir, name)
		if err != nil {
			continue
		}
		for _, link := range git.IndexLinks(data, settings) {
			at := filepath.Join(top, link)
			list, err := os.ReadDir(at)
			missing := errors.Is(err, fs.ErrNotExist)
			if left == 0 || !filepath.IsLocal(link) || !missing && (err != nil || len(list) > 0) {
				continue
			}
			if left--; missing {
				p.protectBelow(at, false)
			} else if p.writable(at) { // a placeholder named .git would have git fail
				p.freeze(at)
			}
		}
	}
}

// maxStarted limits the commands of a repository that are looked through, and maxScripts the files
// that are protected because of them.
const (
	maxStarted = 200
	maxScripts = 200
)

// scripts protects the scripts in the roots that git starts.
func (p *plan) scripts(o *Options) {
	if o.Runs == nil || p.readOnly {
		return
	}
	left := maxScripts
	for _, s := range p.git {
		for _, root := range p.around(s.top) {
			for _, name := range o.Runs(root, s.top, s.commands[:min(len(s.commands), maxStarted)]) {
				real, err := filepath.EvalSymlinks(name)
				if err != nil || left == 0 || !p.writable(filepath.Dir(real)) || !isScript(real) {
					continue
				}
				p.protect(placeholder{path: real, file: true})
				left--
			}
		}
	}
}

// around returns the directories in which git may start scripts from a work tree: the tree itself
// or what is around it, and the other roots.
func (p *plan) around(top string) (dirs []string) {
	for _, r := range p.roots {
		if !r.readOnly && (r.path == top || !below(r.path, top)) {
			dirs = append(dirs, r.path)
		}
	}
	if !slices.ContainsFunc(dirs, func(dir string) bool { return below(top, dir) }) {
		dirs = append(dirs, top)
	}
	return dirs
}

// isScript reports whether a file is one that is started, and not one that a command only names,
// such as a module's list of dependencies: it is executable, begins with #!, or has the name of a
// program for an interpreter.
func isScript(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	switch filepath.Ext(name) {
	case ".sh", ".bash", ".zsh", ".fish", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua":
		return true
	}
	return info.Mode()&0o111 != 0 || strings.HasPrefix(small(name), "#!")
}

// absolute returns a clean path that may be relative to a directory.
func absolute(name, dir string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// protectBelow protects a file where commands can write, or the first directory on the way to it
// that is not there. A symbolic link on the way is refused when a command starts.
func (p *plan) protectBelow(name string, file bool) {
	in := p.innermost(name)
	if in == nil || in.readOnly || in.source != "" {
		return
	}
	at := in.path
	for elem := range strings.SplitSeq(strings.TrimPrefix(name[len(at):], "/"), "/") {
		at = filepath.Join(at, elem)
		info, err := os.Lstat(at)
		if at == name || err != nil || info.Mode()&fs.ModeSymlink != 0 {
			p.protect(placeholder{path: at, file: file && at == name})
			return
		}
	}
}

// worktreeConfig protects config.worktree in own, if git may read it. A configuration of which only
// the beginning is known may say so further on.
func (p *plan) worktreeConfig(common, own string) {
	name := filepath.Join(own, "config.worktree")
	config := small(filepath.Join(common, "config"))
	_, err := os.Lstat(name)
	if err == nil || len(config) == maxSmall || strings.Contains(strings.ToLower(config), "worktreeconfig") {
		p.protect(placeholder{path: name, file: true})
	}
}
