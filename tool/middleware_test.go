package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
)

// runAround runs one call of the tool greet inside middleware, and returns how often the tool ran.
func runAround(t *testing.T, chain ...Middleware) (o *Outcome, runs int) {
	t.Helper()
	o = register(t, greet(&runs)).Run(context.Background(), call("greet", `{"name":"x"}`),
		Call{SessionID: "s", AgentID: "agent-1"}, nil, chain...)
	return o, runs
}

func TestJ3_MiddlewareIsAroundTheTool(t *testing.T) {
	var order []string
	tell := func(name string) Middleware {
		return func(next Handler) Handler {
			return func(ctx context.Context, c *Call) (Result, error) {
				order = append(order, name+" before")
				result, err := next(ctx, c)
				order = append(order, name+" after")
				result.Content = append(result.Content, llm.Text{Text: " " + name + "\x1b[31m"})
				return result, err
			}
		}
	}
	o, runs := runAround(t, tell("outer"), tell("inner"))
	if got := strings.Join(order, ", "); runs != 1 || got != "outer before, inner before, inner after, outer after" {
		t.Errorf("%d runs, %s", runs, got)
	}
	if got := o.Model.Text(); got != `{"name":"x"} inner\u{1b}[31m outer\u{1b}[31m` {
		t.Errorf("what middleware adds is cleaned like what tools print; the model sees %q", got)
	}
}

func TestJ3_MiddlewareAddsBeforeTheLimit(t *testing.T) {
	big := func(next Handler) Handler {
		return func(ctx context.Context, c *Call) (Result, error) {
			result, err := next(ctx, c)
			result.Content = append(result.Content, llm.Text{Text: strings.Repeat("x", 1000)})
			return result, err
		}
	}
	runs := 0
	limited := greet(&runs)
	limited.Limit = Limit{Chars: 100}
	o := register(t, limited).Run(context.Background(), call("greet", `{"name":"x"}`), Call{}, nil, big)
	if !o.Truncated || len(o.Model.Text()) > 500 || !strings.Contains(o.Content.Text(), strings.Repeat("x", 1000)) {
		t.Errorf("truncated %v, the model sees %d bytes", o.Truncated, len(o.Model.Text()))
	}
}

// What runs is what was permitted: a middleware can change the environment and the session of a
// call, but not its arguments.
func TestJ3_MiddlewareChangesOnlyTheSurroundings(t *testing.T) {
	var got Call
	look := WithAccess(New(llm.ToolDefinition{Name: "look"}, func(_ context.Context, c *Call, _ greetArgs) (Result,
		error) {
		got = *c
		return Text("ok"), nil
	}), func(a greetArgs) Access { return Access{Effect: ReadOnly, Hosts: []string{a.Name}} })
	memory := envtest.NewMemory(nil)
	var saw Call
	change := func(next Handler) Handler {
		return func(ctx context.Context, c *Call) (Result, error) {
			saw = *c
			other := *c
			other.Env, other.Args, other.Name, other.ID, other.Access = memory, `{"name":"y"}`, "other", "id", Access{}
			other.Approved = []string{"/etc/passwd"}
			return next(ctx, &other)
		}
	}
	register(t, look).Run(context.Background(), call("look", `{"name":"x"}`), Call{SessionID: "s", AgentID: "agent-1"},
		nil, change)
	if got.Env != memory || got.Args != `{"name":"x"}` || got.Name != "look" || got.ID != "call_1" ||
		got.Access.Hosts[0] != "x" || got.Approved != nil {
		t.Errorf("the tool got %+v", got)
	}
	if saw.SessionID != "s" || saw.AgentID != "agent-1" || saw.Access.Effect != ReadOnly || saw.Args != `{"name":"x"}` {
		t.Errorf("the middleware saw %+v", saw)
	}
}

func TestJ3_WhatMiddlewareReturns(t *testing.T) {
	fixed := func(result Result, err error) Middleware {
		return func(Handler) Handler {
			return func(context.Context, *Call) (Result, error) { return result, err }
		}
	}
	after := func(do func()) Middleware {
		return func(next Handler) Handler {
			return func(ctx context.Context, c *Call) (Result, error) {
				result, err := next(ctx, c)
				do()
				return result, err
			}
		}
	}
	leaves := fmt.Errorf("the lease is over: %w", ErrNotBegun)
	for name, c := range map[string]struct {
		chain Middleware
		runs  int
		want  string
		panic bool
	}{
		"a refusal": {fixed(Errorf("not today"), nil), 0, "not today", false},
		"an error":  {fixed(Result{}, errors.New("no lease")), 0, "Error: no lease", false},
		"nothing":   {fixed(Result{}, nil), 0, "", false},
		"a panic before": {func(Handler) Handler { panic("boom") }, 0, "middleware around greet is broken",
			true},
		"a panic after": {after(func() { panic("boom") }), 1, "has run, but its result is lost", true},
		"Goexit after":  {after(runtime.Goexit), 1, "has run, but its result is lost", true},
		"not begun after it began": {func(next Handler) Handler { return callAndFail(next, leaves) }, 1,
			"has run, but its result is lost", false},
	} {
		o, runs := runAround(t, c.chain)
		if runs != c.runs || !strings.Contains(o.Model.Text(), c.want) || o.IsError != (c.want != "") ||
			(o.Panic != "") != c.panic || o.NotBegun != nil {
			t.Errorf("%s: %d runs, panic %v, %+v", name, runs, o.Panic != "", o)
		}
	}
	if o, runs := runAround(t, fixed(Text("ignored"), leaves)); runs != 0 || !errors.Is(o.NotBegun, ErrNotBegun) ||
		o.Content != nil {
		t.Errorf("left open: %d runs, %+v", runs, o)
	}
}

// callAndFail calls next and returns an error.
func callAndFail(next Handler, err error) Handler {
	return func(ctx context.Context, c *Call) (Result, error) {
		_, _ = next(ctx, c)
		return Result{}, err
	}
}

func TestJ3_NextRunsOnce(t *testing.T) {
	var again error
	var kept func() error
	twice := func(next Handler) Handler {
		return func(ctx context.Context, c *Call) (Result, error) {
			kept = func() error { _, err := next(ctx, c); return err }
			result, err := next(ctx, c)
			again = kept()
			return result, err
		}
	}
	if o, runs := runAround(t, twice); runs != 1 || o.IsError || again == nil || !strings.Contains(again.Error(),
		"not run again") {
		t.Errorf("%d runs, %v, %+v", runs, again, o)
	}
	later := func(next Handler) Handler {
		return func(ctx context.Context, c *Call) (Result, error) {
			kept = func() error { _, err := next(ctx, c); return err }
			return Text("without"), nil
		}
	}
	o, runs := runAround(t, later)
	if err := kept(); err == nil || runs != 0 || o.Model.Text() != "without" {
		t.Errorf("next after the return: %v, %d runs", err, runs)
	}
}

// A middleware that returns before next ends the call's context, and nothing keeps running.
func TestJ3_MiddlewareReturnsBeforeTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		slow := New(llm.ToolDefinition{Name: "slow"}, func(ctx context.Context, _ *Call, _ struct{}) (Result, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return Text("late"), nil
		})
		impatient := func(next Handler) Handler {
			return func(ctx context.Context, c *Call) (Result, error) {
				go next(context.WithoutCancel(ctx), c)
				time.Sleep(time.Minute)
				return Errorf("Error: it took more than a minute."), nil
			}
		}
		o := register(t, slow).Run(context.Background(), call("slow", `{}`), Call{}, nil, impatient)
		if !ended || !strings.Contains(o.Model.Text(), "more than a minute") {
			t.Errorf("ended %v, %+v", ended, o)
		}
	})
}

// An interrupt reaches the tool even if a middleware removes it from the context.
func TestJ3_MiddlewareCannotKeepAnInterruptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := New(llm.ToolDefinition{Name: "slow"}, func(ctx context.Context, _ *Call, _ struct{}) (Result, error) {
			<-ctx.Done()
			return Result{}, context.Cause(ctx)
		})
		detached := func(next Handler) Handler {
			return func(ctx context.Context, c *Call) (Result, error) { return next(context.WithoutCancel(ctx), c) }
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("interrupted"))
		defer cancel()
		if o := register(t, slow).Run(ctx, call("slow", `{}`), Call{}, nil, detached); !strings.Contains(o.Model.Text(),
			"interrupted") {
			t.Errorf("%+v", o)
		}
	})
}

func TestJ3_AuthorizeAll(t *testing.T) {
	var asked []string
	tool := WithAccess(greet(new(int)), func(a greetArgs) Access {
		return Access{Effect: ReadOnly, Paths: []string{"/" + a.Name}}
	})
	hook := func(d Decision) Authorize {
		return func(_ context.Context, r Request) (Decision, error) {
			asked = append(asked, fmt.Sprint(r.Call.Args, r.Access.Paths))
			return d, nil
		}
	}
	allow, ask := hook(Decision{Verdict: Allow}), hook(Decision{Verdict: Ask})
	edit := hook(Decision{Verdict: Allow, Args: `{"name":"y","times":"2"}`})
	for name, c := range map[string]struct {
		hooks []Authorize
		asked int
		want  string
	}{
		"none":            {nil, 0, `{"name":"x"}`},
		"all allow":       {[]Authorize{allow, allow}, 2, `{"name":"x"}`},
		"one denies":      {[]Authorize{allow, hook(Decision{Reason: "no"}), allow}, 2, "not permitted: no"},
		"one asks":        {[]Authorize{ask, allow}, 2, "approval"},
		"one edits":       {[]Authorize{edit, allow}, 2, `{"name":"y","times":2}`},
		"edited to wrong": {[]Authorize{hook(Decision{Verdict: Allow, Args: `{}`}), allow}, 1, "is missing"},
	} {
		asked = nil
		o := run(register(t, tool), call("greet", `{"name":"x"}`), AuthorizeAll(c.hooks...))
		if !strings.Contains(o.Model.Text(), c.want) || len(asked) != c.asked {
			t.Errorf("%s: asked about %q, %s", name, asked, o.Model.Text())
		}
		if name == "one edits" && asked[1] != `{"name":"y","times":2}[/y]` {
			t.Errorf("the hook after it was asked about %s", asked[1])
		}
	}
}

func TestJ5_EffectsHaveNames(t *testing.T) {
	for _, e := range []Effect{Exclusive, Writes, ReadOnly} {
		text, _ := e.MarshalText()
		back := ReadOnly
		if back.UnmarshalText(text); back != e {
			t.Errorf("%s is read as %s", e, back)
		}
	}
	if e := ReadOnly; e.UnmarshalText([]byte("new")) != nil || e != Exclusive {
		t.Errorf("an unknown effect is read as %s", e)
	}
}

// Decoding arguments takes one pass and ends at any depth of nesting.
func TestJ5_DeepArguments(t *testing.T) {
	open := register(t, Tool{ToolDefinition: llm.ToolDefinition{Name: "any", Parameters: []byte(`{"type":"object"}`)},
		Run: func(_ context.Context, c *Call) (Result, error) { return Text("ran"), nil }})
	for depth, want := range map[int]string{900: "ran", 1_000_000: "nested more than"} {
		args := `{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		if got := run(open, call("any", args), nil).Model.Text(); !strings.Contains(got, want) {
			t.Errorf("%d deep: %s", depth, got)
		}
	}
	for args, want := range map[string]string{`{"x":{"y":[{"z":1,"z":2}]}}`: `"z" occurs twice`,
		`{"x":1e999}`: "out of range", `{"x":[1,2}`: "not valid JSON",
		`{"x":[1,`: "breaks off", `{"x":1,}`: "not valid JSON", `{"x":[1 2]}`: "not valid JSON",
		`{"x":1} x`: "more text"} {
		if got := run(open, call("any", args), nil).Model.Text(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// The value of a decision goes with the call: to the next hook, also when arguments are edited, and
// to middleware and the tool.
func TestT3_ValuesGoWithTheCall(t *testing.T) {
	var got []any
	seen := New(llm.ToolDefinition{Name: "greet"}, func(_ context.Context, c *Call, _ greetArgs) (Result, error) {
		got = append(got, c.Value)
		return Text("ok"), nil
	})
	r := register(t, seen)
	first := func(_ context.Context, req Request) (Decision, error) {
		got = append(got, req.Value)
		return Decision{Verdict: Ask, Args: `{"name":"y"}`, Value: "first"}, nil
	}
	silent := func(_ context.Context, req Request) (Decision, error) {
		got = append(got, req.Value, req.Call.Args)
		return Decision{Verdict: Allow}, nil
	}
	second := func(ctx context.Context, req Request) (Decision, error) {
		edited, err := req.WithArgs(ctx, `{"name":"z"}`)
		got = append(got, req.Value, edited.Value)
		return Decision{Verdict: Allow, Value: "second"}, err
	}
	p, asks := r.Authorize(t.Context(), r.Prepare(call("greet", `{"name":"x"}`)), Call{}, AuthorizeAll(first, silent))
	if !asks {
		t.Fatal("nobody is asked")
	}
	p, _ = r.Authorize(t.Context(), p, Call{}, second)
	around := func(next Handler) Handler {
		return func(ctx context.Context, c *Call) (Result, error) {
			got = append(got, c.Value)
			return next(ctx, c)
		}
	}
	p.Run(t.Context(), Call{}, []Middleware{around}, nil)
	want := []any{nil, "first", `{"name":"y"}`, "first", "first", "second", "second"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
