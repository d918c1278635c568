package openai

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	wire "github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// The free-form tool works in a session over the wire format that has such tools: patch and result
// are not JSON.
func TestC6_ApplyPatchFreeform(t *testing.T) {
	b := newFixture(t)
	b.put("a.txt", "say \"one\"\n")
	const text = "*** Begin Patch\n*** Update File: a.txt\n@@\n-say \"one\"\n+say \\two\\\n*** End Patch\n"
	calls := func(raw string) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "apply_patch", Raw: raw}}}
	}
	fake := fakellm.New(fakellm.Script(calls(text), calls("a.txt"), fakellm.Turn{Text: "Done."}), fakellm.Options{})
	server := httptest.NewServer(fake)
	defer server.Close()
	provider, err := wire.New(wire.Options{APIKey: "key", BaseURL: server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	var asked []tool.Request
	s, err := agent.New(context.Background(), agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{provider}},
		Profile: profile.Profile{Name: "test", Provider: "openai", Model: "gpt-6-sol",
			Tools: []tool.Tool{applyPatch()}},
		Env: b.env,
		Hooks: agent.Hooks{Authorize: func(_ context.Context, req tool.Request) (tool.Decision, error) {
			asked = append(asked, req)
			return tool.Decision{Verdict: tool.Allow}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), "Change it."); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.get("a.txt"); got != "say \\two\\\n" {
		t.Errorf("a.txt holds %q", got)
	}
	if len(asked) != 2 || strings.Join(asked[0].Access.Paths, " ") != "a.txt" &&
		asked[0].Access.Paths[0] != filepath.Join(b.dir, "a.txt") {
		t.Errorf("authorized %+v", asked)
	}
	requests := fake.Requests()
	if got := string(requests[0].Body); !strings.Contains(got, `"type":"custom","name":"apply_patch"`) ||
		!strings.Contains(got, `"syntax":"lark"`) {
		t.Errorf("the tool is offered as %s", got)
	}
	for i, want := range []string{"M a.txt", "a patch begins with"} {
		got := string(requests[i+1].Body)
		if !strings.Contains(got, "custom_tool_call_output") || !strings.Contains(got, want) {
			t.Errorf("result %d does not say %q: %s", i, want, got)
		}
	}
}
