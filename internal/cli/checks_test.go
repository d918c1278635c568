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

// An input is verified only when the check passes, whatever the model says. The exit code and
// standard error tell it.
func TestO6_CommandChecks(t *testing.T) {
	claim := fakellm.Turn{Text: "verified: everything passes"}
	url, server := serve(t, nil, claim,
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: json.RawMessage(`{"command":"echo x >made"}`)}}},
		claim,        // the first run
		claim, claim, // the second one
		claim) // the third one
	h := newHome(t, url)
	got := h.run(0, "run", "--yes", "--check", "cat made", "--check", "echo second", "make it")
	if !strings.Contains(got.stderr, "\nverified: the checks passed") {
		t.Errorf("%+v", got)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	if told := string(server.Requests()[1].Body); !strings.Contains(told, "cat made") ||
		!strings.Contains(told, "No such file") {
		t.Errorf("the model was told %s", told)
	}
	got = h.run(1, "run", "--no-checkpoints", "--yes", "--check", "echo the reason; exit 7", "--check-rounds", "1",
		"make it")
	if !strings.Contains(got.stderr, "--check failed: ") || !strings.Contains(got.stderr, "exit code 7\nthe reason") ||
		strings.Contains(got.stderr, "verified: the checks") {
		t.Errorf("%+v", got)
	}
	got = h.run(1, "run", "--json", "--no-journal", "--yes", "--check", "false", "--check-rounds", "0", "make it")
	if !strings.Contains(got.stdout, `"note":"check"`) || !strings.Contains(got.stdout, `"status":"failed"`) ||
		!strings.Contains(got.stdout, `"final":true`) {
		t.Errorf("%+v", got)
	}
}

// What a background command changes after the check, until the session has ended, is a change after
// the check.
func TestO6_CommandChecksAfterTheSession(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, fakellm.Turn{Calls: []fakellm.Call{{Name: "shell",
		Args: json.RawMessage(`{"command":"trap 'echo late >late; exit' TERM; echo begun; while :; do sleep 0.01; done","run_in_background":true}`)}}}, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	got := h.run(1, "run", "--json", "--yes", "--check", "true", "make it")
	if _, err := os.Stat(filepath.Join(h.dir, "late")); err != nil {
		t.Fatalf("the background command has changed nothing: %v, %+v", err, got)
	}
	const stale = "has changed since the checks passed: late"
	if !strings.Contains(got.stderr, stale) {
		t.Errorf("%+v", got)
	}
	for what, events := range map[string]string{"the events": got.stdout, "the session": h.run(0, "sessions", "events",
		h.sessions()[0].ID).stdout} {
		last := events[strings.LastIndex(events, `"note":"check"`):]
		if !strings.Contains(last, `"status":"unverified"`) || !strings.Contains(last, stale) ||
			!strings.Contains(last, "SESSION_END") {
			t.Errorf("in the end %s say %s", what, last)
		}
	}
	if shown := h.run(0, "sessions", "show", h.sessions()[0].ID).stdout; !strings.Contains(shown,
		"checks:     unverified: the tree "+stale) {
		t.Errorf("the session is shown as %s", shown)
	}
}

func TestO6_CommandChecksFlags(t *testing.T) {
	h := newHome(t, unusedURL)
	for _, flags := range [][]string{{"--check", " "}, {"--check", "true", "--check-rounds", "-1"},
		{"--check", "true", "--check-timeout", "1h"}} {
		if got := h.run(2, append(append([]string{"run"}, flags...), "go")...); !strings.Contains(got.stderr,
			flags[len(flags)-2]) {
			t.Errorf("%v: %+v", flags, got)
		}
	}
}
