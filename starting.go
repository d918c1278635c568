package attractor

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/trust"
)

// starting returns the files in the session's directories that start programs or allow them because
// something outside says so: hooks, git, PATH, and the home directory. A change of one needs an
// approval. The paths have no links, whatever links have led to them. exposed says what may run any
// file there; see [env.Exposed].
func (s *Setup) starting(ctx context.Context, c *config) (names []string, exposed string) {
	roots := realPaths(append(env.ConfinementOf(s.Local).Writable, s.here))
	slices.Sort(roots)
	roots = slices.Compact(roots)
	names = c.linkedHome(roots)
	byGit, exposed := s.namedByGit(ctx, c, roots)
	byHooks, exposedByHooks := s.hooks.guarded(s.here, s.projectHere())
	byVariables, exposedByVariables := namedByVariables(roots, s.here, c)
	exposed = cmp.Or(exposed, exposedByHooks, exposedByVariables, exposedAtHome(roots, userfiles.HomeDir(c.getenv)))
	if exposed == "" {
		exposed = exposedByEntering(roots, &s.nesting)
	}
	found := programs(s.here, c.getenv("PATH"))
	if exposed == "" && slices.ContainsFunc(filepath.SplitList(c.getenv("PATH")), func(dir string) bool {
		return !filepath.IsAbs(dir) || slices.Contains(roots, realPath(dir)) // of which not everything asks by itself
	}) {
		exposed = exposes("PATH", "it has a relative directory, or one of the session")
	}
	for _, name := range slices.Concat(byHooks, byGit, found, byVariables) {
		if real := realPath(name); isBelow(roots, real) && !slices.Contains(roots, real) {
			names = append(names, real)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), exposed
}

// tellExposed warns once that edits ask, if nobody is there to allow them.
func (s *Setup) tellExposed(why string) {
	if s.Gate.Attended() {
		return
	}
	s.toldExposed.Do(func() {
		s.warnings.add("exposed", "edits ask here, and nobody is there to answer, because an edit changes a "+
			"file, and "+why+". The rule Edit(./**) allows them (--allow-tool 'Edit(./**)')")
	})
}

// realPaths returns where names lead.
func realPaths(names []string) (all []string) {
	for _, name := range names {
		all = append(all, realPath(name))
	}
	return all
}

// workTree is a work tree of git, and the outermost one around it.
type workTree struct{ outer, top string }

// workTrees returns those that the roots are in, each once, and then those below. A root in none is
// taken for one, because the user's configuration counts there. What lies below two roots is walked
// once. The roots have no links.
func workTrees(roots []string, nesting *git.Nesting) (list []workTree) {
	known := map[string]bool{}
	add := func(outer string, tops ...string) {
		for _, top := range tops {
			if !known[top] {
				known[top], list = true, append(list, workTree{outer, top})
			}
		}
	}
	outer := map[string]string{}
	for _, root := range roots {
		tops := git.Tops(root)
		if len(tops) == 0 {
			tops = []string{root}
		}
		outer[root] = tops[len(tops)-1]
		add(outer[root], tops...)
	}
	for _, root := range roots {
		if root == "/" || !isBelow(roots, root) {
			add(outer[root], nesting.Below(root)...)
		}
	}
	return list
}

// maxGitCommands limits the programs of git's configuration that are looked through, of one
// repository: some hundred milliseconds, for which the first change of a session waits. If there
// are more, it is not known what they run.
const maxGitCommands = 200

// namedByGit returns the files from which git takes what it runs in the session's directories, by
// the configuration of their repositories, also nested ones, and of the user: a change of one needs
// an approval as one in .git does. exposed says what of it may run any file.
func (s *Setup) namedByGit(ctx context.Context, c *config, roots []string) (names []string, exposed string) {
	machine, err := env.NewLocal(filepath.VolumeName(roots[0])+string(filepath.Separator),
		env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		return nil, "" // not even commands can run here
	}
	defer machine.Close() // it was only read
	trees := workTrees(roots, &s.nesting)
	if len(trees) > git.MaxFound {
		exposed = fmt.Sprintf("a hook of git may run it: there are more than %d repositories", git.MaxFound)
	}
	for _, tree := range trees {
		named := git.Files{Env: machine}.Named(ctx, filepath.ToSlash(tree.top), c.getenv)
		files, byHooks := tree.hooks(named.Hooks, roots)
		byCommands, blind := tree.commands(named, roots, c.getenv("PATH"))
		for _, name := range slices.Concat(named.Files, files, byCommands) {
			if realPath(name) != tree.top {
				names = append(names, name)
			}
		}
		if exposed = cmp.Or(exposed, byHooks, blind); exposed == "" && named.Unclear != "" {
			exposed = exposes("a program of git's configuration", named.Unclear)
		}
	}
	return names, exposed
}

// hooks returns the directories of hooks, which may be links, what links in them lead to, and which
// of the hooks may run any file.
func (t workTree) hooks(dirs, roots []string) (files []string, exposed string) {
	for _, dir := range dirs {
		hooks, linked := git.Hooks(dir)
		files = append(append(files, dir), linked...)
		if real := realPath(dir); real == t.top || slices.Contains(roots, real) { // of which not everything asks
			files = append(files, git.HooksIn(real)...)
		}
		for _, hook := range hooks {
			if exposed != "" {
				break
			}
			if info, err := os.Stat(hook); err == nil && info.Mode()&0o111 == 0 && runtime.GOOS != "windows" {
				continue // git does not start it
			}
			if text, err := userfiles.Read(hook, git.MaxHook+1); err != nil || !git.OnlyLFS(text) {
				exposed = exposes("the hook of git "+hook, "")
			}
		}
	}
	return files, exposed
}

// commands returns the files below the outermost work tree, and in the roots, that programs of the
// configuration run in a work tree, and what may run any file. Aliases do not count for that,
// because their user calls them.
func (t workTree) commands(named git.Named, roots []string, path string) (files []string, exposed string) {
	const by = "a program of git's configuration may run it: "
	commands := named.Commands
	if len(commands) > maxGitCommands {
		commands, exposed = commands[:maxGitCommands], by+fmt.Sprintf("there are more than %d", maxGitCommands)
	}
	for _, command := range commands {
		named, why := runBy(t.outer, t.top, command)
		if why == "" {
			why = foundInside(command, path, roots)
		}
		if files = append(files, named...); why != "" {
			exposed = by + why
		}
	}
	all := slices.Concat(commands, named.Aliases[:min(len(named.Aliases), maxGitCommands)])
	files = append(files, trust.RunBy(t.outer, t.top, all[len(commands):])...)
	for _, root := range roots {
		if root != t.outer && !isBelow([]string{t.outer}, root) {
			files = append(files, trust.RunBy(root, t.top, all)...)
		}
	}
	return files, exposed
}

// runBy returns the files below a root that a command of the user's runs in a directory, and what
// of it may run any file: what is not literal, an interpreter, a task runner, or a file there.
func runBy(root, dir, command string) (files []string, exposed string) {
	watched := trust.Watched(root, dir, command)
	if len(watched.Blind) > 0 {
		exposed = watched.Blind[0]
	} else if at := slices.IndexFunc(watched.Runs, isRegular); at >= 0 {
		exposed = texts.Shown(watched.Runs[at]) + " may start others"
	}
	return append(watched.Runs, watched.Names...), exposed
}

// foundInside returns which program of a command PATH finds in the session's directories, or "". An
// environment of Python there loads code that its packages name, which may be anywhere in them.
func foundInside(command, path string, roots []string) string {
	for _, c := range shell.Parse(command, shell.Place{}).Commands {
		program, err := lookpath.Find(c.Words[0], path)
		if dir := realPath(filepath.Dir(program)); err == nil && (slices.Contains(roots, dir) || isBelow(roots, dir)) {
			return "PATH finds " + texts.Shown(c.Words[0]) + " in the session's directories"
		}
	}
	return ""
}

// configsOfMise returns the files from which mise, and asdf, take what they run in a directory.
func configsOfMise(dir string) (files []string) {
	for _, name := range []string{".tool-versions", "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml",
		"mise/config*.toml", ".mise/config*.toml", ".config/mise*.toml", ".config/mise/config*.toml",
		".config/mise/conf.d/*.toml", ".mise/conf.d/*.toml", "mise/conf.d/*.toml", ".config/mise/mise*.toml",
		".rtx*.toml"} {
		found, _ := fs.Glob(os.DirFS(dir), name) // the patterns are right
		for _, name := range found {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// programs returns the directories of PATH, and the links in them: what lies in the session's
// directories may be a program that the user starts next.
func programs(here, path string) (names []string) {
	for _, dir := range filepath.SplitList(path) {
		dir = pathFrom(here, dir)
		names = append(names, dir)
		for _, e := range listed(dir) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

const (
	// maxListed is the most entries of a directory that are looked at for links.
	maxListed = 5_000
	// maxHomeDirs is the most directories of the home directory that are, and maxHomeDepth how deep
	// they lie: ~/.claude/skills/NAME/SKILL.md is the deepest file of an agent.
	maxHomeDirs  = 1_000
	maxHomeDepth = 3
)

// listed returns the links in a directory.
func listed(dir string) []fs.DirEntry {
	return slices.DeleteFunc(entries(dir), func(e fs.DirEntry) bool { return e.Type()&fs.ModeSymlink == 0 })
}

// entries returns entries of a directory, in no order. One that cannot be read has none.
func entries(dir string) []fs.DirEntry {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return nil
	}
	defer f.Close()                 // it was only read
	list, _ := f.ReadDir(maxListed) // what was read counts
	return list
}

// linkedHome returns where in the session's directories links lead among the hidden files of the
// home directory, such as ~/.bashrc that is a link into a repository of such files: programs start
// them or read them as their configuration. Those near the home directory come first.
func (c *config) linkedHome(roots []string) []string {
	home := userfiles.HomeDir(c.getenv)
	if !filepath.IsAbs(home) {
		return nil
	}
	var names []string
	places := []homeDir{{dir: home}}
	own, _ := userfiles.ConfigDir(c.getenv) // without a home directory there is none
	for _, dir := range []string{userfiles.ClaudeDir(c.getenv), userfiles.CodexDir(c.getenv), own} {
		if filepath.IsAbs(dir) {
			places = append(places, homeDir{dir, 1, true})
		}
	}
	if dir := c.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		places = append(places, homeDir{dir: dir, depth: 1})
	}
	for n := 0; n < len(places) && n < maxHomeDirs; n++ {
		linked, below := places[n].look(roots)
		names, places = append(names, linked...), append(places, below...)
	}
	return names
}

// homeDir is a directory with hidden files of the user's.
type homeDir struct {
	dir   string
	depth int // below the home directory
	// starts says that it is, or lies in, a directory with the name of a delicate file.
	starts bool
}

// look returns where links in the directory lead in the session's directories, and the directories
// below it. Everything in a directory of the session asks only if the link to that has the name of
// a delicate file, or lies in one, such as ~/.claude/agents.
func (d homeDir) look(roots []string) (names []string, below []homeDir) {
	for _, e := range entries(d.dir) {
		base, name := strings.ToLower(e.Name()), filepath.Join(d.dir, e.Name())
		isDir := e.IsDir()
		switch {
		case d.depth == 0 && !strings.HasPrefix(base, ".") && !slices.Contains([]string{"library", "appdata"}, base),
			slices.Contains([]string{".cache", ".git", "node_modules", "bin"}, base): // PATH has the programs
			continue
		case e.Type()&fs.ModeSymlink != 0:
			real := realPath(name)
			around := slices.ContainsFunc(roots, func(root string) bool {
				return root == real || isBelow([]string{real}, root)
			})
			if around && (d.starts || isDelicate(base)) || !around && isBelow(roots, real) {
				names = append(names, real)
				continue
			}
			info, err := os.Stat(real)
			isDir = err == nil && info.IsDir() && !around
		}
		if isDir && d.depth < maxHomeDepth {
			below = append(below, homeDir{name, d.depth + 1, d.starts || isDelicate(base)})
		}
	}
	return names, below
}

// isDelicate reports whether a name, in lower case, is in the table of delicate files.
func isDelicate(name string) bool {
	return slices.ContainsFunc(env.DelicateFiles(), func(d env.Delicate) bool { return d.Name == name })
}
