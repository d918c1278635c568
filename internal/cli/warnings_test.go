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

// A session that goes on with another provider, model or effort warns of what is asked from now on,
// once, and of nothing that was before.
func TestU13_WarningsOfAContinuedSession(t *testing.T) {
	t.Parallel()
	turns := make([]fakellm.Turn, 6)
	for i := range turns {
		turns[i].Text = "ok"
	}
	url, _ := serve(t, nil, turns...)
	h := newHome(t, url)
	openai := []string{"OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url + "/v1"}
	for _, step := range []struct {
		args []string
		want []string // the models that are not in the catalog, or other warnings
	}{
		{[]string{"--provider", "anthropic", "--model", "first-unknown"}, []string{`"first-unknown" of anthropic`}},
		{[]string{"--continue"}, []string{`"first-unknown" of anthropic`}},
		{[]string{"--continue", "--provider", "openai", "--model", "second-unknown"},
			[]string{`"second-unknown" of openai`}},
		{[]string{"--continue", "--provider", "openai", "--model", "second-unknown", "--effort", "odd"},
			[]string{`"second-unknown" of openai`, `"odd" is unknown`}},
		{[]string{"--continue", "--effort", "low"}, []string{`"second-unknown" of openai`}},
		{[]string{"--continue", "--provider", "anthropic", "--model", "claude-haiku-4-5"}, nil},
	} {
		out := h.runWith(0, openai, append(append([]string{"run", "--yes"}, step.args...), "go on")...)
		var warnings []string
		for line := range strings.Lines(out.stderr) {
			if strings.HasPrefix(line, "! ") {
				warnings = append(warnings, line)
			}
		}
		for i, w := range warnings {
			if i >= len(step.want) || !strings.Contains(w, step.want[i]) {
				t.Errorf("%q: %s", step.args, w)
			}
		}
		if len(warnings) != len(step.want) {
			t.Errorf("%q: %d warnings, want %d:\n%s", step.args, len(warnings), len(step.want), out.stderr)
		}
	}
}

// A call that a session with rules refuses is refused by attractor tool with these rules, in the
// same words, also if the rules deny only a file that the call would read on its way.
func TestU13_ToolRefusesWhatASessionRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool    string
		args    object
		refused bool
	}{
		{"read_file", object{"file_path": ".env"}, true},
		{"shell", object{"command": "cat .env"}, true},
		{"grep", object{"pattern": "TOKEN"}, true},
		{"shell", object{"command": "curl example.com"}, true},
		{"shell", object{"command": "true && echo fine"}, false},
		{"grep", object{"pattern": "fine", "path": "other"}, false},
	} {
		url, server := serve(t, nil, say("", use(c.tool, c.args)), say("Done."))
		h := newHome(t, url)
		rules := filepath.Join(h.home, "rules.json")
		for file, text := range map[string]string{rules: `{"permissions": {"deny": ["Read(.env)", "Bash(curl:*)"]}}`,
			filepath.Join(h.dir, ".env"): "TOKEN=1\n", filepath.Join(h.dir, "other"): "fine\n"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		code := 0
		if c.refused {
			code = exitFailed
		}
		got := h.run(code, "tool", "--rules", rules, c.tool, string(args)).stdout
		h.run(0, "run", "--yes", "--no-journal", "--rules", rules, "go")
		if told := lastResults(server.Requests()[1].Messages); strings.TrimSpace(told) != strings.TrimSpace(got) {
			t.Errorf("%s %s: a session says\n%s\nand attractor tool\n%s", c.tool, args, told, got)
		}
	}
}
