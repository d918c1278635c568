package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A conversation completes the names of files over there, and a new one after /clear goes on there.
func TestO1_ChatElsewhere(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil,
		say("", use("shell", map[string]any{"command": "echo $(cat guides/only-there.md) $WHERE >>copy"})),
		fakellm.Turn{Text: "Copied."})
	h := chatHome(t, url)
	b := h.newBox(false, true)
	b.put(h, "guides/only-there.md", "the guide")
	b.put(h, "guides/.hidden", "")
	s := onScreen(t, chatting(h, "--yes", "--env-command", b.command), 80, 24)
	s.expect(ready)
	s.typeText("read @gui")
	s.press("Tab")
	s.expect("read @guides/")
	s.press("Tab")
	s.expect("read @guides/only-there.md")
	s.press("Enter")
	s.expect("Copied.")
	s.expect("done · ")
	s.gone("working · ") // until then /clear is refused
	s.send("/clear")
	s.send("once more") // which waits for the other session
	s.until("the second answer", func() bool { return strings.Count(s.all(), "Copied.") == 2 })
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if first := messagesIn(server, 0); !strings.Contains(first, "@guides/only-there.md") {
		t.Errorf("the first message is %s", first)
	}
	if second := messagesIn(server, 2); strings.Contains(second, "Copied.") {
		t.Errorf("/clear has kept the conversation: %s", second)
	}
	if b.text("copy") != "the guide there\nthe guide there\n" || h.names() != "" {
		t.Errorf("over there is %q, here %s", b.text("copy"), h.names())
	}
	for _, session := range h.sessions() {
		if session.Dir != b.dir {
			t.Errorf("a session works in %s", session.Dir)
		}
	}
}
