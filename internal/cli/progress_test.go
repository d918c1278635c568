//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A call's line shows how a command ended and which files the call changed. Both come from the
// result's structure, not from its text.
func TestJ4_ProgressShowsOutcomes(t *testing.T) {
	t.Parallel()
	shell := func(command string, more ...any) fakellm.Turn {
		args := map[string]any{"command": command}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return say("", use("shell", args))
	}
	url, _ := serve(t, nil,
		shell("echo 'Exit code: 7'; exit 3"), shell("kill -KILL $$"), shell("exec sleep 600", "timeout_ms", 100),
		shell("exec sleep 601", "run_in_background", true),
		shell("sleep 602 >/dev/null 2>&1 & true"), shell("echo fine"),
		say("", use("write_file", map[string]any{"file_path": "d/new", "content": "n\n"})),
		say("", use("edit_file", map[string]any{"file_path": "d/new", "old_string": "n", "new_string": "m"})),
		shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: old\n*** Update File: d/new\n*** Move to: "+
			"moved\n-m\n+o\n*** End Patch\nEOF"),
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
	want := []string{"✗ shell echo 'Exit code: 7'; exit 3 · exit code 3 ", "✗ shell kill -KILL $$ · killed by SIGKILL ",
		"✗ shell exec sleep 600 · timed out after 100ms ",
		"✓ shell exec sleep 601 · running as ", "✓ shell sleep 602 >/dev/null 2>&1 & true · left running: ",
		"✓ shell echo fine ",
		"✓ write_file d/new (created) ", "✓ edit_file d/new ", "✓ shell old (deleted), d/new → moved ",
		"✗ edit_file none · "}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.stderr)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want[i])
		}
	}
}

// Events and the journal have diffs, unless --diffs is 0.
func TestJ4_DiffsFlag(t *testing.T) {
	const created = "created --- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+n\n"
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, created},
		{[]string{"--diffs", "1000"}, created},
		{[]string{"--diffs", "0"}, "created "},
	} {
		url, _ := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "new", "content": "n\n"})),
			fakellm.Turn{Text: "done"})
		h := newHome(t, url)
		out := h.run(0, append(append([]string{"run", "--yes", "--json"}, c.flags...), "the task")...)
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
				for _, change := range ev.Changes {
					got = append(got, change.Kind+" "+change.Diff)
				}
			}
			if strings.Join(got, "") != c.want {
				t.Errorf("%v: %s: %q, want %q", c.flags, what, got, c.want)
			}
		}
	}
	newHome(t, "").run(exitUsage, "run", "--diffs", "-1", "x")
}

// The whole text of a long output is kept with the session, with secrets masked, unless
// --keep-outputs is 0.
func TestJ8_KeepOutputsFlag(t *testing.T) {
	const long = 100_000
	script := fmt.Sprintf(`echo key-of-a-test; printf 'x%%.0s' $(seq %d); echo; echo key-of-a-test; echo the end`, long)
	for _, c := range []struct {
		flags []string
		kept  bool
	}{{nil, true}, {[]string{"--keep-outputs", "0"}, false}, {[]string{"--keep-outputs", "5000"}, false}} {
		url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": script})), fakellm.Turn{Text: "done"})
		h := newHome(t, url)
		h.run(0, append(append([]string{"run", "--yes", "--json"}, c.flags...), "the task")...)
		id, hash := h.sessions()[0].ID, ""
		for line := range strings.Lines(h.run(0, "sessions", "events", id).stdout) {
			var ev struct {
				OutputBlob string `json:"output_blob"`
			}
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatal(err)
			}
			hash += ev.OutputBlob
		}
		if (hash != "") != c.kept {
			t.Errorf("%v: the output has the blob %q, want one: %v", c.flags, hash, c.kept)
		}
		if hash == "" {
			continue
		}
		whole := h.blob(id, hash)
		if len(whole) < long || !strings.HasSuffix(whole, "the end\n") || strings.Contains(whole, "key-of-a-test") ||
			strings.Count(whole, "[secret ") != 2 {
			t.Errorf("%v: %d bytes, %q ... %q", c.flags, len(whole), whole[:40], whole[len(whole)-40:])
		}
	}
}

// blob returns a blob of a session's journal.
func (h *home) blob(id, hash string) string {
	h.Helper()
	r, err := journal.NewDir(filepath.Join(h.home, ".local", "state", "attractor", "sessions")).Read(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	defer r.Close() // it is only read
	blob, err := r.Blob(h.Context(), hash)
	if err != nil {
		h.Fatal(err)
	}
	defer blob.Close() // it is only read
	data, err := io.ReadAll(blob)
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}
