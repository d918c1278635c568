package host

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// A person is asked about a changed tool although a rule allows it, once: when the call runs, the tool is accepted.
func TestM12_ChangedToolsAreAskedAboutOnce(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	description := "Looks."
	look := func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "seen"}}}, nil, nil
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		sdk.AddTool(server, &sdk.Tool{Name: "look", Description: description}, look)
		return server
	}, &sdk.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	list := []mcp.Server{{Name: "lab", URL: web.URL, Required: true}}
	pins := newPins(t.TempDir(), "", list)
	connect := func() *mcp.Servers {
		s := mcp.Start(t.Context(), mcp.Options{Servers: list, Pins: pins})
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := connect().Close(); err != nil {
		t.Fatal(err)
	}
	description = "Looks at everything."
	s := connect()
	defer s.Close()

	set, err := rules.Load(rules.Dirs{Work: t.TempDir(), Resolve: rules.RealPath}, rules.Source{Name: "r", Data: []byte(`{"permissions":{"allow":["mcp__lab"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	g := NewGate(Ask, set, local)
	changed := &changedTools{g, s}
	g.BeforeRules = []Hook{changed.hook}
	asked, answer := 0, tool.Deny
	g.Ask = func(context.Context, Question) (Answer, error) { asked++; return Answer{Verdict: answer}, nil }
	registry, err := tool.NewRegistry(s.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	call := func() string {
		c := tool.Call{Env: local, SessionID: "s", Session: new(tool.Plain)}
		p, asks := registry.Authorize(t.Context(), registry.Prepare(llm.ToolCall{ID: "1", Name: "mcp__lab__look", Args: "{}"}), c, g.Authorize)
		if asks {
			p, _ = registry.Authorize(t.Context(), p, c, g.Approve)
		}
		return p.Run(t.Context(), c, []tool.Middleware{g.Middleware, changed.middleware}, nil).Model.Text()
	}
	for i, c := range []struct {
		answer tool.Verdict
		asked  int
		runs   bool
	}{{tool.Deny, 1, false}, {tool.Allow, 2, true}, {tool.Deny, 2, true}} {
		answer = c.answer
		if got := call(); asked != c.asked || (got == "seen") != c.runs {
			t.Errorf("call %d returned %q after %d questions", i, got, asked)
		}
	}
}
