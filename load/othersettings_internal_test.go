package load

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What settings of other agents say about safety and models and what has no effect here is named,
// with what takes its place, and told once. Rules and hooks have an effect.
func TestQ4_X5_OtherSettings(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home, "XDG_STATE_HOME": home}[name] }
	write := func(in, name, text string) {
		t.Helper()
		name = filepath.Join(in, ".claude", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(home, "settings.json",
		`{"model": "opus", "apiKeyHelper": "x", "permissions": {"allow": ["Read"], "defaultMode": "plan", "additionalDirectories": ["/no/such/dir"]}, "hooks": {}, "statusLine": {}}`)
	write(dir, "settings.json", `{"permissions": {"deny": ["Bash(curl:*)"], "additionalDirectories": ["../lib"]}}`)
	write(dir, "settings.local.json", `{"env": {"A": "b"}, "permissions": 1}`)
	project, err := ReadProject(dir, getenv, false)
	if err != nil {
		t.Fatal(err)
	}
	lines := OtherSettings(project, getenv)
	claude := filepath.Join(home, ".claude", "settings.json")
	project1, project2 := filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(dir, ".claude", "settings.local.json")
	want := []string{claude + ": permissions.additionalDirectories has no effect here: /no/such/dir is not a directory",
		claude + ": apiKeyHelper has no effect here: use the setting key_command",
		project1 + ": permissions.additionalDirectories has no effect here: only you decide what is permitted, by " +
			"the setting add_dir",
		project2 + ": env has no effect here: only your own variables count"}
	if !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	if !NewNotes(lines, getenv) || NewNotes(lines, getenv) || NewNotes(lines[1:], getenv) ||
		!NewNotes(append(lines, "more"), getenv) ||
		NewNotes(nil, getenv) {
		t.Error("notes are not told once each")
	}
	if err := os.WriteFile(filepath.Join(home, "attractor", "notes.json"), []byte("{"), 0o600); err != nil ||
		!NewNotes(lines, getenv) {
		t.Errorf("a damaged file: %v", err)
	}
}
