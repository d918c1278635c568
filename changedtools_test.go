package attractor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// A person is asked about a changed tool although a rule allows it, once: when the call runs, the
// tool is accepted.
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

	b := newChanged(t, s)
	for i, c := range []struct {
		answer tool.Verdict
		asked  int
		runs   bool
	}{{tool.Deny, 1, false}, {tool.Allow, 2, true}, {tool.Deny, 2, true}} {
		b.answer = c.answer
		if got := b.run(b.permit()); b.asked != c.asked || (got == "seen") != c.runs {
			t.Errorf("call %d returned %q after %d questions", i, got, b.asked)
		}
	}
}

// A call does not run if its tool has changed since it was permitted, and what nobody was asked
// about is not accepted.
func TestM12_ToolsThatChangeAfterTheAnswer(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	describe := func(text string) {
		sdk.AddTool(server, &sdk.Tool{Name: "look", Description: text}, func(context.Context, *sdk.CallToolRequest,
			struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "seen"}}}, nil, nil
		})
	}
	describe("Looks.")
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()
	list := []mcp.Server{{Name: "lab", URL: web.URL, Required: true}}
	told := make(chan struct{}, 10)
	s := mcp.Start(t.Context(), mcp.Options{Servers: list, Pins: newPins(t.TempDir(), "", list),
		Warn: func(string, error) { told <- struct{}{} }})
	defer s.Close()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := newChanged(t, s)
	b.answer = tool.Allow
	change := func(text string) { describe(text); <-told }
	for i, c := range []struct {
		before, during string // what changes before the call runs, and during the question
		asked          int
		runs           bool
	}{{"", "", 0, true}, {"Looks at all.", "", 0, false}, {"", "Sends all.", 1, false}, {"", "", 2, true},
		{"", "", 2, true}} {
		b.during = func() {
			if c.during != "" {
				change(c.during)
			}
		}
		p := b.permit()
		if c.before != "" {
			change(c.before)
		}
		if got := b.run(p); b.asked != c.asked || (got == "seen") != c.runs {
			t.Errorf("call %d returned %q after %d questions", i, got, b.asked)
		}
	}
}

// changedBench makes calls of the tool look of the server lab, which a rule allows.
type changedBench struct {
	permit func() *tool.Prepared
	run    func(*tool.Prepared) string
	asked  int          // how many questions there were
	answer tool.Verdict // to them
	during func()       // called during a question
}

func newChanged(t *testing.T, s *mcp.Servers) *changedBench {
	t.Helper()
	set, err := rules.Load(rules.Dirs{Work: t.TempDir(), Resolve: rules.RealPath},
		rules.Source{Name: "r", Data: []byte(`{"permissions":{"allow":["mcp__lab"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	g := permit.NewGate(permit.ModeAsk, set, local)
	changed := &changedTools{gate: g, servers: s}
	g.BeforeRules = []permit.Hook{changed.hook}
	b := &changedBench{during: func() {}}
	g.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
		b.asked++
		b.during()
		return permit.Answer{Verdict: b.answer}, nil
	}
	registry, err := tool.NewRegistry(s.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	c := tool.Call{Env: local, SessionID: "s", Session: new(tool.Plain)}
	b.permit = func() *tool.Prepared {
		p, asks := registry.Authorize(t.Context(),
			registry.Prepare(llm.ToolCall{ID: "1", Name: "mcp__lab__look", Args: "{}"}), c, g.Authorize)
		if asks {
			p, _ = registry.Authorize(t.Context(), p, c, g.Approve)
		}
		return p
	}
	b.run = func(p *tool.Prepared) string {
		return p.Run(t.Context(), c, []tool.Middleware{g.Middleware, changed.middleware}, nil).Model.Text()
	}
	return b
}
