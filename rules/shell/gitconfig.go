package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
)

const (
	maxIncludes   = 30
	maxSettings   = 20_000
	includeLevels = 8
)

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// read returns the content of a file of git.
func (r *read) read(name string) ([]byte, error) { return r.Machine.files().Read(r.ctx, name) }

// configuration returns the settings of the system and of the user, and of all files that these include under whatever condition.
func (r *read) configuration() ([]git.Setting, string) {
	if r.Home == "" {
		return nil, "the home directory is not known, and with it the configuration of git"
	}
	user := r.variable("XDG_CONFIG_HOME")
	if user == "" {
		user = path.Join(r.Home, ".config")
	}
	c := &configuring{read: r}
	for _, name := range []string{
		"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig", path.Join(user, "git/config"), path.Join(r.Home, ".gitconfig"),
	} {
		if why := c.file(name, 0); why != "" {
			return nil, why
		}
	}
	return c.settings, ""
}

// configuring collects settings.
type configuring struct {
	*read
	settings []git.Setting
	files    int
}

// file adds the settings of a file, and of those that it includes. It returns why they are not known.
func (c *configuring) file(name string, level int) string {
	if c.files++; c.files > maxIncludes || level > includeLevels {
		return "the configuration of git includes too many files"
	}
	data, err := c.read.read(name)
	if missing(err) {
		return ""
	}
	if err != nil {
		return "the configuration of git in " + name + " cannot be read here"
	}
	list, err := git.ParseConfig(string(data))
	if err != nil {
		return fmt.Sprintf("the configuration of git in %s cannot be parsed: %v", name, err)
	}
	if c.settings = append(c.settings, list...); len(c.settings) > maxSettings {
		return "the configuration of git is too long"
	}
	for _, s := range list {
		if s.Key() != "path" || s.Section() != "include" && s.Section() != "includeif" {
			continue
		}
		target := s.Value
		if rest, ok := strings.CutPrefix(target, "~/"); ok {
			target = path.Join(c.Home, rest)
		}
		if target == "" || strings.HasPrefix(target, "~") || strings.HasPrefix(target, "%(") {
			return "the configuration of git includes " + s.Value
		}
		dir := name[:strings.LastIndexByte(name, '/')] // not path.Dir, since a link in front of .. leads elsewhere
		if why := c.file(from(dir, target), level+1); why != "" {
			return why
		}
	}
	return ""
}

// from returns an absolute path for a name in a directory. It keeps .., because a link may be in front of it.
func from(dir, name string) string {
	p, _ := absolute(dir, name)
	return p
}
