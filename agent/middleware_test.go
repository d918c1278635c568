package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// diary records events and their times.
type diary struct {
	mu    sync.Mutex
	lines []string
	times []time.Duration
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
	d.times = append(d.times, time.Since(epoch))
}

// at returns when a line was first recorded, in whole minutes since the beginning of the bubble.
func (d *diary) at(line string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.lines, line); i >= 0 {
		return d.times[i].Truncate(time.Minute)
	}
	return -1
}

// inOrder checks that lines were recorded, in this order.
func (d *diary) inOrder(t *testing.T, lines ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	at := -1
	for _, line := range lines {
		i := slices.Index(d.lines, line)
		if i <= at {
			t.Errorf("%q is missing or too early: %q", line, d.lines)
		}
		at = i
	}
}

// atOnce returns the largest number of calls for which a hook ran at the same time.
func (d *diary) atOnce(what string) (most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := 0
	for _, line := range d.lines {
		switch {
		case !strings.HasPrefix(line, what+" "):
		case strings.HasSuffix(line, " over"):
			now--
		default:
			now++
			most = max(most, now)
		}
	}
	return most
}

// slowTool returns a tool that records its runs and takes a given time.
func (d *diary) slowTool(name string, access tool.Access, long time.Duration) tool.Tool {
	return newTool(name, access, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		d.note("run %s", c.ID)
		defer d.note("end %s", c.ID)
		select {
		case <-time.After(long):
			return tool.Text("ran " + c.ID + " " + c.Args), nil
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	})
}

// slowHook returns a permission hook that takes a given time for some calls, and edits or asks
// about others.
func (d *diary) slowHook(what string, takes map[string]time.Duration,
	decisions map[string]tool.Decision) tool.Authorize {
	return func(ctx context.Context, r tool.Request) (tool.Decision, error) {
		d.note("%s %s", what, r.Call.ID)
		defer d.note("%s %s over", what, r.Call.ID)
		select {
		case <-time.After(takes[r.Call.ID]):
		case <-ctx.Done():
		}
		if decision, ok := decisions[r.Call.ID]; ok {
			return decision, nil
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
}

// runAnswer runs one answer with calls.
func runAnswer(t *testing.T, o agent.Options, tools []tool.Tool, calls ...llm.ToolCall) *host {
	t.Helper()
	h := open(t, setup{tools: tools, options: o, steps: []llmtest.Step{llmtest.Calls(calls...), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	return h
}

// texts returns the results of the first answer's calls.
func (h *host) texts() []string {
	var texts []string
	for _, p := range h.History()[2].Message.Parts {
		texts = append(texts, p.(llm.ToolResult).Content.Text())
	}
	return texts
}

// passThrough is a middleware that does nothing.
func passThrough(next tool.Handler) tool.Handler { return next }

// A permission is decided after the earlier calls on which the call waits, because it may depend on
// them.
func TestJ5_AuthorizeWaitsForEarlierCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		runAnswer(t, agent.Options{Hooks: agent.Hooks{Authorize: d.slowHook("ask", nil, nil)}},
			[]tool.Tool{d.slowTool("write", writes, time.Hour)},
			named("a", "write", "x"), named("b", "write", "x"), named("c", "write", "y"))
		d.inOrder(t, "ask a", "ask a over", "ask c", "run c", "end c")
		d.inOrder(t, "ask c", "end a", "ask b", "run b")
		if d.at("ask b") != time.Hour {
			t.Errorf("b was asked about after %v", d.at("ask b"))
		}
	})
}

// Approvals are requested one at a time, in the order of the calls. Calls that need no approval do
// not wait for them.
func TestJ5_OneApprovalAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		ask := tool.Decision{Verdict: tool.Ask}
		h := runAnswer(t, agent.Options{Hooks: agent.Hooks{Authorize: d.slowHook("ask", nil,
			map[string]tool.Decision{"a": ask, "c": ask, "d": ask}),
			Approve: d.slowHook("approve", map[string]time.Duration{"a": time.Hour, "c": time.Hour},
				map[string]tool.Decision{"c": {Reason: "no"}})}},
			[]tool.Tool{d.slowTool("write", writes, time.Minute), d.slowTool("look", readOnly, time.Minute)},
			named("a", "write", "a"), named("b", "look", "b"), named("c", "write", "c"), named("d", "look", "d"),
			named("e", "write", "a"))
		d.inOrder(t, "ask a", "ask b", "ask c", "ask d", "end b", "approve a over", "approve c", "approve c over",
			"approve d", "end d")
		d.inOrder(t, "approve a over", "run a", "end a", "ask e", "run e")
		if d.at("run b") != 0 || d.at("approve a") != 0 || d.at("approve c") != time.Hour ||
			d.at("approve d") != 2*time.Hour {
			t.Errorf("b ran after %v, it was asked about a after %v, about c after %v, about d after %v", d.at("run b"),
				d.at("approve a"), d.at("approve c"), d.at("approve d"))
		}
		if n := d.atOnce("approve"); n != 1 {
			t.Errorf("Approve was asked about %d calls at once: %q", n, d.lines)
		}
		if texts := h.texts(); d.at("run c") >= 0 || !strings.Contains(texts[2], "not permitted: no") {
			t.Errorf("c was denied: %q", texts)
		}
	})
}

// A hook that is slow for one call does not delay calls that it has allowed, and never runs for two
// calls at once.
func TestJ5_SlowHookBlocksNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		runAnswer(t, agent.Options{Hooks: agent.Hooks{Authorize: d.slowHook("ask",
			map[string]time.Duration{"b": time.Hour}, nil)}},
			[]tool.Tool{d.slowTool("write", writes, time.Minute)}, named("a", "write", "a"), named("b", "write", "b"),
			named("c", "write", "c"))
		d.inOrder(t, "ask a over", "ask b", "run a", "end a", "ask b over", "ask c")
		if d.at("run a") != 0 || d.at("ask c") != time.Hour {
			t.Errorf("a ran after %v, c was asked about after %v", d.at("run a"), d.at("ask c"))
		}
	})
}

// Calls that a hook allows one after the other begin together, and share an intent.
func TestJ5_AllowedCallsShareAnIntent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := new(diary), new(journal.Memory)
		runAnswer(t, agent.Options{Journal: log,
			Hooks: agent.Hooks{Authorize: d.slowHook("ask", map[string]time.Duration{"a": time.Millisecond,
				"b": time.Millisecond}, nil)}},
			[]tool.Tool{d.slowTool("write", writes, time.Minute)}, named("a", "write", "a"), named("b", "write", "b"))
		if got := order(t, all(t, log)); !strings.HasPrefix(got, "intent(a,b)") {
			t.Errorf("the records are %s", got)
		}
	})
}

// After a hook has changed the arguments of a call, its schedule follows the new arguments, for the
// call and for the calls that wait for it.
func TestJ5_EditedArgumentsAreRescheduled(t *testing.T) {
	to := func(path string) tool.Decision {
		return tool.Decision{Verdict: tool.Allow, Args: fmt.Sprintf(`{"path":%q}`, path)}
	}
	for name, c := range map[string]struct {
		authorize, approve map[string]tool.Decision
		paths              [2]string
		want               []string
	}{
		"the second gets the file of the first": {map[string]tool.Decision{"b": to("x")}, nil, [2]string{"x", "y"},
			[]string{"end a", "run b"}},
		"the first gets the file of the second, which runs": {map[string]tool.Decision{"a": {Verdict: tool.Ask}},
			map[string]tool.Decision{"a": to("y")},
			[2]string{"x", "y"}, []string{"run b", "approve a over", "end b", "run a"}},
		"the first gets the file of the second, which does not yet": {map[string]tool.Decision{"a": to("y")}, nil,
			[2]string{"x", "y"}, []string{"end a", "ask b", "run b"}},
		"the first lets go of the second's": {map[string]tool.Decision{"a": to("z")}, nil, [2]string{"x", "x"},
			[]string{"run b", "end a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := new(diary)
				h := runAnswer(t, agent.Options{Hooks: agent.Hooks{Authorize: d.slowHook("ask", nil, c.authorize),
					Approve: d.slowHook("approve", map[string]time.Duration{"a": time.Minute}, c.approve)}},
					[]tool.Tool{d.slowTool("write", writes, time.Hour)}, named("a", "write", c.paths[0]),
					named("b", "write", c.paths[1]))
				d.inOrder(t, c.want...)
				for _, start := range only[*agent.ToolCallStart](h) {
					edited := c.authorize[start.CallID].Args + c.approve[start.CallID].Args
					if string(start.Effective) != edited || edited != "" && !strings.HasSuffix(start.Access.Paths[0],
						"/"+edited[len(`{"path":"`):len(edited)-2]) {
						t.Errorf("call %s began with %s, %+v", start.CallID, start.Effective, start.Access)
					}
				}
			})
		})
	}
}

// TOOL_CALL_START has the arguments of the model, the effective ones and the access. The test
// helpers check that the journal's projection has the same.
func TestJ5_StartHasArgumentsAndAccess(t *testing.T) {
	fetch := tool.WithAccess(tool.New(llm.ToolDefinition{Name: "fetch"}, func(context.Context, *tool.Call, struct {
		Times int `json:"times"`
	}) (tool.Result, error) {
		return tool.Text("ok"), nil
	}), func(struct {
		Times int `json:"times"`
	}) tool.Access {
		return tool.Access{Effect: tool.Writes, Command: "fetch", Hosts: []string{"example.com:443"},
			Paths: []string{"f"}}
	})
	h := runAnswer(t, agent.Options{}, []tool.Tool{fetch}, call("fetch", `"times":"2"`), call("fetch", `"times":2`),
		call("fetch", `"times":"many"`), call("fitch"))
	for i, want := range []string{`{"times":"2"} {"times":2} writes fetch [example.com:443]`,
		`{"times":2}  writes fetch [example.com:443]`,
		`{"times":"many"}  nothing`, `{}  nothing`} {
		start := only[*agent.ToolCallStart](h)[i]
		got := fmt.Sprintf("%s %s nothing", start.Arguments, start.Effective)
		if a := start.Access; a != nil {
			got = fmt.Sprintf("%s %s %s %s %v", start.Arguments, start.Effective, a.Effect, a.Command, a.Hosts)
			baseNames(t, a.Paths)
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// slowSyncs is a log whose first sync of an intent waits for a gate.
type slowSyncs struct {
	journal.Log
	gate   chan struct{}
	intent atomic.Bool
	once   sync.Once
}

func (s *slowSyncs) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if records[0].Kind == "intent" {
		s.intent.Store(true)
	}
	return s.Log.Append(ctx, next, records...)
}

func (s *slowSyncs) Sync(ctx context.Context) error {
	if s.intent.Load() {
		s.once.Do(func() { <-s.gate })
	}
	return s.Log.Sync(ctx)
}

// Inside middleware, calls that arrive while an intent is being written share the next one. A
// waiting call does not block others.
func TestJ3_IntentsInsideOfMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := new(diary), new(journal.Memory)
		slow := &slowSyncs{Log: log, gate: make(chan struct{})}
		delays := map[string]time.Duration{"a": 0, "b": time.Second, "c": time.Second, "d": time.Hour, "r": time.Second}
		delay := func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				time.Sleep(delays[c.ID])
				return next(ctx, c)
			}
		}
		time.AfterFunc(time.Minute, func() { close(slow.gate) })
		runAnswer(t, agent.Options{Journal: slow,
			Hooks: agent.Hooks{Middleware: []tool.Middleware{delay, passThrough}}},
			[]tool.Tool{d.slowTool("write", writes, time.Minute), d.slowTool("look", readOnly, 0)},
			named("d", "write", "d"), named("a", "write", "a"), named("b", "write", "b"), named("c", "write", "c"),
			named("r", "look", "x"), named("e", "write", "c"))
		got := order(t, all(t, log))
		for _, want := range []string{"intent(a) ", " intent(b,c) ", " intent(e) ", " intent(d) "} {
			if !strings.Contains(got+" ", want) {
				t.Errorf("no %s in %s", want, got)
			}
		}
		if d.at("run r") != 0 || d.at("run a") != time.Minute {
			t.Errorf("the read ran after %v, the first write after %v", d.at("run r"), d.at("run a"))
		}
		d.inOrder(t, "run c", "end c", "run e", "end e", "run d")
		if d.at("run d") != time.Hour {
			t.Errorf("d ran after %v", d.at("run d"))
		}
	})
}

// If a process dies inside middleware, a call without an intent has not begun.
func TestJ3_CrashInsideOfMiddleware(t *testing.T) {
	for at := 2; ; at++ { // the first call of the journal belongs to New
		log, calls := new(journal.Memory), new(runLog)
		o := agent.Options{Journal: &unreliable{Log: log, fault: crash{at: at, effect: true}.fault},
			Hooks: agent.Hooks{Middleware: []tool.Middleware{passThrough}}}
		h := open(t, setup{tools: []tool.Tool{calls.tool("write")}, options: o,
			steps: []llmtest.Step{threeWrites, llmtest.Text("done")}})
		_, err := h.Submit(context.Background(), "go")
		h.Abort()
		if err == nil {
			break
		}
		before := all(t, log)
		ran := len(calls.ran)
		o.Journal = journal.NewMemory(before...)
		rest := open(t, setup{tools: []tool.Tool{calls.tool("write")}, options: o,
			steps: []llmtest.Step{threeWrites, llmtest.Text("done")}[count(before, "answer"):]})
		if _, err := rest.Continue(context.Background()); err != nil {
			t.Fatal(err)
		}
		intended := strings.Count(order(t, before), "intent")
		if ran > intended || len(calls.ran)-ran != 3-intended || !slices.IsSorted(calls.ran) {
			t.Errorf("%d calls were intended and %d ran before the crash; all that ran are %v", intended, ran,
				calls.ran)
		}
	}
}

// A middleware that panics or calls runtime.Goexit gives the call an error result, and a WARNING
// with the stack.
func TestJ3_BrokenMiddleware(t *testing.T) {
	for name, breaks := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		for _, when := range []string{"wrapping", "before", "after"} {
			d := new(diary)
			bad := func(next tool.Handler) tool.Handler {
				if when == "wrapping" {
					breaks()
				}
				return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
					if when == "before" {
						breaks()
					}
					defer breaks()
					return next(ctx, c)
				}
			}
			h := runAnswer(t, agent.Options{Hooks: agent.Hooks{Middleware: []tool.Middleware{bad}}},
				[]tool.Tool{d.slowTool("write", writes, 0)}, named("a", "write", "a"))
			text, warning := h.texts()[0], only[*agent.Warning](h)[0]
			if (d.at("run a") >= 0) != (when == "after") || strings.Contains(text, "has run") != (when == "after") ||
				!strings.Contains(text, "broken") ||
				warning.Code != "tool_panic" || !strings.Contains(warning.Text, "middleware_test.go") ||
				strings.Contains(text, ".go:") {
				t.Errorf("%s %s: %q, %s", name, when, text, warning.Text)
			}
		}
	}
}

// A middleware that does not return is abandoned after an interrupt, and the call never begins.
func TestJ3_StuckMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, release := new(diary), make(chan struct{})
		var late error
		stuck := func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				<-release
				_, late = next(context.Background(), c)
				return tool.Result{}, late
			}
		}
		h := open(t, setup{tools: []tool.Tool{d.slowTool("write", writes, 0)},
			options: agent.Options{Hooks: agent.Hooks{Middleware: []tool.Middleware{stuck}}},
			steps:   []llmtest.Step{llmtest.Calls(named("a", "write", "a"))}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := h.Submit(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if text := h.texts()[0]; !strings.Contains(text, "was not run") || h.warned() != "tool_abandoned" {
			t.Errorf("%q, %s", text, h.warned())
		}
		if took := time.Since(epoch); took > time.Minute+5*time.Second {
			t.Errorf("it took %v", took)
		}
		close(release)
		synctest.Wait()
		if d.at("run a") >= 0 || late == nil {
			t.Errorf("the call has begun, %v", late)
		}
	})
}

// fence leaves calls open after it has come down.
type fence struct{ down atomic.Bool }

var errFence = errors.New("the time is over")

func (f *fence) around(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		if f.down.Load() {
			return tool.Result{}, fmt.Errorf("%w: %w", errFence, tool.ErrNotBegun)
		}
		return next(ctx, c)
	}
}

// A call that a middleware leaves open has no intent, no result and no event. Running calls finish,
// approvals are not waited for, and the session is released. Another process runs the calls that
// did not begin.
func TestJ3_LeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log, f := new(diary), new(journal.Memory), new(fence)
		time.AfterFunc(time.Minute, func() { f.down.Store(true) })
		slow := func(id string, by time.Duration) tool.Middleware {
			return func(next tool.Handler) tool.Handler {
				return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
					if c.ID == id {
						time.Sleep(by)
					}
					result, err := next(ctx, c)
					if c.ID == "c" && err != nil { // of a hook that ignores the error
						return tool.Errorf("it failed: %v", err), nil
					}
					return result, err
				}
			}
		}
		tools := []tool.Tool{d.slowTool("write", writes, 3*time.Hour), d.slowTool("look", readOnly, time.Hour)}
		calls := llmtest.Calls(named("a", "write", "a"), named("b", "write", "a"), named("c", "write", "c"),
			named("d", "write", "d"), named("e", "look", "c"),
			named("f", "write", "f"), named("g", "look", "g"))
		o := agent.Options{Journal: log, Hooks: agent.Hooks{Middleware: []tool.Middleware{slow("g", 90*time.Minute),
			f.around, slow("c", 2*time.Hour)},
			Authorize: d.slowHook("ask", nil, map[string]tool.Decision{"d": {Verdict: tool.Ask}}),
			Approve:   d.slowHook("approve", map[string]time.Duration{"d": 100 * time.Hour}, nil)}}
		h := open(t, setup{tools: tools, options: o, silent: true, steps: []llmtest.Step{calls}})
		result, err := h.Submit(context.Background(), "go")
		if !errors.Is(err, agent.ErrReleased) || !errors.Is(err, errFence) || h.Status() != agent.StatusClosed {
			t.Fatalf("%+v, %v, %s", result, err, h.Status())
		}
		if took := time.Since(epoch).Truncate(time.Minute); took != 3*time.Hour {
			t.Errorf("it took %v, as long as the calls that ran", took)
		}
		got := order(t, all(t, log))
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			ran := id == "a" || id == "f"
			if strings.Contains(got, "result("+id+")") != ran || (strings.Contains(got, "("+id) ||
				strings.Contains(got, ","+id)) != ran {
				t.Errorf("records of %s: %s", id, got)
			}
		}
		if c := endEvents(h.events); c != "" {
			t.Errorf("events claim %s", c)
		}
		starts := map[string]bool{}
		for _, e := range only[*agent.ToolCallStart](h) {
			starts[e.CallID] = true
		}
		if len(starts) != 2 {
			t.Errorf("started %v", starts)
		}
		f.down.Store(false)
		o.Approve = nil
		o.Authorize = nil
		rest := open(t, setup{tools: tools, options: o, steps: []llmtest.Step{llmtest.Text("done")}})
		if _, err := rest.Continue(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i, text := range rest.texts() {
			if id := string(rune('a' + i)); !strings.HasPrefix(text, "ran "+id) {
				t.Errorf("result of %s: %s", id, text)
			}
		}
	})
}

// A subagent's fence is its parent's: the parent is released with it, and its model sees no
// failure.
func TestJ3_LeftOpenBySubagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log, f := new(diary), new(journal.Memory), new(fence)
		time.AfterFunc(time.Minute, func() { f.down.Store(true) })
		work := d.slowTool("work", writes, time.Hour)
		scripts := map[string][]llmtest.Step{
			"go":   {llmtest.Calls(spawn("help")), llmtest.Calls(wait("agent-1"))},
			"help": {llmtest.Calls(named("h1", "work", "a")), llmtest.Calls(named("h2", "work", "b"))},
		}
		h := open(t, setup{tools: append(coding.Agents(), work), silent: true, steps: byTask(scripts),
			options: agent.Options{Journal: log, Subagents: &agent.Subagents{},
				Hooks: agent.Hooks{Middleware: []tool.Middleware{f.around}}}})
		_, err := h.Submit(context.Background(), "go")
		if !errors.Is(err, agent.ErrReleased) || d.at("end h1") != time.Hour || d.at("run h2") >= 0 {
			t.Fatalf("%v; %q", err, d.lines)
		}
		for _, r := range all(t, log) {
			if r.Kind == "result" && strings.Contains(string(r.Data), `"wait"`) {
				t.Errorf("the wait has the result %s", r.Data)
			}
		}
		if c := endEvents(h.events); c != "" {
			t.Errorf("events claim %s", c)
		}
	})
}
