package git

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	maxIncludes   = 30
	maxSettings   = 20_000
	includeLevels = 8
)

// userConfig returns the files of the configuration of the system and of a user with a home
// directory, in the order in which git reads them. xdg is XDG_CONFIG_HOME.
func userConfig(home, xdg string) []string {
	return []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig",
		path.Join(cmp.Or(xdg, path.Join(home, ".config")), "git/config"), path.Join(home, ".gitconfig")}
}

// configFiles returns the files of the configuration of a repository.
func (r *Repository) configFiles() []string {
	return []string{r.CommonDir + "/config", r.CommonDir + "/config.worktree", r.GitDir + "/config.worktree"}
}

// config holds what files of git's configuration say, and those that they include under whatever
// condition.
type config struct {
	home     string // what ~ stands for
	settings []Setting
	included []string // whether they exist or not
	files    int
}

// settings returns what a file of git's configuration says, or why that is not known. A missing
// file says nothing.
func (f Files) settings(ctx context.Context, name string) (list []Setting, why string) {
	data, err := f.Read(ctx, name)
	if missing(err) {
		return nil, ""
	}
	if err != nil {
		return nil, "the configuration of git in " + name + " cannot be read here"
	}
	if list, err = ParseConfig(string(data)); err != nil {
		return nil, fmt.Sprintf("the configuration of git in %s cannot be parsed: %v", name, err)
	}
	return list, ""
}

// add adds what a file says. It returns why that is not known; what is known is added all the same.
func (f Files) add(ctx context.Context, c *config, name string, level int) string {
	list, why := f.settings(ctx, name)
	if why != "" {
		return why
	}
	if len(list) > 0 { // git takes a missing one for an empty one
		c.files++
	}
	if c.files > maxIncludes || level > includeLevels {
		return "the configuration of git includes too many files"
	}
	if c.settings = append(c.settings, list...); len(c.settings) > maxSettings {
		return "the configuration of git is too long"
	}
	for _, s := range list {
		if s.Key() != "path" || s.Section() != "include" && s.Section() != "includeif" {
			continue
		}
		target := s.Path(c.home)
		if target == "" || strings.HasPrefix(target, "~") || strings.HasPrefix(target, "%(") {
			return "the configuration of git includes " + s.Value
		}
		target = joined(name[:strings.LastIndexByte(name, '/')], target)
		c.included = append(c.included, target)
		if why := f.add(ctx, c, target, level+1); why != "" {
			return why
		}
	}
	return ""
}

// Named holds from where git takes what it runs in a repository. Not all of it exists.
type Named struct {
	// Files are files and directories outside of .git: files of configuration, directories of
	// hooks, and a directory of the repository that has another name.
	Files    []string
	Hooks    []string // directories of hooks, also that of the repository
	Commands []string // of settings, as a shell reads them
	Aliases  []string // likewise; they run only when their user calls them
	Unclear  string   // why there may be more, or ""
}

// Named returns from where git takes what it runs in the repository of a work tree, wherever that
// lies. The configuration of the user counts too, by their variables.
func (f Files) Named(ctx context.Context, top string, getenv func(string) string) Named {
	home := getenv("HOME")
	c := &config{home: home, settings: variableSettings(getenv)}
	repo := &Repository{Top: top, GitDir: top + "/.git", CommonDir: top + "/.git"}
	lost, moved := false, movedBy(top, getenv)
	if info, err := f.Env.Stat(ctx, repo.GitDir); err == nil {
		found, why := f.dotGit(ctx, top, info)
		switch {
		case found != nil:
			repo = found
		case f.leadsNowhere(ctx, top):
			lost = true
		default:
			moved = cmp.Or(moved, why)
		}
	} else if f.isBare(ctx, top) {
		repo.GitDir, repo.CommonDir = top, top
	}
	named := Named{Hooks: []string{repo.CommonDir + "/hooks"}, Unclear: moved}
	files := append(userConfig(home, getenv("XDG_CONFIG_HOME")), repo.configFiles()...)
	for _, variable := range []string{"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"} {
		if name := getenv(variable); name != "" && name != "/dev/null" {
			files = append(files, joined(top, name))
		}
	}
	if dir := getenv("GIT_DIR"); dir != "" {
		dir = joined(top, dir)
		files = append(files, path.Join(dir, "config"), path.Join(dir, "config.worktree"))
		named.Hooks = append(named.Hooks, path.Join(dir, "hooks"))
		if there, err := f.Exists(ctx, path.Join(dir, "commondir")); there || err != nil {
			named.Unclear = cmp.Or(named.Unclear, "the variable GIT_DIR names a part of a repository")
		}
	}
	for _, name := range files {
		c.files = 0 // many includes of one do not hide another
		why := f.add(ctx, c, name, 0)
		if !lost || !strings.HasPrefix(name, repo.GitDir+"/") {
			named.Unclear = cmp.Or(named.Unclear, why)
		}
		named.Files = append(named.Files, name)
	}
	named.Files = append(append(named.Files, c.included...), repo.GitDir, repo.CommonDir)
	for _, s := range c.settings {
		switch {
		case s.Value == "", s.Section() == "include", s.Section() == "includeif": // which files have
		case slices.Contains([]string{"core.hookspath", "init.templatedir"}, s.Name) && strings.HasPrefix(s.Value,
			"%("):
			named.Unclear = cmp.Or(named.Unclear, "the configuration of git names hooks in "+s.Value)
		case s.Name == "core.hookspath":
			dir := joined(repo.Top, s.localPath(home))
			named.Files, named.Hooks = append(named.Files, dir), append(named.Hooks, dir)
		case s.Name == "init.templatedir": // its hooks are those of later repositories
			named.Files = append(named.Files, joined(repo.Top, s.localPath(home)))
		case s.Section() == "alias":
			named.Aliases = append(named.Aliases, s.Command())
		case s.MayStart():
			named.Commands = append(named.Commands, s.Command())
		}
	}
	return named
}

// isBare reports whether a directory without .git looks like a repository.
func (f Files) isBare(ctx context.Context, dir string) bool {
	return !slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(name string) bool {
		there, err := f.Exists(ctx, path.Join(dir, name))
		return !there || err != nil
	})
}

// movedBy returns which variable makes git use other directories than those of the work tree it
// finds, or "".
func movedBy(top string, getenv func(string) string) string {
	tree := getenv("GIT_WORK_TREE")
	switch {
	case getenv("GIT_COMMON_DIR") != "":
		return "the variable GIT_COMMON_DIR names a part of a repository"
	case tree != "" && path.Clean(joined(top, tree)) != top:
		return "the variable GIT_WORK_TREE names another work tree"
	}
	return ""
}
