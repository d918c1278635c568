package stepstream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// setup describes a session with tools and a scripted model.
type setup struct {
	steps   []llmtest.Step
	tools   []tool.Tool
	options agent.Options
}

// host is a session and the events that its host saw.
type host struct {
	*agent.Session
	events []agent.Event
}

// open starts a session. On has reactions to its first event of a kind.
func open(t *testing.T, s setup, on map[agent.Kind]func(*agent.Session)) *host {
	t.Helper()
	h := new(host)
	o := s.options
	o.Client = &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", s.steps...)}}
	o.Env = envtest.NewMemory(nil)
	o.Profile = profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: s.tools}
	o.System = "You are being tested."
	o.OnEvent = func(ev agent.Event) {
		h.events = append(h.events, ev)
		kind := ev.Head().Kind
		if react := on[kind]; react != nil {
			delete(on, kind)
			react(h.Session)
		}
	}
	var err error
	if h.Session, err = agent.New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return h
}

var (
	writes   = tool.Access{Effect: tool.Writes}
	readOnly = tool.Access{Effect: tool.ReadOnly}
)

// newTool returns a tool that takes a path.
func newTool(name string, access tool.Access, run func(context.Context, *tool.Call) (tool.Result, error)) tool.Tool {
	type pathArgs struct {
		Path string `json:"path,omitempty"`
	}
	t := tool.New(llm.ToolDefinition{Name: name, Description: "Does " + name + "."},
		func(ctx context.Context, call *tool.Call, _ pathArgs) (tool.Result, error) { return run(ctx, call) })
	return tool.WithAccess(t, func(args pathArgs) tool.Access {
		if args.Path != "" {
			access.Paths = []string{args.Path}
		}
		return access
	})
}

// echo returns a tool that returns its name.
func echo(name string) tool.Tool { return slowTool(name, 0, writes) }

// slowTool returns a tool that returns its name after a given time.
func slowTool(name string, after time.Duration, access tool.Access) tool.Tool {
	return newTool(name, access, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		select {
		case <-time.After(after):
			return tool.Text(name + " ran"), nil
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	})
}

// answers returns an answer of thoughts, texts and calls.
func answers(parts ...llm.Part) llmtest.Step {
	return llmtest.Answer(parts...)
}

// The functions below return parts of answers.
func saidText(text string) llm.Part { return llm.Text{Text: text} }
func thought(text string) llm.Part  { return llm.Thinking{Text: text} }
func calls(id, name string) llm.Part {
	return llm.ToolCall{ID: id, Name: name, Args: "{}"}
}

func onFile(id, name, path string) llm.Part {
	return llm.ToolCall{ID: id, Name: name, Args: fmt.Sprintf(`{"path":%q}`, path)}
}
