package git

import (
	"errors"
	"path"
	"strings"
)

// Setting is one line of git's configuration. Name is section.key or section.subsection.key; only
// the subsection may have capitals.
type Setting struct {
	Name, Value string
	Bare        bool // there is no = in the line: the value is true
}

// Section returns the section, in lower case.
func (s Setting) Section() string {
	section, _, _ := strings.Cut(s.Name, ".")
	return section
}

// Key returns the last part of the name, in lower case.
func (s Setting) Key() string { return s.Name[strings.LastIndexByte(s.Name, '.')+1:] }

// No reports whether the value is false.
func (s Setting) No() bool {
	switch strings.ToLower(s.Value) {
	case "false", "no", "off", "0":
		return true
	}
	return s.Value == "" && !s.Bare
}

// Path returns the value as a path, with ~ replaced by a home directory. An empty one is not known.
func (s Setting) Path(home string) string {
	if rest, ok := strings.CutPrefix(s.Value, "~/"); ok && home != "" {
		return path.Join(home, rest)
	}
	return s.Value
}

var errConfig = errors.New("it has an unusual form")

// maxNames limits the names of all settings of a file, in bytes: each has that of its section.
const maxNames = 8 << 20

// ParseConfig parses a file of git's configuration. It refuses what it does not understand.
func ParseConfig(text string) (list []Setting, err error) {
	p := &configParser{text: strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")}
	if strings.ContainsAny(p.text, "\x00\r") { // git ends names at a NUL, and trims carriage returns
		return nil, errConfig
	}
	section, names := "", 0
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
			if names += len(s.Name); names > maxNames {
				return nil, errConfig
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
func (p *configParser) setting(section string) (Setting, error) {
	i := 0
	for i < len(p.text) && nameChar(p.text[i]) {
		i++
	}
	if i == 0 || section == "" {
		return Setting{}, errConfig
	}
	s := Setting{Name: section + "." + strings.ToLower(p.text[:i])}
	p.text = strings.TrimLeft(p.text[i:], " \t")
	if p.text == "" || p.text[0] == '\n' || p.text[0] == '#' || p.text[0] == ';' {
		s.Bare = true
		return s, nil
	}
	if p.text[0] != '=' {
		return s, errConfig
	}
	p.text = p.text[1:]
	return s, p.value(&s)
}

// value parses a value up to the end of its line. Spaces around it do not count, unless they are
// quoted.
func (p *configParser) value(s *Setting) error {
	var b strings.Builder
	quoted, comment, end := false, false, 0
	for i := 0; i <= len(p.text); i++ {
		if i == len(p.text) || p.text[i] == '\n' {
			if quoted {
				return errConfig
			}
			s.Value, p.text = b.String()[:end], p.text[i:]
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
