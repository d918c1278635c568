package workspace

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/fleet"
)

// remoteURL is the URL of a repository, checked.
type remoteURL struct {
	scheme string // https, ssh or file
	host   string // without a port; empty for file
	text   string // for git, without a password
	origin string // scheme, host and port of an https URL
}

// parseURL checks what a task names as its repository. Local ones are for workers that allow
// directories.
func parseURL(text string, local bool) (remoteURL, error) {
	if text == "" || strings.HasPrefix(text, "-") ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return remoteURL{}, permanentf(
			"repo.url %q is not a URL: give one such as https://host/path or ssh://user@host/path", shown(text))
	}
	if filepath.IsAbs(text) {
		text = (&url.URL{Scheme: "file", Path: text}).String()
	} else if !strings.Contains(text, "://") {
		return parseSSHPath(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return remoteURL{}, permanentf(
			"repo.url is not a URL: give one such as https://host/path or ssh://user@host/path")
	}
	if _, has := u.User.Password(); has {
		return remoteURL{}, permanentf(
			"repo.url has a password: give the worker a credential, and name it in repo.credential")
	}
	if u.Scheme != "file" && hasDots(u.Path) {
		return remoteURL{}, errDots(u.Redacted())
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || u.Fragment != "" {
		return remoteURL{}, permanentf("repo.url %q is not a URL of a repository", shown(u.Redacted()))
	}
	switch {
	case u.Scheme == "https" && u.Host != "":
		return remoteURL{scheme: "https", host: u.Hostname(), text: u.String(), origin: "https://" + u.Host + "/"}, nil
	case u.Scheme == "ssh" && u.Host != "":
		return remoteURL{scheme: "ssh", host: u.Hostname(), text: u.String()}, nil
	case u.Scheme == "file" && local && u.Host == "" && filepath.IsAbs(u.Path):
		return remoteURL{scheme: "file", text: u.String()}, nil
	case u.Scheme == "file":
		return remoteURL{}, permanentf("repo.url %q is on this machine: this worker clones over https and ssh only",
			shown(text))
	}
	return remoteURL{}, permanentf("repo.url %q: repositories are cloned over https and ssh only", shown(u.Redacted()))
}

// scp-like names of repositories: user@host:path.
const sshPath = `^(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)[A-Za-z0-9][A-Za-z0-9.-]*:[^-:][^:]*$`

func parseSSHPath(text string) (remoteURL, error) {
	if !regexp.MustCompile(sshPath).MatchString(text) {
		return remoteURL{}, permanentf("repo.url %q: give https://host/path, ssh://user@host/path or user@host:path",
			shown(text))
	}
	_, rest, _ := strings.Cut(text, "@")
	host, path, _ := strings.Cut(rest, ":")
	if hasDots(path) {
		return remoteURL{}, errDots(text)
	}
	return remoteURL{scheme: "ssh", host: host, text: text}, nil
}

// hasDots reports whether a path has an element . or .., which would lead behind the prefix of a
// [Credential]. Servers may decode a path twice.
func hasDots(path string) bool {
	again, err := url.PathUnescape(path)
	if err != nil {
		again = path
	}
	for _, p := range []string{path, again} {
		for element := range strings.FieldsFuncSeq(p, func(r rune) bool { return r == '/' || r == '\\' }) {
			if element == "." || element == ".." {
				return true
			}
		}
	}
	return false
}

func errDots(text string) error {
	return permanentf("repo.url %q has an element . or .. in its path: give the path itself", shown(text))
}

// maxRef bounds the name of a ref.
const maxRef = 1000

// checkRef checks what a task names as the ref of its repository.
func checkRef(ref string) error {
	bad := strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".lock") ||
		strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.Contains(ref, "//") ||
		strings.ContainsAny(ref, " ~^:?*[\\") ||
		strings.ContainsFunc(ref, unicode.IsControl) || !utf8.ValidString(ref) || len(ref) > maxRef
	if bad {
		return permanentf("repo.ref %q is not the name of a branch, a tag or a commit", shown(ref))
	}
	return nil
}

// shown returns a text for an error message.
func shown(text string) string {
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

// permanentf returns an error that stays.
func permanentf(format string, args ...any) error {
	return &fleet.PermanentError{Err: fmt.Errorf("workspace: "+format, args...)}
}

// isPermanent reports whether an error stays.
func isPermanent(err error) bool {
	_, ok := errors.AsType[*fleet.PermanentError](err)
	return ok
}
