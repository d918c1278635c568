package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// A conversation is logged to a file. Standard error is refused, because it is the screen.
func TestN7_DebugInChat(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Hello."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--debug", "log"), 80, 24)
	s.expect(ready)
	s.send("greet me")
	s.expect("Hello.")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if count, _ := debugLines(t, filepath.Join(h.dir, "log")); count["http request"] != 1 || count["http body"] != 1 ||
		count["session ended"] != 1 {
		t.Errorf("lines: %v", count)
	}
	s = onScreen(t, chatting(h, "--debug", "-"), 80, 24)
	if code := s.ended(); code != exitUsage || !strings.Contains(s.all(), "standard error is a terminal") {
		t.Errorf("exit code %d\n%s", code, s.all())
	}
}
