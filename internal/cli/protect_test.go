//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// File tools cannot write to .git, even if --yes allows every call.
func TestI2_RunKeepsFileToolsOutOfGit(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(dir, ".git", "hooks", "pre-commit")
	patch := "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+touch PWNED\n*** End Patch"
	url, server := serve(t, nil, say("",
		use("write_file", map[string]any{"file_path": ".git/hooks/pre-commit", "content": "touch PWNED\n"}),
		use("shell", map[string]any{"command": "apply_patch <<'EOF'\n" + patch + "\nEOF"})), say("I tried."))
	cmd := attractorCommand(t, "run", "--base-url", url, "--yes", "--dir", dir, "look")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
	if got := runCommand(t, cmd); got.code != 0 {
		t.Errorf("exit code %d, stderr %s", got.code, got.stderr)
	}
	if results := lastResults(server.Requests()[1].Messages); strings.Count(results, "the file is protected") != 2 {
		t.Errorf("results:\n%s", results)
	}
	cmd = attractorCommand(t, "patch", "--dir", dir)
	cmd.Stdin = strings.NewReader(patch)
	if got := runCommand(t, cmd); got.code != exitFailed || !strings.Contains(got.stderr, "protected") {
		t.Errorf("patch: exit code %d, stderr %s", got.code, got.stderr)
	}
	if got := runCommand(t, attractorCommand(t, "tool", "write_file",
		`{"file_path":".git/hooks/pre-commit","content":""}`, "--dir", dir)); got.code != exitFailed {
		t.Errorf("tool: exit code %d, stdout %s", got.code, got.stdout)
	}
	if _, err := os.Stat(hook); err == nil {
		t.Error("the hook was written")
	}
}

// The command tool may replace a file without a session, but not one that needs a person's
// approval.
func TestI6_ToolWritesWithoutASession(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"f": 0o644, "fixed": 0o444} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("before"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"f": "after", "fixed": "before", ".mcp.json": ""} {
		got := runCommand(t, attractorCommand(t, "tool", "write_file", `{"file_path":"`+name+`","content":"after"}`,
			"--dir", dir))
		if (got.code == 0) != (want == "after") || want != "after" && !strings.Contains(got.stdout,
			"needs a person's approval") {
			t.Errorf("%s: exit code %d, %s%s", name, got.code, got.stdout, got.stderr)
		}
		if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != want || (err != nil) != (want == "") {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}
