//go:build unix

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/catalog"
)

// TestQ4_ModelsBySize checks that Claude Code's names of models choose the newest ones of
// Anthropic: for a new session, for a resumed one and while it runs. Another provider gets a name
// as it is.
func TestQ4_ModelsBySize(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("One."), say("Two."), say("Three."))
	h := newHome(t, url)
	var begun struct {
		SessionID string `json:"session_id"`
		Model     string
	}
	first, _, _ := strings.Cut(h.run(0, "run", "--yes", "--json", "--model", "sonnet", "first").stdout, "\n")
	if err := json.Unmarshal([]byte(first), &begun); err != nil {
		t.Fatal(err)
	}
	if want := newest(t, "sonnet"); begun.Model != want {
		t.Errorf("the session has the model %q, want %q", begun.Model, want)
	}
	h.run(0, "run", "--yes", "--resume", begun.SessionID, "--model", "opus", "second")
	p := h.converse("--resume", begun.SessionID)
	p.say("set", map[string]any{"model": "haiku"})
	p.reply(1, "")
	p.say("user", map[string]any{"text": "third"})
	p.next("PROCESSING_END")
	p.close()
	h.runWith(0, []string{"ANTHROPIC_API_KEY=", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url + "/v1"},
		"run", "--yes", "--provider", "openai", "--model", "sonnet", "x")
	var asked []string
	for _, r := range server.Requests() {
		asked = append(asked, r.Model)
	}
	want := []string{newest(t, "sonnet"), newest(t, "opus"), newest(t, "haiku"), "sonnet"}
	if strings.Join(asked, " ") != strings.Join(want, " ") {
		t.Errorf("requests for %v, want %v", asked, want)
	}
}

// newest returns the newest model of Anthropic of a size.
func newest(t *testing.T, size string) string {
	t.Helper()
	for _, m := range catalog.New().List("anthropic") {
		if strings.HasPrefix(m.ID, "claude-"+size+"-") {
			return m.ID
		}
	}
	t.Fatalf("no model is a %s", size)
	return ""
}
