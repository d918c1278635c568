package shell

import (
	"fmt"
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

// discoverAt returns the repository whose top is a directory. Anything unusual is refused, because git may take it for a repository.
func (r *read) discoverAt(dir string) (*repository, string) {
	unknown := "it is not known whether " + dir + " is a repository"
	dotGit := path.Join(dir, ".git")
	info, err := r.Env.Stat(r.ctx, dotGit)
	if err != nil {
		if there, err := r.exists(r.ctx, dotGit); there || err != nil {
			return nil, unknown
		}
		there, err := r.exists(r.ctx, path.Join(dir, "HEAD"))
		if err != nil {
			return nil, unknown
		}
		if there {
			return nil, dir + " may be a repository without a work tree"
		}
		return nil, ""
	}
	repo := &repository{top: dir, gitDir: dotGit}
	if !info.IsDir() {
		text, err := r.read(dotGit)
		target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if err != nil || !ok || target != strings.TrimSpace(target) { // git keeps spaces
			return nil, unknown
		}
		repo.gitDir = from(dir, target)
	}
	repo.commonDir = repo.gitDir
	common, err := r.read(path.Join(repo.gitDir, "commondir"))
	switch {
	case err == nil:
		target := strings.TrimRight(string(common), "\r\n")
		if target != strings.TrimSpace(target) {
			return nil, unknown
		}
		repo.commonDir = from(repo.gitDir, target)
	case !missing(err):
		return nil, unknown
	}
	for _, name := range []string{path.Join(repo.gitDir, "HEAD"), path.Join(repo.commonDir, "objects"), path.Join(repo.commonDir, "refs")} {
		if there, err := r.exists(r.ctx, name); !there || err != nil {
			return nil, dotGit + " is not a complete repository"
		}
	}
	return repo, ""
}

// from returns an absolute path for a name in a directory.
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
	hook := path.Join(hooks, "post-index-change")
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
