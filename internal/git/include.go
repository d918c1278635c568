package git

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

const (
	maxIncludes   = 30
	maxSettings   = 20_000
	includeLevels = 8
)

// UserConfig returns the files of the configuration of the system and of a user with a home directory, in
// the order in which git reads them. xdg is XDG_CONFIG_HOME.
func UserConfig(home, xdg string) []string {
	return []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig",
		path.Join(cmp.Or(xdg, path.Join(home, ".config")), "git/config"), path.Join(home, ".gitconfig")}
}

// ConfigFiles returns the files of the configuration of a repository.
func (r *Repository) ConfigFiles() []string {
	return []string{r.CommonDir + "/config", r.CommonDir + "/config.worktree", r.GitDir + "/config.worktree"}
}

// Config holds what files of git's configuration say, and those that they include under whatever condition.
type Config struct {
	Home     string // what ~ stands for
	Settings []Setting
	// Included holds the names of included files, whether they exist or not.
	Included []string

	files int
}

// AddConfig adds what a file says. It returns why that is not known; what is known is added all the same.
func (f Files) AddConfig(ctx context.Context, c *Config, name string) (why string) {
	return f.addConfig(ctx, c, name, 0)
}

func (f Files) addConfig(ctx context.Context, c *Config, name string, level int) string {
	if c.files++; c.files > maxIncludes || level > includeLevels {
		return "the configuration of git includes too many files"
	}
	data, err := f.Read(ctx, name)
	if missing(err) {
		return ""
	}
	if err != nil {
		return "the configuration of git in " + name + " cannot be read here"
	}
	list, err := ParseConfig(string(data))
	if err != nil {
		return fmt.Sprintf("the configuration of git in %s cannot be parsed: %v", name, err)
	}
	if c.Settings = append(c.Settings, list...); len(c.Settings) > maxSettings {
		return "the configuration of git is too long"
	}
	for _, s := range list {
		if s.Key() != "path" || s.Section() != "include" && s.Section() != "includeif" {
			continue
		}
		target := c.expand(s.Value)
		if target == "" || strings.HasPrefix(target, "~") || strings.HasPrefix(target, "%(") {
			return "the configuration of git includes " + s.Value
		}
		target = joined(name[:strings.LastIndexByte(name, '/')], target)
		c.Included = append(c.Included, target)
		if why := f.addConfig(ctx, c, target, level+1); why != "" {
			return why
		}
	}
	return ""
}

// expand returns a value that is a path, with ~ replaced.
func (c *Config) expand(value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok && c.Home != "" {
		return path.Join(c.Home, rest)
	}
	return value
}

// Named returns the files and directories outside of .git from which git takes what it runs in the repository
// of a work tree: files of configuration, directories of hooks, programs that settings name, what links in its
// own directory of hooks lead to, and a directory of the repository that has another name. The configuration
// of the user with this home directory counts too. Not all of them exist.
func (f Files) Named(ctx context.Context, top, home, xdg string) (names []string) {
	c := &Config{Home: home}
	repo := &Repository{Top: top, GitDir: top + "/.git", CommonDir: top + "/.git"}
	if info, err := f.Env.Stat(ctx, repo.GitDir); err == nil {
		if found, _ := f.dotGit(ctx, top, info); found != nil {
			repo = found
		}
	}
	for _, name := range append(UserConfig(home, xdg), repo.ConfigFiles()...) {
		_ = f.AddConfig(ctx, c, name) // what is not known of it, no name can be told of
		names = append(names, name)
	}
	names = append(append(names, c.Included...), repo.GitDir, repo.CommonDir)
	for _, s := range c.Settings {
		switch {
		case s.Value == "":
		case s.Name == "core.hookspath":
			names = append(names, joined(repo.Top, c.expand(s.Value)))
		case !s.Harmless():
			for word := range strings.FieldsSeq(s.Value) {
				if strings.Contains(word, "/") {
					names = append(names, joined(repo.Top, c.expand(word)))
				}
			}
		}
	}
	hooks := repo.CommonDir + "/hooks"
	list, err := f.Env.ReadDir(ctx, hooks)
	if err != nil {
		return names
	}
	for _, info := range list {
		if info.Mode&fs.ModeSymlink != 0 {
			if to, err := env.TreeOf(f.Env).Readlink(ctx, path.Join(hooks, info.Name)); err == nil {
				names = append(names, joined(hooks, to))
			}
		}
	}
	return names
}
