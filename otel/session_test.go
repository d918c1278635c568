package otel_test

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/otel/internal/receiver"
	"github.com/attractor-go/attractor/tool"
)

// A session with a retry, commands, an edit, refused calls and an approval, as a tree.
func TestN6_Tree(t *testing.T) {
	l := newLab(t, fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultStatus, Status: 529},
		3: {Kind: fakellm.FaultCut, After: 2}}},
		fakellm.Turn{Text: "I look.",
			Calls: []fakellm.Call{use("c1", "shell", object{"command": "cat greeting; exit 3"}),
				use("c2", "read_file", object{"file_path": "greeting"})}},
		fakellm.Turn{Text: "I edit it now, with care.",
			Calls: []fakellm.Call{use("c3", "edit_file", object{"file_path": "greeting", "old_string": "helo",
				"new_string": "hello"}), use("c4", "summon", object{}), use("c5", "shell", object{})}},
		fakellm.Turn{Text: "Done."})
	if err := os.WriteFile(filepath.Join(l.dir, "greeting"), []byte("helo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.Authorize = func(_ context.Context, req tool.Request) (tool.Decision, error) {
		if req.Access.Effect == tool.ReadOnly {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	l.Approve = func(context.Context, tool.Request) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	l.Profile.Sequential = true // so that the order of the spans is that of the calls
	if r := l.submit(otel.Options{}); r.Text != "Done." {
		t.Fatalf("%+v", r)
	}
	l.golden("tree")
	want := []string{"github.com/attractor-go/attractor/otel https://opentelemetry.io/schemas/1.41.0"}
	if !slices.Equal(l.receiver.Scopes(), want) {
		t.Errorf("the scopes are %q", l.receiver.Scopes())
	}
}

// Subagents that work side by side are below the calls that started them, in one trace.
func TestN6_Subagents(t *testing.T) {
	l := newLabFor(t, fakellm.Options{}, func(r *fakellm.Request) fakellm.Turn {
		if strings.Contains(r.System, "You work for another agent") {
			if r.Turn() == 0 {
				return fakellm.Turn{Calls: []fakellm.Call{use("s1", "shell", object{"command": "true"})}}
			}
			return fakellm.Turn{Text: "It is done."}
		}
		return fakellm.Script(
			fakellm.Turn{Calls: []fakellm.Call{use("c1", "spawn_agent", object{"task": "one"}),
				use("c2", "spawn_agent", object{"task": "two"})}},
			fakellm.Turn{Calls: []fakellm.Call{use("c3", "wait", object{"agent_id": "agent-1"}),
				use("c4", "wait", object{"agent_id": "agent-2"})}},
			fakellm.Turn{Text: "Both are done."})(r)
	})
	l.Options.Subagents = &agent.Subagents{}
	l.submit(otel.Options{})
	spans := l.receiver.Spans()
	parents := map[string]string{} // names by ids
	for _, s := range spans {
		a := receiver.Attributes(s.Attributes)
		parents[hex.EncodeToString(s.SpanId)] = s.Name + " " + a["gen_ai.tool.call.id"]
		if s.EndTimeUnixNano < s.StartTimeUnixNano || string(s.TraceId) != string(spans[0].TraceId) {
			t.Errorf("%s ends before it begins, or is in another trace", s.Name)
		}
	}
	var above []string
	for _, s := range spans {
		if a := receiver.Attributes(s.Attributes); s.Name == "invoke_agent attractor.subagent" {
			above = append(above, a["gen_ai.agent.id"]+" below "+parents[hex.EncodeToString(s.ParentSpanId)])
		}
	}
	slices.Sort(above)
	if want := []string{"agent-1 below execute_tool spawn_agent c1",
		"agent-2 below execute_tool spawn_agent c2"}; !slices.Equal(above, want) {
		t.Errorf("the agents are %q in\n%s", above, l.receiver.Tree(stable()))
	}
	if n := len(spans); n != 1+3+4+2*(1+2+1) {
		t.Errorf("there are %d spans:\n%s", n, l.receiver.Tree(stable()))
	}
}

// Servers, models and commands get the trace of the call that is for them.
func TestN6_Propagation(t *testing.T) {
	for name, closed := range map[string]bool{"open": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, fakellm.Options{}, fakellm.Turn{Calls: []fakellm.Call{use("c1", "mcp__lab__trace", object{}),
				use("c2", "shell", object{"command": "echo $TRACEPARENT > seen"})}},
				fakellm.Turn{Text: "Done."})
			servers := mcp.Start(t.Context(), mcp.Options{Env: func(mcp.Server) (env.Environment, error) {
				return l.Env,
					nil
			}, Servers: []mcp.Server{{Name: "lab", Command: os.Args[0], Env: map[string]string{serverVar: "1"},
				Required: true}}})
			defer servers.Close()
			if err := servers.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.Tools = servers.Tools()
			var results sync.Map
			l.OnEvent = func(ev agent.Event) {
				if e, ok := ev.(*agent.ToolCallEnd); ok {
					results.Store(e.CallID, e.Output)
				}
			}
			l.submit(otel.Options{Closed: closed})
			ids := map[string]string{}
			for _, s := range l.receiver.Spans() {
				ids[s.Name] = "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
			}
			said, _ := results.Load("c1")
			seen, err := os.ReadFile(filepath.Join(l.dir, "seen"))
			if err != nil {
				t.Fatal(err)
			}
			header := l.server.Requests()[1].Header.Get("Traceparent")
			got := []string{said.(string), strings.TrimSpace(string(seen)), header}
			want := []string{ids["execute_tool mcp__lab__trace"], ids["execute_tool shell"], ids["chat "+model]}
			if closed {
				want = []string{"<nil>", "", ""}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the traces are %q, want %q", got, want)
			}
			if a := l.span("execute_tool mcp__lab__trace"); a["mcp.method.name"] != "tools/call" {
				t.Errorf("%v", a)
			}
		})
	}
}

// The span of an input is below the host's, or below that of the program that started this one.
func TestN6_Parents(t *testing.T) {
	l := newLab(t, fakellm.Options{}, fakellm.Turn{Text: "Hello."})
	s := l.start(otel.Options{})
	ctx, span := l.tracers.Tracer("host").Start(t.Context(), "job")
	if _, err := s.Submit(ctx, "hello"); err != nil {
		t.Fatal(err)
	}
	span.End()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	l.flush()
	for _, s := range l.receiver.Spans() {
		if parent := span.SpanContext().SpanID(); s.Name == "invoke_agent attractor" &&
			string(s.ParentSpanId) != string(parent[:]) {
			t.Errorf("the parent is %x", s.ParentSpanId)
		}
	}
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{2},
		TraceFlags: trace.FlagsSampled})
	l = newLab(t, fakellm.Options{}, fakellm.Turn{Text: "Hello."})
	l.submit(otel.Options{Parent: remote})
	if s := l.receiver.Spans()[0]; s.Name != "invoke_agent attractor" || s.TraceId[0] != 1 || s.ParentSpanId[0] != 2 {
		t.Errorf("%s is in the trace %x below %x", s.Name, s.TraceId, s.ParentSpanId)
	}
}

// However a session ends, no span stays open, and the failure is named.
func TestN6_Ends(t *testing.T) {
	late := make(chan struct{})
	defer close(late)
	calls := func(name string) fakellm.Turn { return fakellm.Turn{Calls: []fakellm.Call{use("c1", name, object{})}} }
	for _, c := range []struct {
		name   string
		faults map[int]fakellm.Fault
		turn   fakellm.Turn
		tool   func(context.Context, *agent.Session) (tool.Result, error)
		want   map[string]string // span: error.type
	}{
		{"fatal", map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}}, calls("work"), nil,
			map[string]string{"invoke_agent attractor": "authentication", "chat " + model: "authentication"}},
		{"retries run out", map[int]fakellm.Fault{1: {Kind: fakellm.FaultReset}, 2: {Kind: fakellm.FaultReset},
			3: {Kind: fakellm.FaultReset}}, calls("work"), nil,
			map[string]string{"invoke_agent attractor": "network", "chat " + model: "network"}},
		{"panic", nil, calls("work"), nil, map[string]string{"execute_tool work": "panic"}},
		{"abandoned tool", nil, calls("work"), func(_ context.Context, s *agent.Session) (tool.Result, error) {
			s.Interrupt()
			<-late
			return tool.Result{}, nil
		}, map[string]string{"execute_tool work": "abandoned"}},
		{"failing tool", nil, calls("work"), func(context.Context, *agent.Session) (tool.Result,
			error) {
			return tool.Result{}, errors.New("no")
		},
			map[string]string{"execute_tool work": "tool_error"}},
		{"interrupt", nil, calls("work"), func(ctx context.Context, s *agent.Session) (tool.Result, error) {
			s.Interrupt()
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}, map[string]string{"execute_tool work": "aborted"}},
		{"hung model", nil, calls("work"), nil, map[string]string{"chat " + model: "aborted"}},
		{"hung approval", nil, calls("work"), nil, map[string]string{"approve work": ""}},
		{"release", nil, calls("work"), func(context.Context, *agent.Session) (tool.Result,
			error) {
			return tool.Result{}, tool.ErrNotBegun
		},
			map[string]string{"execute_tool work": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, fakellm.Options{Faults: c.faults}, c.turn, fakellm.Turn{Text: "Done."})
			l.Retry.Max, l.Grace = 2, time.Millisecond
			var s *agent.Session
			l.Middleware = []tool.Middleware{func(next tool.Handler) tool.Handler {
				return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
					switch c.name {
					case "release":
						return tool.Result{}, tool.ErrNotBegun
					case "panic":
						panic("oh")
					}
					return next(ctx, call)
				}
			}}
			l.Tools = []tool.Tool{tool.New(llm.ToolDefinition{Name: "work", Description: "Works."},
				func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
					return c.tool(ctx, s)
				})}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch c.name {
			case "hung model":
				client := *l.Client
				client.Middleware = []llm.Middleware{func(llm.Handler) llm.Handler {
					return func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
						return func(func(llm.StreamEvent, error) bool) { cancel(); <-late }
					}
				}}
				l.Client = &client
			case "hung approval":
				l.Authorize = func(context.Context, tool.Request) (tool.Decision, error) {
					return tool.Decision{Verdict: tool.Ask}, nil
				}
				l.Approve = func(context.Context, tool.Request) (tool.Decision, error) {
					cancel()
					<-late
					return tool.Decision{}, nil
				}
			}
			counting := countSpans(l)
			s = l.start(otel.Options{})
			if _, err := s.Submit(ctx, "do it"); err != nil {
				t.Log(err)
			}
			if err := s.Close(); err != nil && c.name != "release" && !strings.HasPrefix(c.name, "hung") {
				t.Error(err)
			}
			if n := counting.open(); n != 0 {
				t.Errorf("%d spans are open after the end", n)
			}
			l.flush()
			for name, want := range c.want {
				if got := l.span(name)["error.type"]; got != want {
					t.Errorf("%s has the error %q, want %q", name, got, want)
				}
			}
			if c.name == "retries run out" {
				if a := l.span("chat " + model); a["attractor.attempts"] != "3" {
					t.Errorf("%v", a)
				}
			}
		})
	}
}
