package shell

import (
	"fmt"
	"path"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
)

// programs returns why git may run a program in the repository.
func (r *read) programs(repo *repository) string {
	for _, s := range repo.users {
		path := git.Setting{Value: strings.TrimPrefix(s.Value, "~/")}
		switch {
		case runs(s):
			return fmt.Sprintf("the configuration of git has %s, which may run a program", s.Name)
		case s.Name == "core.hookspath" && !path.IsPath():
			return "the configuration of git names hooks in " + s.Value
		}
	}
	for _, dir := range r.hooks(repo) {
		hook := dir + "/post-index-change" // not path.Join, since a link in front of .. leads elsewhere
		if there, err := r.exists(r.ctx, hook); there || err != nil {
			return "git may run the hook " + hook
		}
	}
	return r.drivers(repo)
}

// hooks returns all directories that may have the repository's hooks: which of several settings counts depends on more than their order.
func (r *read) hooks(repo *repository) []string {
	dirs := []string{path.Join(repo.CommonDir, "hooks")}
	for _, s := range repo.settings() {
		if s.Name != "core.hookspath" {
			continue
		}
		dir := s.Value
		if rest, home := strings.CutPrefix(dir, "~/"); home {
			dir = path.Join(r.Home, rest)
		}
		dirs = append(dirs, from(repo.Top, dir))
	}
	return dirs
}

// runs reports whether a setting of the user makes git commands that only read run a program, or get missing objects from elsewhere. Those of drivers have
// that effect only together with attributes.
func runs(s git.Setting) bool {
	section, key := s.Section(), s.Key()
	switch section {
	case "core":
		return key == "fsmonitor" && !s.No() || key == "virtualfilesystem" || key == "usegvfshelper" || key == "gvfs"
	case "diff":
		return s.Name == "diff.external" || s.Name == "diff.submodule" && s.Value != "short"
	case "hook":
		return true
	case "extensions":
		return key == "partialclone"
	case "remote":
		return key == "promisor" && !s.No() || key == "partialclonefilter"
	case "log":
		return key == "showsignature" && !s.No() || key == "diffmerges" && strings.HasPrefix(s.Value, "r")
	case "pretty", "format":
		return showsSignature(s.Value)
	case "status":
		return key == "submodulesummary" && !s.No()
	}
	return false
}

// aliased returns why a command may run something else: a version of git that does not know the command, or is about to drop it, looks for an alias.
func (repo *repository) aliased(sub string) string {
	for _, s := range repo.settings() {
		if s.Name == "alias."+sub || strings.HasPrefix(s.Name, "alias."+sub+".") {
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
	for _, s := range repo.settings() {
		url := s.Name + " " + s.Value
		_, after, has := strings.Cut(url, "://")
		host, _, _ := strings.Cut(after, "/")
		if has && strings.Contains(host, "@") && strings.Contains(host, ":") {
			return "the configuration of git has a URL with a password"
		}
		if key := s.Key(); strings.HasSuffix(key, "extraheader") || strings.Contains(key, "token") || strings.Contains(key, "password") || strings.Contains(key, "secret") {
			return "the configuration of git has " + s.Name
		}
	}
	return ""
}
