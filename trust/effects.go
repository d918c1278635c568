package trust

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Effect is something that a file of a project starts or allows.
type Effect struct {
	File string
	// What says what it is, such as "allows", "hook" or "server".
	What string
	// Text is a rule, a command or a name, as the file has it: clean it before a terminal shows it.
	Text string
}

// Effects returns what the files start or allow, in the order of the files. It describes them for a
// person and is not complete: what a file really does is decided by the code that uses it.
func (s *Snapshot) Effects() (all []Effect) {
	for i := range s.Files {
		f := &s.Files[i]
		switch {
		case f.Link != "" && f.Data == nil:
		case strings.HasSuffix(f.Name, ".json") && (f.Kind == Settings || f.Kind == Servers || f.Kind == Hooks):
			all = append(all, jsonEffects(f)...)
		case f.Kind == Skills && !strings.HasSuffix(f.Name, "/SKILL.md"):
		default:
			all = append(all, Effect{f.Name, plain(f.Kind), ""})
		}
	}
	return all
}

// plain returns what a file of a kind does if nothing in it says more.
func plain(k Kind) string {
	switch k {
	case Commands:
		return "command"
	case Skills:
		return "skill"
	case Agents:
		return "agent"
	case Script:
		return "is run"
	}
	return string(k)
}

// jsonEffects returns the rules that allow, the commands of hooks, the MCP servers and the language
// servers in a JSON file.
func jsonEffects(f *File) (all []Effect) {
	add := func(what, text string) {
		if e := (Effect{f.Name, what, text}); len(all) < maxEffects && !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	if f.Name == settings {
		for _, e := range settingEffects(f) {
			add(e.What, e.Text)
		}
	}
	err := eachString(f.Data, func(keys []string, value string) {
		last := ""
		for _, k := range keys {
			if k != "" {
				last = k
			}
		}
		switch {
		case has(keys, "allow") && (last == "" || strings.EqualFold(last, "allow") || strings.EqualFold(last, "rule")):
			add("allows", value)
		case has(keys, "mcpServers"):
			server := after(keys, "mcpServers")
			if what, shown := serverEffect(keys, last, value); shown != "" {
				add("server "+server+what, shown)
			}
			for _, name := range variables(value) {
				if name == projectDir {
					continue
				}
				add("server "+server+" gets your variable", name)
			}
		case f.Name == languageServers && len(keys) > 1 && (strings.EqualFold(keys[1], "command") ||
			strings.EqualFold(keys[1], "args")):
			add("language server "+keys[0], value)
		case f.Name == languageServers && len(keys) > 1 && strings.EqualFold(keys[1], "env"):
			add("language server "+keys[0]+" gets", last+"="+value)
		case has(keys, "hooks") && (strings.EqualFold(last, "command") || strings.EqualFold(last, "args")):
			add("hook", value)
		}
	})
	if err != nil {
		add("is not JSON", err.Error())
	}
	return all
}

// settings is the file of a project's settings.
const settings = ".attractor/config.json"

// settingEffects returns the members of a file of settings, in the order of their names.
func settingEffects(f *File) (all []Effect) {
	var members map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf")), &members) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		var text bytes.Buffer
		if json.Compact(&text, members[key]) != nil {
			continue // cannot happen: it was decoded
		}
		all = append(all, Effect{f.Name, "sets " + key, text.String()})
	}
	return all
}

// languageServers is the file of a project's language servers.
const languageServers = ".attractor/lsp.json"

// serverEffect returns what a text in the description of a server says to a person.
func serverEffect(keys []string, last, value string) (what, shown string) {
	switch {
	case has(keys, "env"), has(keys, "headers"):
		if has(keys, "env") {
			return " sets", last + "=" + value
		}
		return " sends", last + ": " + value
	case strings.EqualFold(last, "command"), strings.EqualFold(last, "url"):
		return "", value
	case strings.EqualFold(last, "args"):
		return " gets the argument", value
	case strings.EqualFold(last, "hosts"):
		return " reaches", value
	case strings.EqualFold(last, "cwd"):
		return " works in", value
	case strings.EqualFold(last, "clientSecretVar"):
		return " gets your variable", value
	}
	return "", ""
}

// projectDir is a name that stands for the root of the project and for no variable of the
// environment.
const projectDir = "CLAUDE_PROJECT_DIR"

// variables returns the names of the variables of the environment in a text, each ${NAME} or
// ${NAME:-default}.
func variables(text string) (all []string) {
	for {
		_, rest, found := strings.Cut(text, "${")
		inside, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return all
		}
		name, _, _ := strings.Cut(inside, ":-")
		all, text = append(all, name), after
	}
}

// maxEffects limits the effects of one file.
const maxEffects = 1_000

// after returns the key that follows another one.
func after(keys []string, key string) string {
	i := slices.IndexFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
	if i+1 < len(keys) {
		return keys[i+1]
	}
	return ""
}
