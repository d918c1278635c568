//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// The command lists hooks, runs them, logs their runs with --debug, and obeys --no-hooks and
// --strict-hooks.
func TestM9_Command(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	file := filepath.Join(h.dir, ".attractor", "hooks.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file,
		[]byte(`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo x >>ran; echo a-note; exit 1", "onFailure": "continue"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.run(0, "hooks"); !strings.Contains(got.stdout, "UserPromptSubmit") || !strings.Contains(got.stdout,
		"needs trust") || !strings.Contains(got.stdout, "hooks.json:1") {
		t.Errorf("%+v", got)
	}
	got := h.run(0, "run", "--yes", "--trust-project", "--debug", "debug.jsonl", "go")
	log, err := os.ReadFile(filepath.Join(h.dir, "debug.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"level":"WARN","msg":"hook ran","session":"`, `"event":"UserPromptSubmit"`,
		`"code":1,`, `"stdout":"a-note\n"`, "it ended with code 1"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("there is no %q in %s", want, log)
		}
	}
	if !strings.Contains(got.stderr, "It has no effect.") {
		t.Errorf("nobody is told of the hook: %s", got.stderr)
	}
	h.run(0, "run", "--yes", "--trust-project", "--no-hooks", "go")
	if got := h.run(1, "run", "--yes", "--trust-project", "--strict-hooks", "go"); !strings.Contains(got.stderr,
		"must not fail") {
		t.Errorf("%+v", got)
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "ran")); err != nil || string(data) != "x\nx\n" {
		t.Errorf("the hook wrote %q, %v", data, err)
	}
}
