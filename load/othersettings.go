package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// otherMembers returns, by the names of members of Claude Code's settings that have no effect, what
// takes their place here.
func otherMembers() map[string]string {
	return map[string]string{
		"model": "the setting model", "env": "the environment", "sandbox": "the setting sandbox",
		"effortLevel":  "the setting effort",
		"apiKeyHelper": "a variable with the key", "disabledMcpjsonServers": `"disabled": true in a file of servers`,
		"permissions.defaultMode": "the setting mode",
	}
}

// OtherSettings returns a line for each file of Claude Code's settings, of the user and of a
// project, whose members have no effect although there is something here that does the same. Files
// that cannot be read are left to those who read their rules and hooks.
func OtherSettings(project *Project, getenv func(string) string) (lines []string) {
	add := func(name string, data []byte, others map[string]string) {
		if unused := otherMembersOf(data, others); len(unused) > 0 {
			lines = append(lines, fmt.Sprintf("%s: of its settings, these have no effect here: %s", name,
				strings.Join(unused, "; ")))
		}
	}
	own := userfiles.ClaudeSettings(getenv)
	if own != "" {
		if data, err := userfiles.Read(own, ext.MaxFile+1); err == nil {
			add(own, data, otherMembers())
		}
	}
	ofProject := otherMembers()
	ofProject["permissions.additionalDirectories"] = "the setting add_dir of your own" // rules count the user's
	for _, name := range projectClaudeSettings() {
		file := filepath.Join(project.Root, filepath.FromSlash(name))
		if f := project.File(name); f != nil && (own == "" || !project.isOwn(own, file)) {
			add(file, f.Data, ofProject)
		}
	}
	return lines
}

// otherMembersOf returns the members of a file that are among the others, each with what takes its
// place.
func otherMembersOf(data []byte, others map[string]string) (unused []string) {
	var all, permissions map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	if json.Unmarshal(all["permissions"], &permissions) != nil {
		permissions = nil
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		in, key := all, name
		if below, is := strings.CutPrefix(name, "permissions."); is {
			in, key = permissions, below
		}
		if _, has := in[key]; has {
			unused = append(unused, fmt.Sprintf("%s (here it is %s)", name, others[name]))
		}
	}
	return unused
}
