//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A call's line shows how a command ended and which files the call changed. Both come from the result's structure, not from its text.
func TestJ4_ProgressShowsOutcomes(t *testing.T) {
	shell := func(command string, more ...any) fakellm.Turn {
		args := map[string]any{"command": command}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return say("", use("shell", args))
	}
	url, _ := serve(t, nil,
		shell("echo 'Exit code: 7'; exit 3"), shell("kill -KILL $$"), shell("exec sleep 600", "timeout_ms", 100), shell("exec sleep 601", "run_in_background", true),
		shell("sleep 602 >/dev/null 2>&1 & true"), shell("echo fine"),
		say("", use("write_file", map[string]any{"file_path": "d/new", "content": "n\n"})),
		say("", use("edit_file", map[string]any{"file_path": "d/new", "old_string": "n", "new_string": "m"})),
		shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: old\n*** Update File: d/new\n*** Move to: moved\n-m\n+o\n*** End Patch\nEOF"),
		say("", use("edit_file", map[string]any{"file_path": "none", "old_string": "n", "new_string": "m"})),
		fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	if err := os.WriteFile(filepath.Join(h.dir, "old"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := h.run(0, "run", "--yes", "--no-journal", "the task")
	var lines []string
	for line := range strings.Lines(out.stderr) {
		if strings.HasPrefix(line, "✓ ") || strings.HasPrefix(line, "✗ ") {
			lines = append(lines, line)
		}
	}
	want := []string{"✗ shell echo 'Exit code: 7'; exit 3 · exit code 3 ", "✗ shell kill -KILL $$ · killed by SIGKILL ", "✗ shell exec sleep 600 · timed out after 100ms ",
		"✓ shell exec sleep 601 · running as ", "✓ shell sleep 602 >/dev/null 2>&1 & true · left running: ", "✓ shell echo fine ",
		"✓ write_file d/new (created) ", "✓ edit_file d/new ", "✓ shell old (deleted), d/new → moved ", "✗ edit_file none · "}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.stderr)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want[i])
		}
	}
}

// With --diffs the events have diffs, and the journal keeps them.
func TestJ4_DiffsFlag(t *testing.T) {
	url, _ := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "new", "content": "n\n"})), fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	out := h.run(0, "run", "--yes", "--json", "--diffs", "1000", "the task")
	shown := h.run(0, "sessions", "events", h.sessions()[0].ID)
	for what, events := range map[string]string{"run": out.stdout, "sessions events": shown.stdout} {
		var got []string
		for line := range strings.Lines(events) {
			var ev struct {
				Changes []struct{ Kind, Diff string }
			}
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatal(err)
			}
			for _, c := range ev.Changes {
				got = append(got, c.Kind+" "+c.Diff)
			}
		}
		if want := "created --- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+n\n"; strings.Join(got, "") != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	h.run(exitUsage, "run", "--diffs", "-1", "x")
}
