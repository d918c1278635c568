package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/agent/stepstream"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// The capabilities below are examples of what hosts write around calls. They use only exported
// identifiers.

// auditLog records the caller, the access and the result of each call.
type auditLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *auditLog) around(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		result, err := next(ctx, c)
		outcome := "ok"
		if err != nil || result.IsError {
			outcome = "failed"
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, fmt.Sprintf("%s/%s %s %s %s: %s", c.SessionID, c.AgentID, c.Name, c.Args,
			c.Access.Effect, outcome))
		return result, err
	}
}

// An audit log can be written as a middleware.
func TestJ3_DoorAuditLog(t *testing.T) {
	l := new(auditLog)
	fails := newTool("fails", readOnly, func(context.Context, *tool.Call) (tool.Result,
		error) {
		return tool.Errorf("no such thing"), nil
	})
	h := openSpawning(t, agent.Options{Hooks: agent.Hooks{Middleware: []tool.Middleware{l.around}}},
		map[string][]llmtest.Step{
			"go": {llmtest.Calls(call("work", `"path":"x"`), call("fails")), llmtest.Calls(spawn("help")),
				llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
			"help": {llmtest.Calls(call("work")), llmtest.Text("helped")},
		}, echo("work"), fails)
	h.submit(t, "go", agent.ReasonCompleted)
	for _, want := range []string{h.ID() + `/ work {"path":"x"} writes: ok`, h.ID() + `/ fails {} read_only: failed`,
		`/agent-1 work {} writes: ok`} {
		if !slices.ContainsFunc(l.lines, func(line string) bool { return strings.HasSuffix(line, want) }) {
			t.Errorf("no %q in %q", want, l.lines)
		}
	}
}

// dryRun refuses every call with effects and says what it would have done.
func dryRun(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		if c.Access.Effect == tool.ReadOnly {
			return next(ctx, c)
		}
		would := "change " + strings.Join(c.Access.Paths, ", ")
		if c.Access.Command != "" {
			would = "run " + c.Access.Command
		}
		return tool.Errorf("This is a dry run: nothing was done. The call would %s.", would), nil
	}
}

// A dry run can be written as a middleware.
func TestJ3_DoorDryRun(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("f", "before\n")
	o := agent.Options{Hooks: agent.Hooks{Middleware: []tool.Middleware{dryRun}}}
	w.results(w.runCalls(o, reading("f"), writing("f", "after\n")), "before",
		"dry run: nothing was done. The call would change ")
	w.want("f", "before\n")
}

// callSpans records spans as a tracing library does, with the parents from the context.
type callSpans struct {
	mu    sync.Mutex
	paths []string
}

type callSpanKey struct{}

func (s *callSpans) around(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		parent, _ := ctx.Value(callSpanKey{}).(string)
		path := parent + "/" + c.Name
		s.mu.Lock()
		s.paths = append(s.paths, path)
		s.mu.Unlock()
		return next(context.WithValue(ctx, callSpanKey{}, path), c)
	}
}

// Spans can be recorded by a middleware, with their parents from the context.
func TestJ3_DoorSpans(t *testing.T) {
	s := new(callSpans)
	h := openSpawning(t, agent.Options{Hooks: agent.Hooks{Middleware: []tool.Middleware{s.around}}},
		map[string][]llmtest.Step{
			"go":   {llmtest.Calls(spawn("help")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
			"help": {llmtest.Calls(call("work")), llmtest.Text("helped")},
		}, echo("work"))
	ctx := context.WithValue(context.Background(), callSpanKey{}, "host")
	if _, err := h.Submit(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.paths)
	if want := []string{"host/spawn_agent", "host/spawn_agent/work", "host/wait"}; !slices.Equal(s.paths, want) {
		t.Errorf("spans %q, want %q", s.paths, want)
	}
}

// until returns a middleware that lets no call begin after a deadline, so that another process
// continues.
func until(deadline time.Time) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if !time.Now().Before(deadline) {
				return tool.Result{}, fmt.Errorf("the lease has ended at %v: %w", deadline, tool.ErrNotBegun)
			}
			return next(ctx, c)
		}
	}
}

// A fence can be written as a middleware: calls left open run in the next process.
func TestJ3_DoorFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := new(diary), new(journal.Memory)
		tools := []tool.Tool{d.slowTool("write", writes, 40*time.Minute)}
		steps := []llmtest.Step{threeWrites, llmtest.Text("done")}
		for life := 0; ; life++ { // each process lives an hour
			h := open(t, setup{tools: tools, silent: true, steps: steps[min(life, 1):],
				options: agent.Options{Journal: log,
					Hooks: agent.Hooks{Middleware: []tool.Middleware{until(time.Now().Add(time.Hour))}}}})
			submit := func() (*agent.Result, error) { return h.Submit(context.Background(), "go") }
			if life > 0 {
				submit = func() (*agent.Result, error) { return h.Continue(context.Background()) }
			}
			result, err := submit()
			if err != nil && !strings.Contains(err.Error(), "the lease has ended") {
				t.Fatal(err)
			}
			if err == nil {
				if result.Text != "done" || life != 1 {
					t.Errorf("%+v in life %d", result, life)
				}
				for i, text := range h.texts() {
					if !strings.HasPrefix(text, "ran ") {
						t.Errorf("result %d: %s", i, text)
					}
				}
				break
			}
		}
		d.inOrder(t, "end a", "run b", "end b", "run c", "end c")
	})
}

// After Release no call begins, neither one that waits inside a middleware nor one that waits for
// an approval.
func TestJ3_ReleaseWhileCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := new(diary), new(journal.Memory)
		slow := func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				time.Sleep(time.Hour)
				return next(ctx, c)
			}
		}
		h := open(t, setup{tools: append(coding.Agents(), d.slowTool("write", writes, 0)), silent: true,
			steps: []llmtest.Step{llmtest.Calls(
				named("a", "write", "a"), named("b", "write", "b"))},
			options: agent.Options{Journal: log, Hooks: agent.Hooks{Middleware: []tool.Middleware{slow},
				Authorize: d.slowHook("ask", nil, map[string]tool.Decision{"b": {Verdict: tool.Ask}}),
				Approve:   d.slowHook("approve", map[string]time.Duration{"b": 100 * time.Hour}, nil)}}})
		time.AfterFunc(time.Minute, func() { _ = h.Release(context.Background()) })
		_, err := h.Submit(context.Background(), "go")
		if took := time.Since(epoch).Truncate(time.Minute); err == nil || took != time.Hour {
			t.Errorf("%v after %v", err, took)
		}
		if got := order(t, all(t, log)); got != "" || d.at("run a") >= 0 {
			t.Errorf("records %s", got)
		}
	})
}

// Inside middleware a later call may begin first. The step events still come in the order of the
// calls.
func TestJ5_StepsOfCallsThatBeginInAnotherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		delay := func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				if c.ID == "a" {
					time.Sleep(time.Hour)
				}
				return next(ctx, c)
			}
		}
		h := runAnswer(t, agent.Options{Hooks: agent.Hooks{Middleware: []tool.Middleware{delay}}},
			[]tool.Tool{d.slowTool("write", writes, time.Minute)},
			named("a", "write", "a"), named("b", "write", "b"))
		d.inOrder(t, "end b", "run a")
		var steps []string
		for ev := range stepstream.Events(slices.Values(h.events)) {
			switch e := ev.(type) {
			case *stepstream.Begin:
				steps = append(steps, fmt.Sprint(e.Step, e.CallID))
			case *stepstream.Complete:
				steps = append(steps, fmt.Sprint("end ", e.CallID))
			}
		}
		if got := strings.Join(steps, ", "); got != "1a, end a, 2b, end b" {
			t.Errorf("steps %s", got)
		}
	})
}
