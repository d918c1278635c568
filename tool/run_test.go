package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
)

type greetArgs struct {
	Name  string   `json:"name"`
	Times int      `json:"times,omitempty"`
	Loud  bool     `json:"loud,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// greet returns a tool that counts its runs and answers with its arguments.
func greet(runs *int) Tool {
	return New(llm.ToolDefinition{Name: "greet", Description: "Greets."}, func(_ context.Context, call *Call,
		_ greetArgs) (Result, error) {
		*runs++
		return Text(call.Args), nil
	})
}

func register(t *testing.T, tools ...Tool) *Registry {
	t.Helper()
	r, err := NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(name, args string) llm.ToolCall { return llm.ToolCall{ID: "call_1", Name: name, Args: args} }

func run(r *Registry, c llm.ToolCall, hook Authorize) *Outcome {
	return r.Run(context.Background(), c, Call{}, hook)
}

// refused fails the test unless a call did not run and its error result has the texts.
func refused(t *testing.T, o *Outcome, runs int, want ...string) {
	t.Helper()
	text := o.Model.Text()
	if !o.IsError || runs != 0 {
		t.Errorf("error %v, ran %d times: %s", o.IsError, runs, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the error does not say %q: %s", w, text)
		}
	}
}

func TestAC3_1_CallReachesTheTool(t *testing.T) {
	var got Call
	tool := New(llm.ToolDefinition{Name: "look"}, func(_ context.Context, call *Call, args greetArgs) (Result, error) {
		got = *call
		return Text("hello " + args.Name), nil
	})
	session := new(Plain)
	o := register(t, tool).Run(context.Background(), call("look", `{"name":"x"}`), Call{Session: session}, nil)
	if o.IsError || o.Model.Text() != "hello x" {
		t.Errorf("%+v", o)
	}
	if got.ID != "call_1" || got.Name != "look" || got.Args != `{"name":"x"}` || got.Session != session {
		t.Errorf("%+v", got)
	}
}

func TestAC3_2_UnknownTool(t *testing.T) {
	runs := 0
	o := run(register(t, greet(&runs)), call("great", `{"name":"x"}`), nil)
	refused(t, o, runs, `unknown tool "great"`, "greet")
}

func TestAC3_3_BadJSON(t *testing.T) {
	for args, want := range map[string]string{
		`{"name":"x"`:             "breaks off",
		`{"name":`:                "breaks off",
		`{"name":"x"}}`:           "more text after the object",
		`{"name":"x"} {}`:         "more text after the object",
		`{name:"x"}`:              "not valid JSON",
		`{"name":"x","name":"y"}`: `"name" occurs twice`,
		`["x"]`:                   "one JSON object",
		`"x"`:                     "one JSON object",
	} {
		runs := 0
		o := run(register(t, greet(&runs)), call("greet", args), nil)
		refused(t, o, runs, "greet", want)
	}
}

func TestC1_SchemaViolationsNameTheParameter(t *testing.T) {
	for args, want := range map[string][]string{
		`{}`:                              {`"name"`, "missing", "a string"},
		``:                                {`"name"`, "missing"},
		`{"name":null}`:                   {`"name"`, "a string", "null"},
		`{"name":{"x":1}}`:                {`"name"`, "a string", "object"},
		`{"name":"x","times":"many"}`:     {`"times"`, "an integer", `"many"`},
		`{"name":"x","times":1.5}`:        {`"times"`, "an integer", "1.5"},
		`{"name":"x","times":true}`:       {`"times"`, "an integer", "true"},
		`{"name":"x","loud":"perhaps"}`:   {`"loud"`, "a boolean"},
		`{"name":"x","tags":"one"}`:       {`"tags"`, "array"},
		`{"name":"x","tags":[{}]}`:        {`"tags[0]"`, "a string"},
		`{"name":"x","tags":"[1,{}]"}`:    {`"tags[1]"`, "a string"},
		`{"times":"many","loud":"often"}`: {`"name"`, `"times"`, `"loud"`},
	} {
		runs := 0
		o := run(register(t, greet(&runs)), call("greet", args), nil)
		refused(t, o, runs, want...)
	}
}

func TestAC3_4_ToolError(t *testing.T) {
	tool := New(llm.ToolDefinition{Name: "fail"}, func(context.Context, *Call, struct{}) (Result, error) {
		return Text("lost"), errors.New("the disk is full; delete something")
	})
	o := run(register(t, tool), call("fail", `{}`), nil)
	refused(t, o, 0, "Error: the disk is full; delete something")
	if o.Panic != "" {
		t.Error("an error is no panic")
	}
}

func TestC1_ToolPanic(t *testing.T) {
	tool := New(llm.ToolDefinition{Name: "boom"}, func(context.Context, *Call, struct{}) (Result, error) {
		panic("assignment to entry in nil map")
	})
	o := run(register(t, tool), call("boom", `{}`), nil)
	refused(t, o, 0, "boom", "assignment to entry in nil map")
	if !strings.Contains(o.Panic, "run_test.go") {
		t.Errorf("the stack does not name the place: %s", o.Panic)
	}
}

func TestC1_RawInputIsNotParsed(t *testing.T) {
	tool := Tool{
		ToolDefinition: llm.ToolDefinition{Name: "raw", Grammar: &llm.Grammar{}},
		Run:            func(_ context.Context, call *Call) (Result, error) { return Text(call.Args), nil },
	}
	if o := run(register(t, tool), call("raw", "*** not { JSON"), nil); o.IsError ||
		o.Model.Text() != "*** not { JSON" {
		t.Errorf("%+v", o)
	}
}

func TestC1_AccessErrorRefuses(t *testing.T) {
	runs := 0
	tool := greet(&runs)
	tool.Access = func(string) (Access, error) { return Access{}, errors.New("name what?") }
	refused(t, run(register(t, tool), call("greet", `{"name":"x"}`), nil), runs, "name what?")
}

func TestA15_Authorize(t *testing.T) {
	answer := func(d Decision, err error) Authorize {
		return func(context.Context, Request) (Decision, error) { return d, err }
	}
	for name, c := range map[string]struct {
		hook Authorize
		want string
	}{
		"the zero decision": {answer(Decision{}, nil), "not permitted"},
		"a reason":          {answer(Decision{Reason: "it is late"}, nil), "not permitted: it is late"},
		"an error":          {answer(Decision{Verdict: Allow}, errors.New("policy broken")), "policy broken"},
		"nobody to ask":     {answer(Decision{Verdict: Ask}, nil), "approval"},
		"bad new arguments": {answer(Decision{Verdict: Allow, Args: `{"times":1}`}, nil), `"name" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			refused(t, run(register(t, greet(&runs)), call("greet", `{"name":"x"}`), c.hook), runs, c.want)
		})
	}
	runs := 0
	o := run(register(t, greet(&runs)), call("greet", `{"name":"x"}`),
		answer(Decision{Verdict: Allow, Args: `{"name":"y"}`}, nil))
	if o.IsError || o.Model.Text() != `{"name":"y"}` {
		t.Errorf("edited arguments: %+v", o)
	}
}

func TestA15_AuthorizeSeesWhatTheCallWouldTouch(t *testing.T) {
	runs := 0
	tool := WithAccess(greet(&runs), func(args greetArgs) Access {
		return Access{Effect: Writes, Paths: []string{args.Name}}
	})
	var seen Request
	o := run(register(t, tool), call("greet", `{"name":"x","times":"2"}`), func(_ context.Context, r Request) (Decision,
		error) {
		seen = r
		return Decision{Verdict: Allow}, nil
	})
	want := Request{Call: call("greet", `{"name":"x","times":2}`), Access: Access{Effect: Writes, Paths: []string{"x"}}}
	if diff := cmp.Diff(want, seen, cmpopts.IgnoreUnexported(Request{})); diff != "" || o.IsError {
		t.Error(diff)
	}
}

func TestC1_InvalidTextIsCleaned(t *testing.T) {
	text := "ab\xff\xfecd\xffef"
	tool := New(llm.ToolDefinition{Name: "bytes"}, func(context.Context, *Call, struct{}) (Result, error) {
		result := Text(text)
		result.Gap = Gap{At: 4, Bytes: 10, Chars: 10, Lines: 1}
		return result, nil
	})
	o := run(register(t, tool), call("bytes", `{}`), nil)
	if got := o.Content.Text(); got != "ab\uFFFDcd\uFFFDef" {
		t.Errorf("%q", got)
	}
	if o.Gap.At != len("ab\uFFFD") {
		t.Errorf("the gap moved to %d", o.Gap.At)
	}
	want := "ab\uFFFD\n[WARNING: Tool output was truncated. 10 characters were removed from the middle. " +
		defaultHint + "]\ncd\uFFFDef"
	if got := o.Model.Text(); got != want || !o.Truncated || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}

// Results and errors are cleaned of hidden characters, and a gap keeps its place.
func TestB_ResultsHideNothing(t *testing.T) {
	const raw, want = "a\r\n\x1b[31mb\u202e", "a\n" + `\u{1b}[31mb\u{202e}`
	tool := New(llm.ToolDefinition{Name: "raw"}, func(_ context.Context, call *Call, args struct{ Fail bool }) (Result,
		error) {
		if args.Fail {
			return Result{}, errors.New(raw)
		}
		return Result{Content: llm.Parts{llm.Text{Text: raw + raw}, llm.Text{Text: raw}}, Final: raw,
			Gap: Gap{At: len(raw), Bytes: 7, Chars: 7}}, nil
	})
	r := register(t, tool)
	o := run(r, call("raw", `{"Fail":false}`), nil)
	if got := o.Content.Text(); got != want+want+want || o.Final != want {
		t.Errorf("%q, final %q", got, o.Final)
	}
	if o.Gap.At != len(want) {
		t.Errorf("the gap is at %d, want %d", o.Gap.At, len(want))
	}
	if got := o.Model.Text(); !strings.HasPrefix(got, want+"\n[WARNING") || !strings.HasSuffix(got, "]\n"+want+want) {
		t.Errorf("the model sees %q", got)
	}
	deny := func(context.Context, Request) (Decision, error) { return Decision{Reason: raw}, nil }
	for _, o := range []*Outcome{run(r, call("raw", `{"Fail":true}`), nil), run(r, call("raw", `{"Fail":false}`),
		deny)} {
		if got := o.Model.Text(); !strings.HasSuffix(got, want) || o.Content.Text() != got || !o.IsError {
			t.Errorf("%q", got)
		}
	}
	if got := run(r, call("x\x1b\u202e", `{}`), nil).Model.Text(); sanitize.Text(got) != got {
		t.Errorf("%q", got)
	}
}

func TestC1_AWrongGapDoesNotStopThePipeline(t *testing.T) {
	for _, at := range []int{-1, 100} {
		tool := New(llm.ToolDefinition{Name: "gap"}, func(context.Context, *Call, struct{}) (Result, error) {
			result := Text("abc")
			result.Gap = Gap{At: at, Bytes: 1, Chars: 1}
			return result, nil
		})
		if o := run(register(t, tool), call("gap", `{}`), nil); !strings.Contains(o.Model.Text(), "abc") {
			t.Errorf("%q", o.Model.Text())
		}
	}
}

func TestC10_GapCountsOnce(t *testing.T) {
	tool := New(llm.ToolDefinition{Name: "two"}, func(context.Context, *Call, struct{}) (Result, error) {
		return Result{Content: llm.Parts{llm.Text{Text: "ab"}, llm.Media{MIME: "image/png"}, llm.Text{Text: "cd"}},
			Gap: Gap{At: 1, Bytes: 5, Chars: 5}}, nil
	})
	o := run(register(t, tool), call("two", `{}`), nil)
	if n := strings.Count(o.Model.Text(), "WARNING"); n != 1 || len(o.Model) != 3 ||
		!reflect.DeepEqual(o.Model[2], llm.Text{Text: "cd"}) {
		t.Errorf("%d markers: %+v", n, o.Model)
	}
	if o.Gap.Bytes != 5 {
		t.Errorf("the gap is lost: %+v", o.Gap)
	}
}

func TestAC5_1_EveryToolsOutputIsCut(t *testing.T) {
	long := strings.Repeat("x", DefaultChars+1)
	for name, c := range map[string]struct {
		limit Limit
		fail  bool
		kept  int
	}{
		"default": {Limit{}, false, DefaultChars}, "own limit": {Limit{Chars: 10}, false, 10},
		"an error": {Limit{Chars: 10}, true, 10},
	} {
		t.Run(name, func(t *testing.T) {
			tool := New(llm.ToolDefinition{Name: "long"}, func(context.Context, *Call, struct{}) (Result, error) {
				return Result{Content: llm.TextParts(long), IsError: c.fail}, nil
			})
			tool.Limit = c.limit
			o := run(register(t, tool), call("long", `{}`), nil)
			if n := strings.Count(o.Model.Text(), "x"); n != c.kept || !o.Truncated || o.IsError != c.fail {
				t.Errorf("%d kept, truncated %v, error %v", n, o.Truncated, o.IsError)
			}
			if o.Content.Text() != long {
				t.Error("the whole output is not in the outcome")
			}
		})
	}
}

// A tool or an Access that calls runtime.Goexit is reported like one that panics, and nobody waits
// for it forever.
func TestI7_ToolGoexit(t *testing.T) {
	boom := New(llm.ToolDefinition{Name: "boom"}, func(context.Context, *Call, struct{}) (Result, error) {
		runtime.Goexit()
		return Result{}, nil
	})
	access := boom
	access.Access = func(string) (Access, error) { runtime.Goexit(); return Access{}, nil }
	for name, tool := range map[string]Tool{"Run": boom, "Access": access} {
		o := run(register(t, tool), call("boom", `{}`), nil)
		refused(t, o, 0, "boom", "called runtime.Goexit")
		if !strings.Contains(o.Panic, "run_test.go") || strings.Contains(o.Model.Text(), ".go:") {
			t.Errorf("%s: the host has the stack %q, the model %q", name, o.Panic, o.Model.Text())
		}
	}
}

// brokenEnv panics or calls runtime.Goexit when a command is started or a process is used.
type brokenEnv struct {
	env.Environment
	start, wait, kill func()
}

func (b brokenEnv) Start(context.Context, env.Command) (env.Process, error) {
	b.start()
	return brokenProcess{b: b}, nil
}

type brokenProcess struct {
	env.Process
	b brokenEnv
}

func (p brokenProcess) Stdin() io.WriteCloser { return nil }

func (p brokenProcess) Wait(context.Context) (env.Exit, error) {
	p.b.wait()
	return env.Exit{}, nil
}

func (p brokenProcess) Kill(context.Context) error {
	p.b.kill()
	return nil
}

// A panic of the environment on a goroutine of the process table is an error, and the table can
// still be closed.
func TestI7_BrokenProcesses(t *testing.T) {
	fine := func() {}
	for name, bad := range map[string]func(){"panic": func() { panic("broken") }, "Goexit": runtime.Goexit} {
		for what, e := range map[string]brokenEnv{"Start": {start: bad, wait: fine, kill: fine},
			"Wait": {start: fine, wait: bad, kill: fine},
			"Kill": {start: fine, wait: fine, kill: bad}} {
			t.Run(what+" "+name, func(t *testing.T) {
				table := NewProcesses(nil, 1)
				id, err := table.Start(context.Background(), e, env.Command{})
				if (err != nil) != (what == "Start") {
					t.Fatalf("Start: %v", err)
				}
				if err == nil {
					var got Result
					got, err = table.Read(context.Background(), id, time.Hour)
					if what == "Wait" && err == nil && got.Ran.Err != "" && !got.Ran.Running() {
						err = new(guard.Panic) // the text is for the model
					}
				}
				if closed := table.Close(); err == nil {
					err = closed
				}
				var p *guard.Panic
				if what == "Kill" && err == nil {
					return // it had already ended, so nothing had to be killed
				}
				if !errors.As(err, &p) {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

// A structured result is one JSON value of limited size. A longer one is dropped, and the rest of
// the result stays.
func TestJ4_StructuredIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		value, want string
		isError     bool
	}{
		"none":      {"", "", false},
		"spaces":    {"{ \"a\": [1, 2] }\n", `{"a":[1,2]}`, false},
		"no JSON":   {"{", "", true},
		"two":       {"1 2", "", true},
		"too large": {`"` + strings.Repeat("x", MaxStructured) + `"`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			result := Text("text")
			result.Changes = []Change{{Kind: Created, Path: "/f"}}
			if c.value != "" {
				result.Structured = json.RawMessage(c.value)
			}
			o := newOutcome(result, Limit{})
			if string(o.Structured) != c.want || o.IsError != c.isError || len(o.Changes) != 1 {
				t.Errorf("%.100s, an error: %v, %s", o.Structured, o.IsError, o.Model.Text())
			}
		})
	}
}

// Names of processes and errors are cleaned in the outcome. The tool's own values stay as they are.
func TestJ4_RanIsClean(t *testing.T) {
	result := Text("text")
	result.Ran = &Ran{Err: "\x1b[31mred", Exit: &env.Exit{Left: []string{"1 \x1b[2Jsh"}}}
	o := newOutcome(result, Limit{})
	got := []string{o.Ran.Err, o.Ran.Exit.Left[0], result.Ran.Err, result.Ran.Exit.Left[0]}
	if want := []string{`\u{1b}[31mred`, `1 \u{1b}[2Jsh`, "\x1b[31mred", "1 \x1b[2Jsh"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
