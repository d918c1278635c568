package mcptest_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// local returns an environment for processes.
func local(t testing.TB) *env.Local { return localAt(t, t.TempDir()) }

// localAt returns an environment for processes that work in a directory.
func localAt(t testing.TB, dir string) *env.Local {
	t.Helper()
	e, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// plainHTTP returns a client for servers on loopback, whose connections end with the test.
func plainHTTP(t testing.TB) func(mcp.Server) (*http.Client, error) {
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	return func(mcp.Server) (*http.Client, error) { return &http.Client{Transport: transport}, nil }
}

// start starts servers and closes them at the end of the test.
func start(t testing.TB, o mcp.Options) *mcp.Servers {
	t.Helper()
	if o.Env == nil {
		e := local(t)
		o.Env = func(mcp.Server) (env.Environment, error) { return e, nil }
	}
	o.HTTP = plainHTTP(t)
	if o.Warn == nil {
		o.Warn = func(_ string, err error) { t.Log("warning:", err) }
	}
	s := mcp.Start(t.Context(), o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// ready starts servers that have to work.
func ready(t testing.TB, o mcp.Options) *mcp.Servers {
	t.Helper()
	s := start(t, o)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// call runs a tool as a session does.
func call(ctx context.Context, t testing.TB, s *mcp.Servers, name, args string, c tool.Call) *tool.Outcome {
	t.Helper()
	for _, one := range s.Tools() {
		if one.Name != name {
			continue
		}
		r, err := tool.NewRegistry(one)
		if err != nil {
			t.Fatal(err)
		}
		if c.Session == nil {
			c.Session = new(tool.Plain)
		}
		return r.Run(ctx, llm.ToolCall{ID: "1", Name: name, Args: args}, c, nil)
	}
	t.Fatalf("there is no tool %s among %s", name, names(s.Tools()))
	return nil
}

// names returns the names of tools.
func names(tools []tool.Tool) string {
	list := make([]string, len(tools))
	for i := range tools {
		list[i] = tools[i].Name
	}
	return strings.Join(list, " ")
}

// images returns the media in a result.
func images(parts llm.Parts) (list []llm.Media) {
	for _, part := range parts {
		if m, ok := part.(llm.Media); ok {
			list = append(list, m)
		}
	}
	return list
}

// user is a session with somebody who answers questions.
type user struct {
	tool.Plain
	answer tool.Answer

	mu    sync.Mutex
	asked []tool.Question
}

func (u *user) Ask(_ context.Context, q tool.Question) (tool.Answer, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, q)
	return u.answer, nil
}
