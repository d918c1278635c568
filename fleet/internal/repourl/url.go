// Package repourl parses and checks the URLs and refs of repositories that tasks name.
package repourl

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// URL is the URL of a repository, checked.
type URL struct {
	Scheme string // https, ssh or file
	Text   string // for git, without a password
	Origin string // scheme, host and port of an https URL
}

// Parse parses and checks the URL of a task's repository. It accepts file URLs and absolute paths
// only if local is true, for workers that allow directories.
func Parse(text string, local bool) (URL, error) {
	if text == "" || strings.HasPrefix(text, "-") ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return URL{}, fmt.Errorf("%q is not a URL: give one such as https://host/path or ssh://user@host/path",
			Shown(text))
	}
	if filepath.IsAbs(text) {
		text = (&url.URL{Scheme: "file", Path: text}).String()
	} else if !strings.Contains(text, "://") {
		return parseSSHPath(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return URL{}, errors.New(
			"it is not a URL: give one such as https://host/path or ssh://user@host/path")
	}
	if _, has := u.User.Password(); has || u.Scheme == "https" && u.User.Username() != "" {
		return URL{}, errors.New(
			"it has a password or a token: give the worker a credential, and name it in repo.credential")
	}
	if u.Scheme != "file" && hasDots(u.Path) {
		return URL{}, errDots(u.Redacted())
	}
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || u.Fragment != "" {
		return URL{}, fmt.Errorf("%q is not a URL of a repository", Shown(u.Redacted()))
	}
	switch {
	case u.Scheme == "https" && u.Host != "":
		return URL{Scheme: "https", Text: u.String(), Origin: "https://" + u.Host + "/"}, nil
	case u.Scheme == "ssh" && u.Host != "":
		return URL{Scheme: "ssh", Text: u.String()}, nil
	case u.Scheme == "file" && local && u.Host == "" && filepath.IsAbs(u.Path):
		return URL{Scheme: "file", Text: u.String()}, nil
	case u.Scheme == "file":
		return URL{}, fmt.Errorf("%q is on this machine: repositories are cloned over https and ssh only", Shown(text))
	}
	return URL{}, fmt.Errorf("%q: repositories are cloned over https and ssh only", Shown(u.Redacted()))
}

// sshPath matches scp-like names of repositories: user@host:path.
const sshPath = `^(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)[A-Za-z0-9][A-Za-z0-9.-]*:[^-:][^:]*$`

func parseSSHPath(text string) (URL, error) {
	if !regexp.MustCompile(sshPath).MatchString(text) {
		return URL{}, fmt.Errorf("%q: give https://host/path, ssh://user@host/path or user@host:path",
			Shown(text))
	}
	_, rest, _ := strings.Cut(text, "@")
	_, path, _ := strings.Cut(rest, ":")
	if hasDots(path) {
		return URL{}, errDots(text)
	}
	return URL{Scheme: "ssh", Text: text}, nil
}

// hasDots reports whether a path has an element . or .., which would lead out of the prefix of a
// credential. It also looks at the decoded path, because servers may decode a path twice.
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
	return fmt.Errorf("%q has an element . or .. in its path: give the path itself", Shown(text))
}

// maxRef bounds the name of a ref.
const maxRef = 1000

// CheckRef returns an error unless ref can be the name of a branch, a tag or a commit.
func CheckRef(ref string) error {
	bad := strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".lock") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.Contains(ref, "//") || strings.ContainsAny(ref, " ~^:?*[\\") ||
		strings.ContainsFunc(ref, unicode.IsControl) || !utf8.ValidString(ref) || len(ref) > maxRef
	if bad {
		return fmt.Errorf("%q is not the name of a branch, a tag or a commit", Shown(ref))
	}
	return nil
}

// Shown returns a text for an error message, cut and valid UTF-8.
func Shown(text string) string {
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
