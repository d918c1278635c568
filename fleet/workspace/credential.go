package workspace

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/repourl"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Credential is a secret for cloning repositories. Only the clone uses it: neither the workspace
// nor a task's commands have it.
type Credential struct {
	// Tenants names the tenants whose tasks may use it; empty means all.
	Tenants []string `json:"tenants,omitempty"`
	// URL is the prefix of the URLs that it is for, such as https://github.com/acme/; a task cannot
	// send it elsewhere. It is required.
	URL string `json:"url"`
	// User and Token are for https. An empty User is x-access-token, which GitHub, GitLab and
	// others take beside a token.
	User  string `json:"user,omitempty"`
	Token string `json:"token,omitempty"`
	// KeyFile is the path of a private key for ssh, without a passphrase.
	KeyFile string `json:"key_file,omitempty"`
	// KnownHosts is the path of a file with the keys of ssh hosts. Empty means those of the
	// worker's user and machine.
	KnownHosts string `json:"known_hosts,omitempty"`
}

// access holds what git needs to reach a repository.
type access struct {
	settings []string // key=value
	vars     []string
	hide     []string
	own      bool // use the configuration of the worker's user
}

// git returns a git that has the access.
func (a *access) git(dir, home string) *git {
	g := newGit(dir, home, a.settings...)
	if a.own {
		g = newGitWith(dir, home, slices.Concat(slices.DeleteFunc(slices.Clone(hardening), isOwn), a.settings))
		g.environ = slices.DeleteFunc(g.environ, isOwn)
	}
	g = g.with(a.vars...)
	g.hide = a.hide
	return g
}

// isOwn reports whether a setting or variable turns off the configuration of the worker's user.
func isOwn(s string) bool {
	return s == "credential.helper=" || strings.HasPrefix(s, "GIT_CONFIG_GLOBAL=") ||
		strings.HasPrefix(s, "GIT_CONFIG_NOSYSTEM=")
}

// access returns how a task reaches its repository.
func (w *workspaces) access(t fleet.Task, u repourl.URL) (access, error) {
	var c Credential
	if name := t.Repo.Credential; name != "" {
		known, ok := w.o.Credentials[name]
		if !ok || !known.isFor(cmp.Or(t.Tenant, fleet.DefaultTenant)) {
			return access{}, permanentf("the credential %q of repo.credential is not known to this worker",
				repourl.Shown(name))
		}
		if !known.covers(u) {
			return access{}, permanentf("the credential %q is not for %s", repourl.Shown(name), repourl.Shown(u.Text))
		}
		c = known
	}
	a := access{vars: []string{"GIT_ALLOW_PROTOCOL=" + u.Scheme}, settings: []string{"http.followRedirects=initial"}}
	if c.Token != "" { // a redirect could send it elsewhere
		a.settings = []string{"http.followRedirects=false"}
	}
	if w.o.CAFile != "" {
		a.vars = append(a.vars, "GIT_SSL_CAINFO="+w.o.CAFile)
	}
	switch {
	case u.Scheme == "https" && c.Token != "":
		basic := base64.StdEncoding.EncodeToString([]byte(cmp.Or(c.User, "x-access-token") + ":" + c.Token))
		a.settings = append(a.settings, "http."+u.Origin+".extraHeader=Authorization: Basic "+basic)
		a.hide = []string{c.Token, basic}
	case u.Scheme == "https" && w.o.OwnCredentials:
		a.useOwn()
	case u.Scheme == "ssh":
		a.vars = append(a.vars, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND="+w.ssh(c))
		if c.KeyFile == "" && w.o.OwnCredentials {
			a.useOwn()
		}
	}
	return a, nil
}

// useOwn lets git use the configuration, keys and agent of this process's user.
func (a *access) useOwn() {
	a.own = true
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "GIT_CONFIG_GLOBAL"} {
		if v := os.Getenv(name); v != "" {
			a.vars = append(a.vars, name+"="+v)
		}
	}
}

// isFor reports whether a tenant may use the credential.
func (c *Credential) isFor(tenant string) bool {
	return len(c.Tenants) == 0 || slices.Contains(c.Tenants, tenant)
}

// covers reports whether the credential is for a URL. Its prefix has to end where a part of the URL
// ends.
func (c *Credential) covers(u repourl.URL) bool {
	rest, ok := strings.CutPrefix(u.Text, c.URL)
	return ok && c.URL != "" && (rest == "" || strings.HasSuffix(c.URL, "/") || strings.HasSuffix(c.URL, ":") ||
		rest[0] == '/')
}

// check returns an error for a credential that cannot work.
func (c *Credential) check(name string) error {
	switch {
	case c.URL == "":
		return fmt.Errorf("workspace: the credential %q names no url: give the beginning of the URLs that it is for",
			name)
	case strings.HasPrefix(c.URL, "https://") && strings.Count(c.URL, "/") < 3:
		return fmt.Errorf("workspace: the url of the credential %q has to end with a / behind the host", name)
	case (c.Token == "") == (c.KeyFile == ""):
		return fmt.Errorf("workspace: the credential %q needs either a token or a key_file", name)
	}
	for _, file := range []string{c.KeyFile, c.KnownHosts} {
		if _, err := os.Stat(file); file != "" && err != nil {
			return fmt.Errorf("workspace: the credential %q: %w", name, err)
		}
	}
	return nil
}

// ssh returns the command by which git reaches other machines. The host's key has to be known.
// Without a credential no key of this machine is used, unless the worker's own are.
func (w *workspaces) ssh(c Credential) string {
	words := []string{"ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=30",
		"-o", "ServerAliveInterval=15", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no"}
	if c.KnownHosts != "" {
		words = append(words, "-o", "UserKnownHostsFile="+shquote.Words(c.KnownHosts),
			"-o", "GlobalKnownHostsFile=/dev/null")
	}
	switch {
	case c.KeyFile != "":
		words = append(words, "-F", "/dev/null", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
			"-i", shquote.Words(c.KeyFile))
	case !w.o.OwnCredentials:
		words = append(words, "-F", "/dev/null", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
			"-o", "IdentityFile=none")
	}
	return strings.Join(words, " ")
}
