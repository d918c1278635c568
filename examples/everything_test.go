package examples_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Everything(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		home + "/.config/attractor/config.json":    `{"mode": "accept-edits"}`,
		home + "/.attractor/commands/greet.md":     "Greet $ARGUMENTS.",
		dir + "/.attractor/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys.\n---\nRun make.",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := command(t, "everything", dir, func(r *fakellm.Request) fakellm.Turn {
		if !asked(r, "Greet Ada.") {
			return fakellm.Turn{Text: "What does that mean?"}
		}
		return fakellm.Turn{Text: "Hello, Ada."}
	}, "/greet Ada")
	cmd.Env = append(cmd.Env, "HOME="+home)
	prints(t, "everything", cmd)
}
