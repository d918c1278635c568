package cli

import (
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// In a conversation, the end of each turn says what the checks say about it.
func TestO6_ChatChecks(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "I claim it."},
		fakellm.Turn{Calls: []fakellm.Call{use("write_file", map[string]any{"file_path": "made", "content": "x\n"})}},
		fakellm.Turn{Text: "Now it is."})
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--yes", "--check", "test -e made", "--check-rounds", "0"), 80, 24)
	s.expect(ready)
	s.send("make it")
	s.expect(`checks: failed: "test -e made": exit code 1`)
	s.send("go on")
	s.expect("checks: verified")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
