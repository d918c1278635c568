package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// many is a server with 500 tools, whose definitions have a kilobyte each.
func many(ctx context.Context) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 500 {
		s.AddTool(&sdk.Tool{Name: fmt.Sprint("pump_", i), Description: strings.Repeat("Moves the water. ",
			50) + fmt.Sprint("Basin", i),
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"liters":{"type":"integer"}},"required":["liters"]}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return said(r.Params.Name + " moved " + string(r.Params.Arguments)), nil
			})
	}
	return s.Run(ctx, &sdk.StdioTransport{})
}

// catalog returns a listing of the tools of real servers.
func catalog(t *testing.T) listing {
	var l listing
	real := realSchemas(t)
	for _, name := range slices.Sorted(maps.Keys(real)) {
		server, own, _ := strings.Cut(name, "/")
		schema, err := parameters(real[name], new(int))
		if err != nil {
			t.Fatal(err)
		}
		l.tools = append(l.tools, tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "mcp__" + server + "__" + own,
			Deferred: true, Parameters: schema,
			Description: "Does " + strings.ReplaceAll(own, "_", " ") + "."}})
		l.servers = append(l.servers, server)
	}
	return l
}

func TestM4_Search(t *testing.T) {
	l := catalog(t)
	for _, c := range []struct {
		query string
		first string // of the tools that are found
		n     int    // how many are found; 0 means some
		says  string
	}{
		{"create a pull request", "mcp__github__create_pull_request", maxFound, "more tools match"},
		{"issues", "mcp__github__get_issue", 0, `"issue_number"`},
		{"mcp__filesystem__", "mcp__filesystem__create_directory", maxFound, "4 more tools match"},
		{"mcp__memory__read_graph", "mcp__memory__read_graph", 1, "Does read graph."},
		{"MCP__MEMORY__READ_graph", "mcp__memory__read_graph", 1, ""},
		{"read_graph", "mcp__memory__read_graph", 1, ""},
		{"mcp__memory__read_graph,mcp__github__fork_repository", "mcp__memory__read_graph", 2, ""},
		{"browserClick", "mcp__playwright__browser_click", 0, ""},
		{"screenshot", "mcp__playwright__browser_take_screenshot", 1, ""},
		{"thoughtNumber", "mcp__sequential-thinking__sequentialthinking", 0, "Parameters:"},
		{strings.Repeat("water ", 1000) + "screenshot", "", -1, "No tool matches."},
		{"quantum", "", -1, "No tool matches. Use other words, or mcp__SERVER__ for the tools of a server. The " +
			"servers, with the number of their tools: everything (13), filesystem (14),"},
		{" \n", "", -1, "The servers, with the number of their tools: everything (13), filesystem (14), github (26), " +
			"memory (9), playwright (25), sequential-thinking (1). Search for words"},
	} {
		r := l.search(c.query)
		names, text := r.Content.ToolReferences(), r.Content.Text()
		if c.n > 0 && len(names) != c.n || c.n < 0 && names != nil || c.n >= 0 && names[0] != c.first ||
			!strings.Contains(text, c.says) {
			t.Errorf("%.50q: %q, want %s first of %d\n%.500s", c.query, names, c.first, c.n, text)
		}
		if len(text) > maxResult+200 {
			t.Errorf("%.50q: %d bytes", c.query, len(text))
		}
		if again := l.search(c.query); again.Content.Text() != text {
			t.Errorf("%.50q: two results", c.query)
		}
	}
}

// Large definitions do not fill a result, and one is always shown.
func TestM4_SearchFindsLargeTools(t *testing.T) {
	properties := map[string]any{}
	for i := range 2000 {
		properties[fmt.Sprint("field", i)] = map[string]any{"type": "string"}
	}
	schema := encoded(map[string]any{"type": "object", "properties": properties})
	var l listing
	for i := range 5 {
		l.tools = append(l.tools, tool.Tool{ToolDefinition: llm.ToolDefinition{Name: fmt.Sprint("mcp__a__big", i),
			Description: strings.Repeat("big ", 2000), Parameters: schema}})
		l.servers = append(l.servers, "a")
	}
	r := l.search("big")
	if text := r.Content.Text(); len(text) > maxResult || !strings.Contains(text, "field0, field1") ||
		!strings.Contains(text, "more tools match") || len(r.Content.ToolReferences()) == 0 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

func TestM4_Budget(t *testing.T) {
	t.Parallel()
	tools := func(budget int, always bool) (offered, deferred int, all []tool.Tool) {
		one := as(t, "wells", "many")
		one.AlwaysLoad = always
		s := ready(t, Options{Servers: []Server{one, as(t, "lab", "lab")}, Budget: budget})
		all = s.Tools()
		for _, tl := range all {
			if tl.Deferred {
				deferred++
			} else {
				offered += tl.Size()
			}
		}
		return offered, deferred, all
	}
	if offered, deferred, all := tools(0, false); offered > 4000 || deferred < 500 ||
		all[len(all)-1].Name != CallTool || all[len(all)-2].Name != SearchTool {
		t.Errorf("%d bytes are offered, %d tools are deferred", offered, deferred)
	} else if d := all[len(all)-2].Description; !strings.Contains(d, "wells (500), lab (1") {
		t.Error(d)
	}
	for _, budget := range []int{-1, 1 << 20} {
		if _, deferred, all := tools(budget, false); deferred > 0 ||
			slices.ContainsFunc(all, func(tl tool.Tool) bool { return tl.Name == SearchTool }) {
			t.Errorf("budget %d: %d tools are deferred", budget, deferred)
		}
	}
	if offered, deferred, _ := tools(1, true); deferred == 0 || deferred > 20 || offered < 400_000 {
		t.Errorf("%d bytes are offered, %d tools are deferred", offered, deferred)
	}
	if BudgetFor(0) != DefaultBudget || BudgetFor(200_000) != 80_000 {
		t.Error("a tenth of the window, at four bytes a token")
	}
}

func TestM4_AlwaysLoadIsConfigured(t *testing.T) {
	list, problems, err := Parse(File{Name: "mcp.json",
		Data: []byte(`{"mcpServers":{"a":{"command":"x","alwaysLoad":true},"b":{"command":"x"}}}`)})
	if err != nil || problems != nil || len(list) != 2 || !list[0].AlwaysLoad || list[1].AlwaysLoad {
		t.Errorf("%+v, %v, %v", list, problems, err)
	}
}

// A session with 500 tools of a real server: the requests are as small as the budget says, finding
// tools changes nothing at their beginning, and what is found runs on the server, under the rules
// for its own name.
func TestM4_SessionWithManyTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ provider, model, version, call, args string }{
		{"anthropic", "claude", "", "mcp__wells__pump_77", `{"liters":7}`},
		{"openai", "gpt", "/v1", "mcp__wells__pump_77", `{"liters":7}`},
		{"gemini", "gem", "", CallTool, `{"name":"mcp__wells__pump_77","arguments":{"liters":"7"}}`},
		{"openai-compatible", "local", "/v1", CallTool, `{"name":"mcp__wells__pump_77","arguments":{"liters":7}}`},
	} {
		t.Run(c.provider, func(t *testing.T) {
			s := ready(t, Options{Servers: []Server{as(t, "wells", "many")}})
			server := fakellm.New(fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{{Name: SearchTool,
				Args: []byte(`{"query":"basin77"}`)}}},
				fakellm.Turn{Calls: []fakellm.Call{{Name: c.call, Args: []byte(c.args)}}}, fakellm.Turn{Text: "moved"}),
				fakellm.Options{})
			meter := llmtest.NewMeter(server)
			kind, err := providers.Find(c.provider)
			if err != nil {
				t.Fatal(err)
			}
			p, err := kind.New(providers.Config{APIKey: "k", BaseURL: "http://x.test" + c.version,
				HTTPClient: llmtest.PipeClient(t, meter)})
			if err != nil {
				t.Fatal(err)
			}
			loads := c.call != CallTool
			facts := func(provider, id string) (llm.Model, bool) {
				return llm.Model{Provider: provider, ID: id, Window: 200_000, MaxOutput: 1000, LoadsTools: loads}, true
			}
			var judged, outputs []string
			session, err := agent.New(t.Context(), agent.Options{Env: local(t),
				Client:  &llm.Client{Providers: []llm.Provider{p}, Models: facts},
				Profile: profile.Profile{Name: "test", Provider: p.Name(), Model: c.model, Tools: s.Tools()},
				System:  "Be brief.",
				Hooks: agent.Hooks{Authorize: func(_ context.Context, req tool.Request) (tool.Decision, error) {
					judged = append(judged, req.Call.Name+req.Call.Args)
					return tool.Decision{Verdict: tool.Allow}, nil
				}},
				OnEvent: func(ev agent.Event) {
					switch e := ev.(type) {
					case *agent.ToolCallEnd:
						outputs = append(outputs, e.Output)
					case *agent.Warning:
						t.Errorf("%+v", e)
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			leave := s.Join(session)
			defer leave()
			result, err := session.Submit(t.Context(), "Move the water.")
			if err != nil || result.Text != "moved" {
				t.Errorf("%+v, %v", result, err)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if want := `mcp__wells__pump_77{"liters":7}`; len(judged) != 2 || judged[1] != want {
				t.Errorf("judged %q, want %s", judged, want)
			}
			if len(outputs) != 2 || outputs[1] != `pump_77 moved {"liters":7}` {
				t.Errorf("results %q", outputs)
			}
			if breaks := meter.Breaks(); breaks != nil || meter.Requests() != 3 {
				t.Errorf("%d requests, of which some begin differently: %q", meter.Requests(), breaks)
			}
			for i, r := range server.Requests() {
				if c.provider != "anthropic" && len(r.Body) > DefaultBudget {
					t.Errorf("request %d has %d bytes", i, len(r.Body))
				}
			}
			if u := session.Usage(); u.Input > 3*DefaultBudget/4 || u.Input == 0 {
				t.Errorf("three requests cost %d tokens", u.Input)
			}
		})
	}
}
