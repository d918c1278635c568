package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// What a project can choose counts while its file is the one that its user has trusted, and not any
// more when the file has changed.
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
	for _, want := range []string{"sets max_rounds: 1\n",
		`sets model: "evil" (no effect: it decides what a session costs)`} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
	if n, out := requests(exitLimit); n != 1 || strings.Contains(out.stderr, "attractor trust") ||
		!strings.Contains(out.stderr, "model has no effect") {
		t.Errorf("trusted: %d requests, %s", n, out.stderr)
	}
	h.put(".attractor/config.json", `{"max_rounds": 2, "model": "evil"}`)
	if n, out := requests(0); n != 3 || !strings.Contains(out.stderr,
		"has changed since you decided about it (.attractor/config.json): settings: max_rounds") {
		t.Errorf("changed: %d requests, %s", n, out.stderr)
	}
	if text := h.run(0, "config").stdout; !strings.Contains(text,
		"max_rounds 2 is not used: the project has changed since you decided about it") {
		t.Errorf("config shows %s", text)
	}
}

// The window of a model that the catalog does not have can be said. The conversation is then
// compacted before it is full, also when the session is resumed. All else that is not known of the
// model stays unknown: the effort is sent, and costs are not counted.
func TestN8_ContextWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args           []string
		want, keptThen bool
	}{
		"setting": {nil, true, true}, "flag": {[]string{"--context-window", "0"}, false, false},
		"setting of another model": {[]string{"--model", "qwen-2"}, false, false},
		"flag with another model":  {[]string{"--model", "qwen-2", "--context-window", "40000"}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			url, server, _ := serveMetered(t, func(r *fakellm.Request) fakellm.Turn {
				n := int(requests.Add(1))
				if n > 7 { // the newest turns are not compacted
					return say("a summary, or done")
				}
				turn := say("", use("shell", map[string]any{"command": fmt.Sprint("echo ", n)}))
				turn.Usage = &llm.Usage{Input: 20_000 + 2_200*n, Output: 10}
				return turn
			})
			h := newHome(t, url)
			settings := `{"provider": "openai-compatible", "base_url": "` + url +
				`/v1", "model": "qwen", "context_window": 40000}`
			h.writeFile(".config/attractor/config.json", settings)
			out := h.run(0, append([]string{"run", "--yes", "--json", "--effort", "high", "x"}, c.args...)...)
			if got := strings.Contains(out.stdout, `"kind":"COMPACTION"`); got != c.want ||
				strings.Contains(out.stdout, "its context window and prices are unknown") == c.want {
				t.Errorf("compacted: %v, want %v\n%s", got, c.want, out.stdout)
			}
			if !strings.Contains(out.stdout, "only a budget of tokens limits them") {
				t.Error("nothing says that Costs are not counted")
			}
			for _, r := range server.Requests() {
				if r.Effort != "high" && len(r.Tools) > 0 { // a summary is asked for without
					t.Errorf("a request has the effort %q", r.Effort)
				}
			}
			h.writeFile(".config/attractor/config.json", strings.Replace(settings, `, "context_window": 40000`, "", 1))
			requests.Store(0)
			if out = h.run(0, "run", "--continue", "--yes", "--json", "y"); strings.Contains(out.stdout,
				`"kind":"COMPACTION"`) != c.keptThen {
				t.Errorf("compacted after it was resumed: %v, want %v\n%s", !c.keptThen, c.keptThen, out.stdout)
			}
		})
	}
}
