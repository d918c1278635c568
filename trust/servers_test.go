package trust_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// What servers and hooks run is part of what is trusted, in whichever directory and form they name
// it, and what is not known of them is said.
func TestU19_FormsOfStarting(t *testing.T) {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args,omitempty"`
		Cwd     string   `json:"cwd,omitempty"`
	}
	words := func(cwd, command string) server {
		list := strings.Fields(command)
		return server{list[0], list[1:], cwd}
	}
	for _, c := range []struct {
		start any    // a server, or the command of a hook
		file  string // which it runs; empty if that is not found, with - if it must not count
		said  bool   // that it may run more
	}{
		{words("sc", "./x.sh"), "sc/x.sh", false},
		{words("${CLAUDE_PROJECT_DIR}/sc", "./x.sh"), "sc/x.sh", false},
		{words("sc", "node index.js"), "sc/index.js", true},
		{words("", "node ."), "lib/m.js", true},
		{words("", "node sc"), "sc/index.js", true},
		{words("", "node sc/index"), "sc/index.js", true},
		{words("", "python3 -m sc"), "sc/__main__.py", true},
		{words("", "python3 sc"), "sc/__main__.py", true},
		{words("", "npm start"), "package.json", true},
		{words("sc", "make"), "sc/Makefile", true},
		{words("", "env -C sc ./x.sh"), "sc/x.sh", false},
		{server{Command: "bash", Args: []string{"-c", "cd sc; ./x.sh"}}, "sc/x.sh", false},
		{server{Command: "bash", Args: []string{"-c", "$X"}}, "", true},
		{words("", "npx -y @scope/server"), "-package.json", true},
		{"env -C sc ./x.sh", "sc/x.sh", false},
		{"env --chdir=sc -u X ./x.sh", "sc/x.sh", false},
		{"cd -P sc && ./x.sh", "sc/x.sh", false},
		{"node .", "lib/m.js", true},
		{"node ./", "lib/m.js", true},
		{"node sc/", "sc/index.js", true},
		{"python3 ./sc", "sc/__main__.py", true},
		{"awk -fsc/x.sh", "sc/x.sh", false},
		{"sed -fsc/x.sh", "sc/x.sh", false},
		{"tar cf /dev/null -Isc/x.sh sc", "sc/x.sh", false},
	} {
		dir := t.TempDir()
		name, form := ".mcp.json", any(map[string]any{"mcpServers": map[string]any{"s": c.start}})
		if command, hook := c.start.(string); hook {
			name, form = ".claude/settings.json", map[string]any{"hooks": map[string]any{"SessionStart": []any{
				map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}}}
		}
		text, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{name: string(text), "sc/x.sh": "#!/bin/sh\n", "sc/index.js": "",
			"sc/__main__.py": "",
			"sc/Makefile":    "", "package.json": `{"main": "lib/m"}`, "lib/m.js": ""} {
			name = filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
				os.WriteFile(name, []byte(text), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := trust.Scan(dir)
		if err != nil {
			t.Fatal(err)
		}
		file, not := strings.CutPrefix(c.file, "-")
		if c.file != "" && (s.File(file) == nil) != not {
			t.Errorf("%+v: whether %s is part of what is trusted", c.start, c.file)
		}
		if said := slices.ContainsFunc(s.Unwatched,
			func(p trust.Problem) bool { return p.Name == name }); said != c.said {
			t.Errorf("%+v: said is %+v", c.start, s.Unwatched)
		}
	}
}
