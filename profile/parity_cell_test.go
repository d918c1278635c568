package profile_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	anthropicwire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	geminiwire "github.com/attractor-go/attractor/llm/gemini"
	openaiwire "github.com/attractor-go/attractor/llm/openai"
)

// cell holds one session of the matrix. Only the model is scripted.
type cell struct {
	*testing.T
	moves
	dir     string
	model   fakellm.Model // set before the first submit
	server  *fakellm.Server
	session *agent.Session

	mu     sync.Mutex
	events []agent.Event
}

func newCell(t *testing.T, m moves) *cell {
	t.Helper()
	c := &cell{T: t, moves: m, dir: t.TempDir()}
	c.server = fakellm.New(func(r *fakellm.Request) fakellm.Turn { return c.model(r) }, fakellm.Options{})
	web := httptest.NewServer(c.server)
	t.Cleanup(web.Close)
	local, err := env.NewLocal(c.dir, env.LocalOptions{Containment: env.ContainGroup, Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	c.session, err = agent.New(context.Background(), agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{c.provider(web.URL)}, Models: catalog.New().Get},
		Profile: m.profile, Env: local, Effort: "low", Subagents: &agent.Subagents{}, Questions: &agent.Questions{},
		OutputDir: t.TempDir(), OnEvent: c.keep,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.session.Close(); err != nil {
			t.Error(err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// provider speaks the profile's own wire format.
func (c *cell) provider(url string) llm.Provider {
	c.Helper()
	var p llm.Provider
	var err error
	switch c.profile.Provider {
	case "anthropic":
		p, err = anthropicwire.New(anthropicwire.Options{APIKey: "test", BaseURL: url})
	case "openai":
		p, err = openaiwire.New(openaiwire.Options{APIKey: "test", BaseURL: url + "/v1"})
	case "gemini":
		p, err = geminiwire.New(geminiwire.Options{APIKey: "test", BaseURL: url})
	default:
		c.Fatalf("no wire format for the provider %q", c.profile.Provider)
	}
	if err != nil {
		c.Fatal(err)
	}
	return p
}

func (c *cell) keep(e agent.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

// script has the model make calls, one list per response, and then a final answer.
func (c *cell) script(answers ...[]fakellm.Call) {
	var turns []fakellm.Turn
	for _, calls := range answers {
		turns = append(turns, fakellm.Turn{Calls: calls})
	}
	c.model = fakellm.Script(append(turns, fakellm.Turn{Text: "Done."})...)
}

func calls(calls ...fakellm.Call) []fakellm.Call { return calls }

// submit runs one input to its end.
func (c *cell) submit() {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := c.session.Submit(ctx, "Do it.")
	if err != nil {
		c.Fatal(err)
	}
	if result.Text != "Done." || result.Reason != agent.ReasonCompleted {
		c.Errorf("the input ended with %q, because of %s", result.Text, result.Reason)
	}
}

func (c *cell) write(name, content string) {
	c.Helper()
	file := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		c.Fatal(err)
	}
}

func (c *cell) wantFile(name, content string) {
	c.Helper()
	if got, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(got) != content {
		c.Errorf("%s has %q, %v; want %q", name, got, err, content)
	}
}

// ends returns the TOOL_CALL_END events, and checks against wantErrors which of them are errors.
func (c *cell) ends(wantErrors ...bool) []*agent.ToolCallEnd {
	c.Helper()
	ends := only[*agent.ToolCallEnd](c)
	if len(ends) != len(wantErrors) {
		c.Fatalf("%d calls ended, want %d", len(ends), len(wantErrors))
	}
	for i, e := range ends {
		if e.IsError != wantErrors[i] {
			c.Errorf("call %d (%s) is an error: %t, with the output %q", i, e.Name, e.IsError, e.Output)
		}
	}
	return ends
}

// only returns the events of one type.
func only[E agent.Event](c *cell) []E {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []E
	for _, e := range c.events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// request returns the session's nth request, from 0.
func (c *cell) request(i int) *fakellm.Request {
	c.Helper()
	requests := c.server.Requests()
	if i >= len(requests) {
		c.Fatalf("there were %d requests, so none of number %d", len(requests), i)
	}
	return requests[i]
}

// results returns the texts of the last round's results, in the order of the request.
func results(r *fakellm.Request) []string {
	var texts []string
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != llm.RoleAssistant; i-- {
		var of []string
		for _, part := range r.Messages[i].Parts {
			if result, ok := part.(llm.ToolResult); ok {
				of = append(of, result.Content.Text())
			}
		}
		texts = append(of, texts...)
	}
	return texts
}

// saw fails unless the only result in a request has the text.
func (c *cell) saw(request int, text string) {
	c.Helper()
	if got := results(c.request(request)); len(got) != 1 || !strings.Contains(got[0], text) {
		c.Errorf("request %d has the results %q, want one with %q", request, got, text)
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
