package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// setting is one line of git's configuration. The name is section.key or section.subsection.key; only the subsection may have capitals.
type setting struct {
	name, value string
	bare        bool // there is no = in the line: the value is true
}

func (s setting) section() string {
	section, _, _ := strings.Cut(s.name, ".")
	return section
}

func (s setting) key() string { return s.name[strings.LastIndexByte(s.name, '.')+1:] }

// no reports whether the value is false.
func (s setting) no() bool {
	switch strings.ToLower(s.value) {
	case "false", "no", "off", "0":
		return true
	}
	return s.value == "" && !s.bare
}

const (
	maxIncludes   = 30
	maxSettings   = 20_000
	includeLevels = 8
)

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// read returns the content of a file of git.
func (r *read) read(name string) ([]byte, error) { return r.Machine.read(r.ctx, name) }

// configuration returns all settings that may apply in a repository: those of the system, of the user and of the repository, and all files
// that these include under whatever condition.
func (r *read) configuration(repo *repository) ([]setting, string) {
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
		path.Join(repo.commonDir, "config"), path.Join(repo.commonDir, "config.worktree"), path.Join(repo.gitDir, "config.worktree"),
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
	settings []setting
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
	list, err := parseConfig(string(data))
	if err != nil {
		return fmt.Sprintf("the configuration of git in %s cannot be parsed: %v", name, err)
	}
	if c.settings = append(c.settings, list...); len(c.settings) > maxSettings {
		return "the configuration of git is too long"
	}
	for _, s := range list {
		if s.key() != "path" || s.section() != "include" && s.section() != "includeif" {
			continue
		}
		target := s.value
		if rest, ok := strings.CutPrefix(target, "~/"); ok {
			target = path.Join(c.Home, rest)
		}
		if target == "" || strings.HasPrefix(target, "~") || strings.HasPrefix(target, "%(") {
			return "the configuration of git includes " + s.value
		}
		dir := name[:strings.LastIndexByte(name, '/')] // not path.Dir, since a link in front of .. leads elsewhere
		if why := c.file(from(dir, target), level+1); why != "" {
			return why
		}
	}
	return ""
}

var errConfig = errors.New("it has an unusual form")

// parseConfig parses a file of git's configuration. It refuses what it does not understand.
func parseConfig(text string) (list []setting, err error) {
	p := &configParser{text: strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")}
	section := ""
	for {
		p.skip()
		switch {
		case p.text == "":
			return list, nil
		case p.text[0] == '[':
			if section, err = p.section(); err != nil {
				return nil, err
			}
		default:
			s, err := p.setting(section)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
}

// configParser holds the text that is not parsed yet.
type configParser struct{ text string }

// skip skips white space and comments.
func (p *configParser) skip() {
	for {
		p.text = strings.TrimLeft(p.text, " \t\n\v\f\r")
		if p.text == "" || p.text[0] != '#' && p.text[0] != ';' {
			return
		}
		_, p.text, _ = strings.Cut(p.text, "\n")
	}
}

// section parses [name], [name "subsection"] and [name.subsection].
func (p *configParser) section() (string, error) {
	i := 1
	for i < len(p.text) && (nameChar(p.text[i]) || p.text[i] == '.') {
		i++
	}
	name := strings.ToLower(p.text[1:i])
	p.text = strings.TrimLeft(p.text[i:], " \t")
	if strings.HasPrefix(p.text, `"`) {
		var sub strings.Builder
		j := 1
		for ; j < len(p.text) && p.text[j] != '"'; j++ {
			if p.text[j] == '\n' {
				return "", errConfig
			}
			if p.text[j] == '\\' && j+1 < len(p.text) {
				j++
			}
			sub.WriteByte(p.text[j])
		}
		p.text = p.text[min(j+1, len(p.text)):]
		name += "." + sub.String()
	}
	if !strings.HasPrefix(p.text, "]") || name == "" {
		return "", errConfig
	}
	p.text = p.text[1:]
	return name, nil
}

func nameChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// setting parses NAME = VALUE, or NAME alone.
func (p *configParser) setting(section string) (setting, error) {
	i := 0
	for i < len(p.text) && nameChar(p.text[i]) {
		i++
	}
	if i == 0 || section == "" {
		return setting{}, errConfig
	}
	s := setting{name: section + "." + strings.ToLower(p.text[:i])}
	p.text = strings.TrimLeft(p.text[i:], " \t")
	if p.text == "" || p.text[0] == '\n' || p.text[0] == '#' || p.text[0] == ';' {
		s.bare = true
		return s, nil
	}
	if p.text[0] != '=' {
		return s, errConfig
	}
	p.text = p.text[1:]
	return s, p.value(&s)
}

// value parses a value up to the end of its line. Spaces around it do not count, unless they are quoted.
func (p *configParser) value(s *setting) error {
	var b strings.Builder
	quoted, comment, end := false, false, 0
	for i := 0; i <= len(p.text); i++ {
		if i == len(p.text) || p.text[i] == '\n' {
			if quoted {
				return errConfig
			}
			s.value, p.text = b.String()[:end], p.text[i:]
			return nil
		}
		c := p.text[i]
		switch {
		case comment:
			continue
		case c == '\\':
			if i++; i == len(p.text) {
				return errConfig
			}
			if p.text[i] == '\n' {
				end = b.Len()
				continue
			}
			escaped := strings.IndexByte(`tnb"\`, p.text[i])
			if escaped < 0 {
				return errConfig
			}
			b.WriteByte("\t\n\b\"\\"[escaped])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		case !quoted && (c == ' ' || c == '\t'):
			if b.Len() > 0 {
				b.WriteByte(c)
			}
			continue
		default:
			b.WriteByte(c)
		}
		end = b.Len()
	}
	return nil
}
