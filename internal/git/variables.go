package git

import (
	"fmt"
	"os/user"
	"path"
	"strings"
)

// maxVariables is the most settings that are taken from variables.
const maxVariables = 1000

// variableSettings returns the settings that the user's variables give git.
func variableSettings(getenv func(string) string) (list []Setting) {
	for i := range maxVariables { // git reads GIT_CONFIG_COUNT in more ways than one
		name := getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i))
		if name == "" || getenv("GIT_CONFIG_COUNT") == "" {
			break
		}
		list = append(list, newSetting(name, getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))))
	}
	for _, word := range unquoted(getenv("GIT_CONFIG_PARAMETERS")) {
		name, value, _ := strings.Cut(word, "=")
		list = append(list, newSetting(name, value))
	}
	return list
}

// newSetting returns a setting with its name as ParseConfig spells it.
func newSetting(name, value string) Setting {
	section, rest, _ := strings.Cut(name, ".")
	s := Setting{Name: rest}
	key := s.Key()
	return Setting{Name: strings.ToLower(section) + "." + strings.TrimSuffix(rest, key) + strings.ToLower(key),
		Value: value}
}

// unquoted returns the words of a text that git has quoted for a shell.
func unquoted(text string) (words []string) {
	var word strings.Builder
	in, quoted := false, false
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text), text[i] == ' ' && !quoted:
			if in {
				words = append(words, word.String())
			}
			in = false
			word.Reset()
			continue
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == '\\' && !quoted && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(text[i])
		}
		in = true
	}
	return words
}

// localPath is Path on this machine, where also the home directories of others are known.
func (s Setting) localPath(home string) string {
	name, rest, _ := strings.Cut(strings.TrimPrefix(s.Value, "~"), "/")
	if !strings.HasPrefix(s.Value, "~") || name == "" {
		return s.Path(home)
	}
	if u, err := user.Lookup(name); err == nil {
		return path.Join(u.HomeDir, rest)
	}
	return s.Value
}
