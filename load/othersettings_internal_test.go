package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What Claude Code's settings say and what has no effect here is named, with what takes its place.
// Rules and hooks have an effect.
func TestQ4_OtherSettings(t *testing.T) {
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
		`{"model": "opus", "permissions": {"allow": ["Read"], "defaultMode": "plan", "additionalDirectories": ["/a"]}, "hooks": {}, "statusLine": {}}`)
	write(dir, "settings.json", `{"permissions": {"deny": ["Bash(curl:*)"], "additionalDirectories": ["../lib"]}}`)
	write(dir, "settings.local.json", `{"env": {"A": "b"}, "permissions": 1}`)
	project, err := ReadProject(dir, getenv, false)
	if err != nil {
		t.Fatal(err)
	}
	lines := OtherSettings(project, getenv)
	if len(lines) != 3 || !strings.HasSuffix(lines[0],
		": model (here it is the setting model); permissions.defaultMode (here it is the setting mode)") ||
		!strings.HasPrefix(lines[0], filepath.Join(home, ".claude", "settings.json")) || !strings.HasSuffix(lines[1],
		": permissions.additionalDirectories (here it is the setting add_dir of your own)") ||
		!strings.HasSuffix(lines[2],
			"settings.local.json: of its settings, these have no effect here: env (here it is the environment)") {
		t.Errorf("lines %q", lines)
	}
}
