package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/trust"
)

// Commands and agents need trust wherever they are, and are shown as what they are.
func TestM7_PlacesOfCommandsAndAgents(t *testing.T) {
	dir := t.TempDir()
	want := map[string]trust.Kind{".agents/commands/a.md": trust.Commands, ".claude/commands/git/a.md": trust.Commands,
		".attractor/commands/a.md": trust.Commands,
		".gemini/commands/a.toml":  trust.Commands, ".agents/agents/a.md": trust.Agents,
		".claude/agents/a.md": trust.Agents, ".attractor/agents/a.md": trust.Agents,
		".attractor/skills/a/SKILL.md": trust.Skills, ".attractor/rules.json": trust.Settings}
	for name := range want {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := trust.Scan(dir)
	if err != nil || len(found.Files) != len(want) {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, f := range found.Files {
		if f.Kind != want[f.Name] {
			t.Errorf("%s is of the kind %s", f.Name, f.Kind)
		}
	}
}

// What a project may start once it is trusted is among the guarded entries of the one table of
// delicate files.
func TestT4_PlacesAreDelicate(t *testing.T) {
	for _, p := range trust.Places() {
		first, _, _ := strings.Cut(p.Name, "/")
		if !slices.Contains(env.DelicateFiles(), env.Delicate{Name: first, Guarded: true}) {
			t.Errorf("%s is not in the table", p.Name)
		}
	}
}
