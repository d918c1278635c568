package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// unreadTOML stands for a value that exists and whose form is not parsed, because nothing needs it.
type unreadTOML struct{}

// tomlMembers returns the members of a TOML file by their names, with those of their tables and dots
// in front: strings, switches, and numbers and dates as texts. Other values are unreadTOML. Those of
// arrays of tables are left out.
func tomlMembers(data []byte) (map[string]any, error) {
	all := map[string]any{}
	table, skip := "", false
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "" || line[0] == '#':
			continue
		case strings.HasPrefix(line, "[["):
			skip = true
			continue
		case line[0] == '[':
			name, _, closed := strings.Cut(line[1:], "]")
			if !closed {
				return nil, fmt.Errorf("line %d: the name of a table has no end", i+1)
			}
			table, skip = strings.ReplaceAll(strings.TrimSpace(name), `"`, "")+".", false
			all[strings.TrimSuffix(table, ".")] = unreadTOML{}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d: it has no =", i+1)
		}
		first := i
		value = strings.TrimSpace(value)
		for _, quotes := range []string{`"""`, "'''"} {
			for strings.HasPrefix(value, quotes) && strings.Count(value, quotes) < 2 && i+1 < len(lines) {
				i++
				value += "\n" + lines[i]
			}
		}
		for strings.HasPrefix(value, "[") && !closedList(value) && i+1 < len(lines) {
			i++
			value += "\n" + lines[i]
		}
		name := table + strings.Trim(strings.TrimSpace(key), `"'`)
		if _, again := all[name]; again && !skip {
			return nil, fmt.Errorf("line %d: %s is there twice", first+1, name)
		}
		if !skip {
			all[name] = tomlValue(value)
		}
	}
	return all, nil
}

// closedList reports whether the brackets of a list are closed, outside of strings and comments.
func closedList(text string) bool {
	depth, quote, comment, escaped := 0, byte(0), false, false
	for i := range len(text) {
		switch c := text[i]; {
		case escaped:
			escaped = false
		case comment:
			comment = c != '\n'
		case quote == '"' && c == '\\':
			escaped = true
		case quote != 0:
			if c == quote || c == '\n' {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			comment = true
		case c == '[':
			depth++
		case c == ']':
			depth--
		}
	}
	return depth <= 0
}

// tomlValue returns a value of the file.
func tomlValue(text string) any {
	switch {
	case strings.HasPrefix(text, `"""`), strings.HasPrefix(text, "'''"), text == "":
		return unreadTOML{}
	case text[0] == '"':
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			if plain, err := strconv.Unquote(quoted); err == nil {
				return plain
			}
		}
		return unreadTOML{}
	case text[0] == '\'':
		if plain, _, closed := strings.Cut(text[1:], "'"); closed {
			return plain
		}
		return unreadTOML{}
	case text[0] == '[', text[0] == '{':
		return unreadTOML{}
	}
	word, _, _ := strings.Cut(text, "#")
	switch word = strings.TrimSpace(word); word {
	case "true":
		return true
	case "false":
		return false
	}
	return word
}
