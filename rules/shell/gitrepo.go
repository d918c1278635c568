package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

func gitLinks(r *read, repo *repository) ([]string, error) {
	return git.Links(r.ctx, r.Env, repo.gitDir, repo.commonDir)
}

// discover finds the repository that git would use in a directory: the nearest one, going up.
func (r *read) discover(dir string) (*repository, string) {
	dir, err := env.Resolve(r.ctx, r.Env, dir)
	if err != nil {
		return nil, "it is not known which repository git would use: " + err.Error()
	}
	for {
		repo, why := r.discoverAt(dir)
		if repo != nil || why != "" {
			return repo, why
		}
		if dir == path.Dir(dir) || r.ctx.Err() != nil {
			return nil, "there is no repository here that could be checked"
		}
		dir = path.Dir(dir)
	}
}

// discoverAt returns the repository whose top is a directory. Anything unusual is refused, because
// git may take it for a repository, or look on: if .git is a directory but no repository to git,
// the directory itself may be a bare one, and then those above it.
func (r *read) discoverAt(dir string) (*repository, string) {
	_, err := r.lstat(dir, "HEAD") // first, because git needs it in every repository
	beside := err == nil
	if err != nil && !missing(err) {
		return nil, "it is not known whether " + dir + " is a repository"
	}
	info, err := r.Env.Stat(r.ctx, path.Join(dir, ".git"))
	switch {
	case missing(err) && beside:
		return nil, dir + " may be a repository without a work tree, because it has a HEAD"
	case missing(err):
		return nil, ""
	case err != nil:
		return nil, "it is not known whether " + dir + " is a repository"
	}
	repo, why := r.dotGit(dir, info)
	if why == "" {
		why = r.broken(repo)
	}
	if beside {
		return nil, strings.TrimPrefix(why+"; ", "; ") + "there is HEAD beside .git in " + dir +
			", which git uses if .git is broken"
	}
	return repo, why
}

// dotGit returns the repository of a .git file or directory. Its directories have no links in them,
// so that names in them can be joined.
func (r *read) dotGit(dir string, info env.Info) (_ *repository, why string) {
	dotGit := path.Join(dir, ".git")
	unknown := "it is not known which repository " + dotGit + " leads to"
	name := dotGit
	switch {
	case info.Mode.IsRegular():
		text, err := r.read(dotGit)
		target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if err != nil || !ok || target != strings.TrimSpace(target) { // git keeps spaces
			return nil, unknown
		}
		name = from(dir, target)
	case !info.IsDir():
		return nil, dotGit + " is neither a file nor a directory"
	}
	repo := &repository{top: dir}
	var err error
	if repo.gitDir, err = env.Resolve(r.ctx, r.Env, name); err != nil {
		return nil, unknown
	}
	repo.commonDir = repo.gitDir
	common, err := r.read(path.Join(repo.gitDir, "commondir"))
	if missing(err) {
		return repo, ""
	}
	target := strings.TrimRight(string(common), "\r\n")
	if err != nil || target != strings.TrimSpace(target) {
		return nil, unknown
	}
	if repo.commonDir, err = env.Resolve(r.ctx, r.Env, from(repo.gitDir, target)); err != nil {
		return nil, unknown
	}
	return repo, ""
}

// broken returns why git may not take the directories for those of a repository, as
// is_git_directory in git's setup.c does.
func (r *read) broken(repo *repository) string {
	info, err := r.lstat(repo.gitDir, "HEAD")
	if err != nil || !info.Mode.IsRegular() {
		return repo.gitDir + " is not a repository: it has no file HEAD"
	}
	if head, err := r.read(path.Join(repo.gitDir, "HEAD")); err != nil || !validHead(string(head)) {
		return repo.gitDir + " is not a repository: its HEAD is neither a branch nor a commit"
	}
	for name, in := range map[string]string{"objects": "info", "refs": "heads"} {
		dir := path.Join(repo.commonDir, name)
		info, err := r.Env.Stat(r.ctx, dir)
		if err != nil || !info.IsDir() {
			return repo.commonDir + " is not a repository: it has no directory " + name
		}
		if _, err := r.exists(r.ctx, path.Join(dir, in)); err != nil { // git wants the right to look for files in it
			return repo.commonDir + " is not a repository: its directory " + name + " cannot be used"
		}
	}
	return ""
}

// validHead reports whether a file HEAD names a ref or a commit.
func validHead(text string) bool {
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t\r\n"), "refs/")
	}
	return len(text) >= 40 && strings.Trim(text[:40], "0123456789abcdef") == ""
}

// lstat describes a file in a directory, a symbolic link itself.
func (r *read) lstat(dir, name string) (env.Info, error) {
	node, err := env.TreeOf(r.Env).Lstat(r.ctx, path.Join(dir, name))
	if !errors.Is(err, errors.ErrUnsupported) {
		return node.Info, err
	}
	list, err := r.Env.ReadDir(r.ctx, dir)
	if err != nil {
		return env.Info{}, err
	}
	for _, info := range list {
		if info.Name == name {
			return info, nil
		}
	}
	return env.Info{}, fs.ErrNotExist
}

// from returns an absolute path for a name in a directory. It keeps .., because a link may be in
// front of it.
func from(dir, name string) string {
	p, _ := absolute(dir, name)
	return p
}

// programs returns why git may run a program in the repository.
func (r *read) programs(repo *repository) string {
	hooks := path.Join(repo.commonDir, "hooks")
	for _, s := range repo.settings {
		if s.name == "core.hookspath" {
			if strings.HasPrefix(s.value, "~") || s.value == "" {
				return "the configuration of git names hooks in " + s.value
			}
			hooks = from(repo.top, s.value)
		}
		if s.name == "core.worktree" {
			if top, err := env.Resolve(r.ctx, r.Env, from(repo.gitDir, s.value)); err != nil || top != repo.top {
				return "the configuration of git names another work tree: " + s.value
			}
		}
		if s.runs() {
			return fmt.Sprintf("the configuration of git has %s, which may run a program", s.name)
		}
	}
	hook := hooks + "/post-index-change" // not path.Join, since a link in front of .. leads elsewhere
	if there, err := r.exists(r.ctx, hook); there || err != nil {
		return "git may run the hook " + hook
	}
	return r.drivers(repo)
}

// runs reports whether a setting makes git commands that only read run a program, or get missing objects from elsewhere. Those of drivers have
// that effect only together with attributes.
func (s setting) runs() bool {
	section, key := s.section(), s.key()
	switch section {
	case "core":
		return key == "fsmonitor" && !s.no() || key == "virtualfilesystem" || key == "usegvfshelper" || key == "gvfs"
	case "diff":
		return s.name == "diff.external" || s.name == "diff.submodule" && s.value != "short"
	case "hook":
		return true
	case "extensions":
		return key == "partialclone"
	case "remote":
		return key == "promisor" && !s.no() || key == "partialclonefilter"
	case "log":
		return key == "showsignature" && !s.no() || key == "diffmerges" && strings.HasPrefix(s.value, "r")
	case "pretty", "format":
		return showsSignature(s.value)
	case "status":
		return key == "submodulesummary" && !s.no()
	}
	return false
}

// aliased returns why a command may run something else: a version of git that does not know the command, or is about to drop it, looks for an alias.
func (repo *repository) aliased(sub string) string {
	for _, s := range repo.settings {
		if s.name == "alias."+sub || strings.HasPrefix(s.name, "alias."+sub+".") {
			return "the configuration of git has an alias " + sub
		}
	}
	return ""
}

// shows returns why a command may show a secret of the configuration.
func (repo *repository) shows(sub string, p arguments) string {
	if sub != "config" && sub != "remote" {
		return ""
	}
	for _, s := range repo.settings {
		url := s.name + " " + s.value
		_, after, has := strings.Cut(url, "://")
		host, _, _ := strings.Cut(after, "/")
		if has && strings.Contains(host, "@") && strings.Contains(host, ":") {
			return "the configuration of git has a URL with a password"
		}
		if key := s.key(); strings.HasSuffix(key, "extraheader") || strings.Contains(key, "token") || strings.Contains(key, "password") || strings.Contains(key, "secret") {
			return "the configuration of git has " + s.name
		}
	}
	return ""
}
