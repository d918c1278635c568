package load

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// projectMembers returns, by the names of members of Claude Code's settings of a project that have
// no effect, what takes their place here.
func projectMembers() map[string]string {
	return map[string]string{
		"model": "only you choose it, by the setting model", "env": "only your own variables count",
		"sandbox":     "the setting sandbox in .attractor/config.json of the project",
		"effortLevel": "the setting effort", "apiKeyHelper": "only your own key counts",
		"disabledMcpjsonServers":                   `"disabled": true in a file of servers`,
		"permissions.defaultMode":                  "only you decide what is permitted",
		"permissions.additionalDirectories":        "only you decide what is permitted, by the setting add_dir",
		"permissions.disableBypassPermissionsMode": "only you decide what is permitted",
	}
}

// OtherSettings returns a note for each member of the settings of other agents, of the user and of
// a project, that is about safety or models and has no effect here, with what takes its place.
// Files that cannot be read are left to those who read their rules and hooks.
func OtherSettings(project *Project, getenv func(string) string) (notes []string) {
	notes = settings.ReadOthers(getenv).Notes
	own := userfiles.ClaudeSettings(getenv)
	for _, name := range projectClaudeSettings() {
		file := filepath.Join(project.Root, filepath.FromSlash(name))
		f := project.File(name)
		if f == nil || own != "" && project.isOwn(own, file) {
			continue
		}
		for _, member := range membersOf(f.Data, projectMembers()) {
			notes = append(notes, fmt.Sprintf("%s: %s has no effect here: %s", file, member, projectMembers()[member]))
		}
	}
	return notes
}

// membersOf returns the members of a JSON file that are among the wanted.
func membersOf(data []byte, wanted map[string]string) (list []string) {
	var all, permissions map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	if json.Unmarshal(all["permissions"], &permissions) != nil {
		permissions = nil
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		in, key := all, name
		if below, is := strings.CutPrefix(name, "permissions."); is {
			in, key = permissions, below
		}
		if _, has := in[key]; has {
			list = append(list, name)
		}
	}
	return list
}

// maxTold limits the notes that are known to have been told.
const maxTold = 1000

// NewNotes reports whether one of the notes was not told yet, and keeps that they are now. The file
// is $XDG_STATE_HOME/attractor/notes.json; where it cannot be written, all notes are new.
func NewNotes(notes []string, getenv func(string) string) bool {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return len(notes) > 0
	}
	file := filepath.Join(state, "attractor", "notes.json")
	var told []string
	if data, err := userfiles.Read(file, maxTold*100); err == nil && json.Unmarshal(data, &told) != nil {
		told = nil
	}
	fresh := false
	for _, note := range notes {
		sum := sha256.Sum256([]byte(note))
		if id := hex.EncodeToString(sum[:16]); !slices.Contains(told, id) {
			told, fresh = append(told, id), true
		}
	}
	if !fresh {
		return false
	}
	data, err := json.Marshal(told[max(len(told)-maxTold, 0):])
	if err == nil && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = atomicfile.Write(file, data) // else they are told again
	}
	return true
}
