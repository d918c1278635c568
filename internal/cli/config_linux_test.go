package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// What a project can choose counts while its file is the one that its user has trusted, and not any more when the file has changed.
func TestN8_ConfigTrusted(t *testing.T) {
	t.Parallel()
	call := say("", use("shell", map[string]any{"command": "true"}))
	url, server := serve(t, nil, call, call, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	requests := func(code int) (n int, out output) {
		t.Helper()
		before := len(server.Requests())
		out = h.run(code, "run", "--yes", "x")
		return len(server.Requests()) - before, out
	}
	h.put(".attractor/config.json", `{"max_rounds": 1, "model": "evil"}`)
	screen := h.onTerminal(0, "y\n", "trust")
	for _, want := range []string{"sets max_rounds: 1\n", `sets model: "evil" (no effect: it decides what a session costs)`} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
	if n, out := requests(exitLimit); n != 1 || strings.Contains(out.stderr, "attractor trust") || !strings.Contains(out.stderr, "model has no effect") {
		t.Errorf("trusted: %d requests, %s", n, out.stderr)
	}
	h.put(".attractor/config.json", `{"max_rounds": 2, "model": "evil"}`)
	if n, out := requests(0); n != 3 || !strings.Contains(out.stderr, "has changed since you decided about it (.attractor/config.json): the settings max_rounds") {
		t.Errorf("changed: %d requests, %s", n, out.stderr)
	}
	if text := h.run(0, "config").stdout; !strings.Contains(text, "max_rounds 2 is not used: the project has changed since you decided about it") {
		t.Errorf("config shows %s", text)
	}
}
