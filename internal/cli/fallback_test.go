//go:build unix

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// If the model is overloaded, the run continues with a fallback of another provider and says so. A
// resumed session keeps its fallbacks.
func TestJ13_Fallback(t *testing.T) {
	busy := fakellm.Fault{Kind: fakellm.FaultStatus, Status: 529, Header: map[string]string{"Retry-After": "3600"}}
	down, chosen := serve(t, map[int]fakellm.Fault{1: busy, 2: busy, 3: busy, 4: busy}, fakellm.Turn{Text: "never"})
	url, other := serve(t, nil, fakellm.Turn{Text: "The answer."}, fakellm.Turn{Text: "Another."})
	variables := []string{"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL=" + down,
		"OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url + "/v1", "HOME=" + t.TempDir()}
	run := func(code int, args ...string) output {
		t.Helper()
		cmd := attractorCommand(t, append([]string{"run", "--yes", "--dir", t.TempDir()}, args...)...)
		cmd.Env = append(cmd.Env, variables...)
		out := runCommand(t, cmd)
		if out.code != code {
			t.Fatalf("%v: exit code %d, stderr %s", args, out.code, out.stderr)
		}
		return out
	}
	out := run(0, "--model", "claude-sonnet-5-5", "--provider", "anthropic", "--fallback", "anthropic/claude-haiku-5-5",
		"--fallback", "openai/gpt-5.2", "do it")
	if out.stdout != "The answer.\n" || !strings.Contains(out.stderr, "⇄ anthropic/claude-haiku-5-5 failed (") ||
		!strings.Contains(out.stderr, "; going on with openai/gpt-5.2\n") {
		t.Errorf("stdout %q, stderr %s", out.stdout, out.stderr)
	}
	if len(chosen.Requests()) != 2 || len(other.Requests()) != 1 {
		t.Errorf("%d and %d requests, want 2 and 1", len(chosen.Requests()), len(other.Requests()))
	}
	var list output
	cmd := attractorCommand(t, "sessions", "list", "--json")
	cmd.Env = append(cmd.Env, variables...)
	if list = runCommand(t, cmd); list.code != 0 {
		t.Fatal(list.stderr)
	}
	var sessions []struct{ ID string }
	if err := json.Unmarshal([]byte(list.stdout), &sessions); err != nil || len(sessions) != 1 {
		t.Fatalf("%v: %s", err, list.stdout)
	}
	out = run(0, "--json", "--resume", sessions[0].ID, "more")
	var changes []string
	for line := range strings.Lines(out.stdout) {
		ev, err := agent.UnmarshalEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := ev.(*agent.ModelChanged); ok {
			changes = append(changes, e.To.String())
		}
	}
	if got := strings.Join(changes,
		" "); got != "anthropic/claude-sonnet-5-5 anthropic/claude-haiku-5-5 openai/gpt-5.2" {
		t.Errorf("the model changed to: %s", got)
	}
}

// A fallback that cannot be used is reported before any request is sent.
func TestJ13_FallbackFlag(t *testing.T) {
	for _, c := range []struct {
		code int
		name string
		want string
	}{
		{exitUsage, "gpt-5.2", "such as openai/gpt-6.1-sol"},
		{exitUsage, "acme/model", `unknown provider "acme"`},
		{exitAccess, "gemini/gemini-3.5-flash", "the fallback gemini/gemini-3.5-flash: no API key: set GEMINI_API_KEY"},
	} {
		cmd := attractorCommand(t, "run", "--yes", "--provider", "anthropic", "--fallback", c.name, "x")
		cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
		if out := runCommand(t, cmd); out.code != c.code || !strings.Contains(out.stderr, c.want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", c.name, out.code, out.stderr, c.want)
		}
	}
}
