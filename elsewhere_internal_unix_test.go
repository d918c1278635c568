//go:build unix

package attractor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// On another machine, too, what PATH finds in the repository around the session is no program of
// the system: images put node_modules/.bin of what they are for first.
func TestL2_ProgramsOfARepositoryElsewhere(t *testing.T) {
	top := realPath(t.TempDir())
	work, bin := filepath.Join(top, "packages/one"), filepath.Join(top, "node_modules/.bin")
	for _, dir := range []string{work, bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "cat"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(work, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}()
	vars := []string{"PATH=" + bin + ":/usr/bin:/bin"}
	for home, want := range map[string]tool.Verdict{t.TempDir(): tool.Ask, filepath.Join(top, "home"): tool.Allow} {
		f := &elsewhere{machine: given{env.Base{Environment: local}},
			surroundings: surroundings{top: top, home: home, vars: vars}}
		set, err := rules.Load(f.ruleDirs(nil))
		if err != nil {
			t.Fatal(err)
		}
		got := set.Decide(t.Context(), local,
			tool.Request{Call: llm.ToolCall{Name: "shell"}, Access: tool.Access{Command: "cat a", Dir: work}})
		if got.Verdict != want {
			t.Errorf("with the home directory %s: %s, %s", home, got.Verdict, got.Reason)
		}
	}
}
