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
	maxNested        = 4    // how deep repositories in repositories are looked for
	maxLinks         = 50   // of them in one
	maxAttributeDirs = 5000 // with tracked files that are looked into for attributes
)

// User says where the configuration of a user is.
type User struct {
	Home string // empty means that it is not known
	XDG  string // XDG_CONFIG_HOME
}

// Reading returns the repository that git would use in a directory, with all settings that count
// there, or why a command of git that only reads may start a program in it. operands are the
// absolute paths that the command may name.
func (f Files) Reading(ctx context.Context, dir string, user User, operands []string) (*Repository, []Setting, string) {
	if user.Home == "" {
		return nil, nil, "the home directory is not known, and with it the configuration of git"
	}
	c := config{home: user.Home}
	for _, name := range userConfig(user.Home, user.XDG) {
		if why := f.add(ctx, &c, name, 0); why != "" {
			return nil, nil, why
		}
	}
	for _, s := range c.settings {
		if s.runs() {
			return nil, nil, fmt.Sprintf("the configuration of git has %s, which may run a program", s.Name)
		}
	}
	r := reading{Files: f, ctx: ctx, user: user, users: c.settings, operands: operands}
	return r.repository(dir, 0)
}

// reading looks at the repositories that a command may read.
type reading struct {
	Files
	ctx      context.Context
	user     User
	users    []Setting // of the system and of the user
	operands []string
}

func (r *reading) repository(dir string, depth int) (repo *Repository, settings []Setting, why string) {
	if repo, why = r.Find(r.ctx, dir); why != "" {
		return nil, nil, why
	}
	own, why := r.Starts(r.ctx, repo)
	if why != "" {
		return nil, nil, why
	}
	settings = slices.Concat(r.users, own)
	if why := r.hook(repo, settings); why != "" {
		return nil, nil, why
	}
	index, err := r.Index(r.ctx, repo, own)
	if err != nil {
		return nil, nil, "the index of the repository cannot be read"
	}
	if why := r.filters(repo, index); why != "" {
		return nil, nil, why
	}
	return repo, settings, r.submodules(repo, index, depth)
}

// submodules returns why git may start a program in a repository inside a work tree, in which git
// status and diff run git in turn.
func (r *reading) submodules(repo *Repository, index Index, depth int) string {
	if n := len(index.Links); n > maxLinks || n > 0 && depth == maxNested {
		return "there are too many repositories in the repository"
	}
	for _, link := range index.Links {
		dir := path.Join(repo.Top, link)
		there, err := r.Exists(r.ctx, path.Join(dir, ".git"))
		if err != nil {
			return "the repository " + dir + " cannot be read"
		}
		if !there {
			continue
		}
		if _, _, why := r.repository(dir, depth+1); why != "" {
			return why
		}
	}
	return ""
}

// hook returns why git may run a hook. All directories that settings name count: which of them is
// in force depends on more than their order.
func (r *reading) hook(repo *Repository, settings []Setting) string {
	dirs := []string{path.Join(repo.CommonDir, "hooks")}
	for _, s := range settings {
		if s.Name != "core.hookspath" {
			continue
		}
		if !(Setting{Value: s.Path("/")}).isPath() {
			return "the configuration of git names hooks in " + s.Value
		}
		dirs = append(dirs, joined(repo.Top, s.Path(r.user.Home)))
	}
	for _, dir := range dirs {
		hook := dir + "/post-index-change" // not path.Join, since a link in front of .. leads elsewhere
		if there, err := r.Exists(r.ctx, hook); there || err != nil {
			return "git may run the hook " + hook
		}
	}
	return ""
}

// runs reports whether a setting of the user can make a command that only reads run a program, or
// get missing objects from elsewhere. A filter with a name does so only together with attributes.
func (s Setting) runs() bool {
	section, key := s.Section(), s.Key()
	switch section {
	case "core":
		return key == "fsmonitor" && !s.No() || key == "virtualfilesystem" || key == "usegvfshelper" || key == "gvfs" ||
			key == "attributesfile" && !path.IsAbs(s.Path("/"))
	case "attr":
		return key == "tree"
	case "diff":
		return key == "external" || key == "command" || key == "textconv" || key == "submodule" && s.Value != "short"
	case "filter":
		return strings.Count(s.Name, ".") < 2
	case "merge":
		return key == "driver" || key == "default"
	case "hook":
		return true
	case "extensions":
		return key == "partialclone"
	case "remote":
		return key == "promisor" && !s.No() || key == "partialclonefilter"
	case "log":
		return key == "showsignature" && !s.No() || key == "diffmerges" && strings.HasPrefix(s.Value, "r")
	case "pretty", "format":
		return ShowsSignature(s.Value)
	case "status":
		return key == "submodulesummary" && !s.No()
	}
	return false
}

// ShowsSignature reports whether a pretty format has a signature, which gpg checks. A sign may
// stand in front of the letter.
func ShowsSignature(format string) bool {
	return slices.ContainsFunc([]string{"%G", "%+G", "%-G", "% G"}, func(p string) bool {
		return strings.Contains(format, p)
	})
}

// filters returns why git may run a filter of the user's configuration, which attributes choose by
// its name. A filter that no file of attributes names does not run.
func (r *reading) filters(repo *Repository, index Index) string {
	var chosen []string
	for _, s := range r.users {
		if s.Section() == "filter" && slices.Contains([]string{"clean", "smudge", "process"}, s.Key()) {
			name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "filter."), "."+s.Key())
			chosen = append(chosen, "filter="+name)
		}
	}
	if len(chosen) == 0 {
		return ""
	}
	if len(index.Dirs) > maxAttributeDirs {
		return "there are too many directories to look for attributes that name programs"
	}
	for _, name := range index.Attributes { // git takes those of a file that is missing from the index
		info, err := r.Lstat(r.ctx, path.Join(repo.Top, path.Dir(name)), path.Base(name))
		if err != nil || !info.Mode.IsRegular() {
			return "git may take the attributes in " + name + " from the index, and they may name a program"
		}
	}
	for _, file := range r.attributes(repo, index) {
		text, err := r.Read(r.ctx, file)
		switch {
		case missing(err):
		case err != nil:
			return "the attributes in " + file + " cannot be read here"
		case slices.ContainsFunc(chosen, func(filter string) bool { return strings.Contains(string(text), filter) }):
			return "git may run a program: " + file + " names a filter of the configuration of git"
		}
	}
	return ""
}

// attributes returns the files of attributes that may count: those of the system, of the user and
// of the repository, and those in directories with tracked files or around operands, because git
// blame also converts a file that is not tracked any more.
func (r *reading) attributes(repo *Repository, index Index) []string {
	config := cmp.Or(r.user.XDG, path.Join(r.user.Home, ".config"))
	files := []string{"/etc/gitattributes", "/usr/local/etc/gitattributes",
		"/opt/homebrew/etc/gitattributes", path.Join(config, "git/attributes"),
		path.Join(repo.CommonDir, "info/attributes"), path.Join(repo.GitDir, "info/attributes")}
	for _, s := range r.users {
		if s.Name == "core.attributesfile" {
			files = append(files, s.Path(r.user.Home))
		}
	}
	for _, dir := range index.Dirs {
		files = append(files, path.Join(repo.Top, dir, ".gitattributes"))
	}
	for _, name := range r.operands {
		for dir := path.Dir(path.Clean(name)); strings.HasPrefix(dir+"/", repo.Top+"/"); dir = path.Dir(dir) {
			files = append(files, path.Join(dir, ".gitattributes"))
		}
	}
	return files
}
