//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A session whose model call failed for good is kept. The message says what to check, and how to go on.
func TestJ11_FailedModelCallsSayWhatToDo(t *testing.T) {
	for status, want := range map[int]struct {
		code  int
		check string
	}{
		400: {exitFailed, ""},
		401: {exitAccess, "Check the API key in the environment."},
		404: {exitFailed, "Check the name of the model, and the URL: for openai and openai-compatible it ends in /v1."},
	} {
		url, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: status}}, say("done"))
		h := newHome(t, url)
		out := h.run(want.code, "run", "--yes", "--base-url", url, "do it")
		if !strings.Contains(out.stderr, want.check) {
			t.Errorf("%d: %s", status, out.stderr)
		}
		_, id, ok := strings.Cut(strings.TrimSpace(out.stderr), "To continue the session, run: attractor run --resume ")
		if !ok {
			t.Fatalf("%d: %s", status, out.stderr)
		}
		if again := h.run(0, "run", "--yes", "--base-url", url, "--resume", id); again.stdout != "done\n" {
			t.Errorf("%d, resumed: %q, %s", status, again.stdout, again.stderr)
		}
	}
}
