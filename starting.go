package attractor

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/trust"
)

// starting returns the files in the session's directories that start programs or allow them because
// something outside says so: hooks, git, PATH, and the home directory. A change of one needs an
// approval. The paths have no links, whatever links have led to them. Of further files in the
// directories of scripts it is not known whether git or direnv run them; see [env.Protection].
func (s *Setup) starting(ctx context.Context, c *config) (names, scripts []string) {
	roots := realPaths(append(env.ConfinementOf(s.Local).Writable, s.here))
	slices.Sort(roots)
	roots = slices.Compact(roots)
	names = c.linkedHome(roots)
	byGit, scripts := s.namedByGit(ctx, c, roots)
	byEntering, more := namedByEntering(roots)
	scripts = append(scripts, more...)
	for _, name := range slices.Concat(s.hooks.guarded(s.here, s.projectHere()), byGit, byEntering,
		programs(s.here, c.getenv("PATH")), namedByVariables(roots, s.here, c)) {
		if real := realPath(name); isBelow(roots, real) && !slices.Contains(roots, real) {
			names = append(names, real)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), scripts
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

const (
	// maxGitCommands limits the hooks and programs of git that are looked through, of one
	// repository. One that has more runs what it wants to anyway.
	maxGitCommands = 200
	// maxAllGitCommands limits them for all repositories together: some hundred milliseconds, for
	// which the first change of a session waits. Beyond them the hooks are known, but not the files
	// that they run.
	maxAllGitCommands = 500
)

// namedByGit returns the files from which git takes what it runs in the session's directories, by
// the configuration of their repositories, also nested ones, and of the user: a change of one needs
// an approval as one in .git does. scripts are the work trees of which git may run more.
func (s *Setup) namedByGit(ctx context.Context, c *config, roots []string) (names, scripts []string) {
	machine, err := env.NewLocal(filepath.VolumeName(roots[0])+string(filepath.Separator),
		env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		return nil, nil // not even commands can run here
	}
	defer machine.Close() // it was only read
	left := maxAllGitCommands
	for _, tree := range workTrees(roots, &s.nesting) {
		named := git.Files{Env: machine}.Named(ctx, filepath.ToSlash(tree.top), c.getenv)
		files, more := tree.runByGit(named, roots, &left)
		for _, name := range files {
			if realPath(name) != tree.top {
				names = append(names, name)
			}
		}
		if more && !slices.Contains(scripts, tree.outer) {
			scripts = append(scripts, tree.outer)
		}
	}
	return names, scripts
}

// runByGit returns the files below the outermost work tree, and in the roots, that git runs in a
// work tree, or from which it takes what it runs, and whether its hooks, or programs that it starts
// by itself, may run more. left is how many commands may still be looked through.
func (t workTree) runByGit(named git.Named, roots []string, left *int) (files []string, more bool) {
	var commands []string // hooks first, because the number of commands is limited
	files = named.Files
	for _, dir := range named.Hooks {
		hooks, linked := git.HookCommands(dir)
		commands, files = append(commands, hooks...), append(files, linked...)
		if real := realPath(dir); slices.Contains(roots, real) { // of which not everything asks
			files = append(files, git.HooksIn(real)...)
		}
	}
	commands = append(commands, named.Commands...)
	others := len(commands)
	commands = append(commands, named.Aliases...)
	commands = commands[:min(len(commands), maxGitCommands, *left)]
	others = min(others, len(commands))
	*left -= len(commands)
	watched := trust.WatchedAll(t.outer, t.top, commands[:others])
	files = append(files, watched.Runs...)
	files = append(files, trust.RunBy(t.outer, t.top, commands[others:])...)
	for _, root := range roots {
		if root != t.outer && !isBelow([]string{t.outer}, root) {
			files = append(files, trust.RunBy(root, t.top, commands)...)
		}
	}
	return files, len(watched.Blind) > 0
}

// maxEnvrc is how much of a .envrc is looked through for names.
const maxEnvrc = 64 << 10

// namedByEntering returns the files that the .envrc of a root, or of a directory around it in its
// repository, runs, also those that are not there yet, and the directories that it adds to PATH:
// direnv asks its user again only when the .envrc itself changes. Those of directories below are
// not looked for. scripts are what else it names, and the repository if it may run more. The same
// holds for the configuration of mise, of which all files that it names count.
func namedByEntering(roots []string) (names, scripts []string) {
	seen, left := map[string]bool{}, maxNamed
	for _, root := range roots {
		outer := root
		if tops := git.Tops(root); len(tops) > 0 {
			outer = tops[len(tops)-1]
		}
		for dir := root; !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			for _, file := range configsOfMise(dir) {
				if left < 0 {
					break // everything counts
				}
				text, _ := userfiles.Read(file, maxEnvrc) // what cannot be read, mise cannot read
				byMise := namedIn(string(text), roots, &left, dir, outer)
				names, scripts = append(names, regular(byMise)...), append(scripts, byMise...)
			}
			if text, err := userfiles.Read(filepath.Join(dir, ".envrc"), maxEnvrc); err == nil {
				watched := trust.WatchedAll(outer, dir, []string{string(text)})
				names = append(append(names, watched.Runs...), addedToPath(dir, string(text))...)
				scripts = append(scripts, namedIn(string(text), roots, &left, dir, outer)...)
				if len(watched.Blind) > 0 {
					scripts = append(scripts, outer)
				}
			}
			if dir == outer {
				break
			}
		}
	}
	return names, scripts
}

// configsOfMise returns the files from which mise takes what it runs in a directory.
func configsOfMise(dir string) (files []string) {
	for _, name := range []string{"mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", "mise/config*.toml",
		".mise/config*.toml", ".config/mise*.toml", ".config/mise/config*.toml", ".config/mise/conf.d/*.toml"} {
		found, _ := fs.Glob(os.DirFS(dir), name) // the patterns are right
		for _, name := range found {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// regular returns those of paths that are regular files.
func regular(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || !info.Mode().IsRegular()
	})
}

// maxNamed is the most words of all .envrc and configurations of mise that are looked up. If they
// have more, everything in the roots counts.
const maxNamed = 2_000

// namedIn returns the paths in the roots that words of a .envrc may name, seen from directories: a
// function of direnv may add one to PATH, or make a program of it. What is computed in front of a
// path is taken for one of the directories. left is how many words may still be looked up.
func namedIn(text string, roots []string, left *int, dirs ...string) (names []string) {
	text = os.Expand(text, func(string) string { return " " })
	divides := func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`$()[]{}<>|&;:=", r) }
	words := append(strings.FieldsFunc(text, divides), "vendor/bin") // layout php
	slices.Sort(words)
	words = slices.Compact(words)
	if *left -= len(words); *left < 0 {
		return roots
	}
	for _, word := range words {
		names = append(names, realPath(word))
		for _, dir := range slices.Compact(dirs) {
			names = append(names, realPath(filepath.Join(dir, word)))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !isBelow(roots, name) || slices.Contains(roots, name)
	})
}

// addedToPath returns the directories that the text of a .envrc in dir adds to PATH.
func addedToPath(dir, text string) (names []string) {
	text = strings.NewReplacer(`"`, "", "'", "", "$PWD", dir, "${PWD}", dir, "$(pwd)", dir).Replace(text)
	for line := range strings.Lines(text) {
		words, dirs := strings.Fields(line), []string(nil)
		for i, word := range words {
			if value, ok := strings.CutPrefix(word, "PATH="); ok {
				dirs = filepath.SplitList(value)
			} else if word == "PATH_add" {
				dirs = words[i+1:]
			}
		}
		for _, name := range dirs {
			if !strings.Contains(name, "$") {
				names = append(names, pathFrom(dir, name))
			}
		}
	}
	return names
}

// programs returns the directories of PATH, and the links in them: what lies in the session's
// directories may be a program that the user starts next. A directory of the session itself is
// none, because everything in it would ask.
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
