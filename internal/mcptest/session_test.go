package mcptest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// A whole session with both reference servers: the gate decides about each call, a person answers,
// media and resources reach the model, and the journal replays.
func TestM5_Session(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := localAt(t, root)
	s := ready(t, mcp.Options{Answers: true, Env: func(mcp.Server) (env.Environment, error) { return e, nil },
		Servers: []mcp.Server{
			{Name: "all", Command: peer.Need(t, "mcp-server-everything"), Required: true, StartTimeout: slow},
			{Name: "files", Command: peer.Need(t, "mcp-server-filesystem"), Args: []string{root}, Required: true,
				StartTimeout: slow}}})
	note, keys := filepath.Join(root, "note.txt"), filepath.Join(root, "keys.txt")
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("mcp__all__get-tiny-image", nil), llmtest.Call("mcp__files__write_file",
			map[string]any{"path": note, "content": "hello"})),
		llmtest.Calls(llmtest.Call("mcp__files__write_file", map[string]any{"path": keys, "content": "stolen"}),
			llmtest.Call("mcp__all__get-sum", map[string]any{"a": "one"})),
		llmtest.Calls(llmtest.Call("mcp__all__trigger-elicitation-request", nil),
			llmtest.Call("mcp_read", map[string]any{"server": "all", "uri": "demo://resource/dynamic/text/7"})),
		llmtest.Text("done"))
	store := journal.NewDir(t.TempDir())
	log, err := store.Create(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var judged, outputs []string
	o := agent.Options{ID: "s", Client: &llm.Client{Providers: []llm.Provider{model}}, Env: e,
		System: "You are a test.", Journal: log,
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: s.Tools()},
		OnEvent: func(ev agent.Event) {
			if end, ok := ev.(*agent.ToolCallEnd); ok {
				mu.Lock()
				defer mu.Unlock()
				outputs = append(outputs, end.Output)
			}
		},
		Questions: &agent.Questions{Answer: func(context.Context, tool.Question) (tool.Answer, error) {
			return tool.Answer{Action: tool.ActionDecline}, nil
		}}}
	o.Authorize = func(_ context.Context, r tool.Request) (tool.Decision, error) {
		judged = append(judged, r.Call.Name)
		if strings.Contains(r.Call.Args, "keys.txt") {
			return tool.Decision{}, errors.New("no keys")
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	session, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	leave := s.Join(session)
	result, err := session.Submit(t.Context(), "use everything")
	if err != nil || result.Reason != agent.ReasonCompleted {
		t.Errorf("Submit = %+v, %v", result, err)
	}
	leave()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(note); err != nil || string(data) != "hello" {
		t.Errorf("the note is %q, %v", data, err)
	}
	if _, err := os.Stat(keys); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the gate did not hold: %v", err)
	}
	said := strings.Join(outputs, "\n")
	for _, want := range []string{"MCP logo", "Successfully wrote", "no keys", `"action": "decline"`,
		"Resource 7: This is a plaintext resource"} {
		if !strings.Contains(said, want) {
			t.Errorf("the results are %s, want %q in them", said, want)
		}
	}
	// The call with wrong arguments does not get to the gate.
	if got := strings.Join(judged,
		" "); got != "mcp__all__get-tiny-image mcp__files__write_file mcp__files__write_file "+
		"mcp__all__trigger-elicitation-request mcp_read" {
		t.Errorf("the gate saw %s", got)
	}
	seen := 0
	for _, m := range model.Requests()[1].Messages {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				seen += len(images(r.Content))
			}
		}
	}
	if seen != 1 {
		t.Errorf("the model sees %d images", seen)
	}
	replay(t, store)
}

// replay checks that a session's journal leads to the same requests again.
func replay(t *testing.T, store *journal.Dir) {
	t.Helper()
	log, err := store.Read(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(agent.Replay(t.Context(), log, agent.ReplayOptions{}), log.Close()); err != nil {
		t.Error(err)
	}
}
