package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/soak"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

func TestMain(m *testing.M) {
	soak.Child(openSoak)
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// host is a session with a scripted model, and the events that its host saw.
type host struct {
	*agent.Session
	model  *llmtest.Provider
	events []agent.Event
}

type setup struct {
	steps   []llmtest.Step
	tools   []tool.Tool
	options agent.Options
	serial  bool           // the profile is Sequential
	more    []llm.Provider // other providers
	models  llm.Lookup
	wrap    func(llm.Provider) llm.Provider // wraps the scripted provider
	around  []llm.Middleware                // around every model call
	fails   bool                            // Close returns the error that ended the session
	silent  bool                            // the session is given away: no event reports its end
}

// open starts a session with the test's tools and a scripted model. It is closed when the test
// ends.
func open(t *testing.T, s setup) *host {
	t.Helper()
	h := &host{model: llmtest.NewProvider("test", s.steps...)}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := s.options
	var provider llm.Provider = h.model
	if s.wrap != nil {
		provider = s.wrap(provider)
	}
	o.Client = &llm.Client{Providers: append([]llm.Provider{provider}, s.more...), Models: s.models,
		Middleware: s.around}
	o.Env = local
	o.Profile = profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: s.tools, Sequential: s.serial,
		Options: s.options.Profile.Options}
	o.System = "You are being tested."
	if o.Retry.Jitter == nil {
		o.Retry.Jitter = func() float64 { return 0 }
	}
	var log *journal.Memory
	if o.Journal == nil { // for the replay at the end
		log = new(journal.Memory)
		o.Journal = log
	}
	on := o.OnEvent
	o.OnEvent = func(ev agent.Event) {
		h.events = append(h.events, ev)
		if on != nil {
			on(ev)
		}
	}
	if o.Journal != nil && o.Journal.Len() > 0 {
		if o.Dir == "" { // each session of the test has its own directory, which the tests do not use
			state, err := agent.Load(context.Background(), o.Journal)
			if err != nil {
				t.Fatal(err)
			}
			o.Env = inDir{local, state.Dir()}
		} else {
			o.Env = inDir{local, o.Dir}
		}
		h.Session, err = agent.Resume(context.Background(), o)
	} else {
		h.Session, err = agent.New(context.Background(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), local.Close()); err != nil && !s.fails && !s.silent &&
			!errors.Is(err, errDisk) && !errors.Is(err, errKilled) {
			t.Error(err)
		}
		if s.silent {
			return
		}
		checkEvents(t, h.events)
		if log != nil && log.Len() > 0 {
			checkReplay(t, log, h.events)
		}
	})
	return h
}

// inDir is an environment with another working directory.
type inDir struct {
	*env.Local
	dir string
}

func (e inDir) WorkDir() string { return e.dir }

// checkEvents checks the rules for every session: numbers rise without gaps, starts and ends pair
// up, and SESSION_END comes last and once.
func checkEvents(t *testing.T, events []agent.Event) {
	t.Helper()
	open, asked := map[string]int{}, map[string]bool{}
	start, ok := events[0].(*agent.SessionStart)
	resumed := ok && start.Resumed // then an input that was open before may end here
	pair := func(name string, by int) {
		if resumed && (name == "input" || by < 0 && open[name] == 0 && strings.HasPrefix(name, "call ")) {
			return
		}
		if open[name] += by; open[name] < 0 || open[name] > 1 {
			t.Errorf("%s: %d open", name, open[name])
		}
	}
	for i, ev := range events {
		if i == 0 && !resumed && ev.Head().Seq != 1 || i > 0 && ev.Head().Seq != events[i-1].Head().Seq+1 {
			t.Errorf("event %d has the number %d", i+1, ev.Head().Seq)
		}
		switch e := ev.(type) {
		case *agent.SessionStart:
			pair("session", 1)
		case *agent.SessionEnd:
			pair("session", -1)
			if i != len(events)-1 {
				t.Errorf("%s follows SESSION_END", events[i+1].Head().Kind)
			}
		case *agent.UserInput:
			pair("input", 1)
		case *agent.ProcessingEnd:
			pair("input", -1)
		case *agent.StepStart:
			pair("step", 1)
		case *agent.StepEnd:
			pair("step", -1)
		case *agent.AssistantTextStart:
			pair(fmt.Sprint("text ", e.Block), 1)
		case *agent.AssistantTextEnd:
			pair(fmt.Sprint("text ", e.Block), -1)
		case *agent.ToolCallStart:
			pair("call "+e.CallID, 1)
		case *agent.ToolCallEnd:
			pair("call "+e.CallID, -1)
		case *agent.InputRequested:
			asked["call "+e.CallID] = true
		}
	}
	for name, n := range open {
		if n != 0 && !asked[name] { // a question may wait for a resume
			t.Errorf("%s never ended", name)
		}
	}
}

func (h *host) kinds() string {
	var kinds []string
	for _, ev := range h.events {
		kinds = append(kinds, string(ev.Head().Kind))
	}
	return strings.Join(kinds, " ")
}

// only returns the events of a type, in order.
func only[E agent.Event](h *host) []E {
	var events []E
	for _, ev := range h.events {
		if e, ok := ev.(E); ok {
			events = append(events, e)
		}
	}
	return events
}

// warned returns the codes of the warnings.
func (h *host) warned() string {
	var codes []string
	for _, w := range only[*agent.Warning](h) {
		codes = append(codes, w.Code)
	}
	return strings.Join(codes, " ")
}

// submit calls Submit and checks the reason of the end.
func (h *host) submit(t *testing.T, prompt string, reason agent.Reason, more ...agent.SendOption) *agent.Result {
	t.Helper()
	result, err := h.Submit(context.Background(), prompt, more...)
	if err != nil || result.Reason != reason {
		t.Fatalf("Submit(%q) = %+v, %v, want the reason %s", prompt, result, err, reason)
	}
	return result
}

// turns returns the kinds and origins of the history's turns.
func (h *host) turns() string {
	var turns []string
	for _, turn := range h.History() {
		turns = append(turns, string(turn.Kind)+":"+string(turn.Origin))
	}
	return strings.Join(turns, " ")
}

// model returns a lookup that returns the same facts for every name.
func model(facts llm.Model) llm.Lookup {
	return func(provider, id string) (llm.Model, bool) {
		known := facts // subagents look up at the same time
		known.Provider, known.ID = provider, id
		return known, true
	}
}

// The tools of the tests are real tools that run through the pipeline.

type pathArgs struct {
	Path string `json:"path,omitempty"`
}

func newTool(name string, access tool.Access,
	run func(ctx context.Context, call *tool.Call) (tool.Result, error)) tool.Tool {
	t := tool.New(llm.ToolDefinition{Name: name, Description: "Does " + name + "."},
		func(ctx context.Context, call *tool.Call, _ pathArgs) (tool.Result, error) { return run(ctx, call) })
	return tool.WithAccess(t, func(args pathArgs) tool.Access {
		if args.Path != "" {
			access.Paths = []string{args.Path}
		}
		return access
	})
}

var (
	writes   = tool.Access{Effect: tool.Writes}
	readOnly = tool.Access{Effect: tool.ReadOnly}
)

func echo(name string) tool.Tool {
	return newTool(name, writes, func(context.Context, *tool.Call) (tool.Result,
		error) {
		return tool.Text(name + " ran"), nil
	})
}

func call(name string, args ...string) llm.ToolCall {
	return llm.ToolCall{Name: name, Args: "{" + strings.Join(args, ",") + "}"}
}

// A session is idle, processing, idle again and closed. Methods that do not fit the status return
// errors.
func TestA1_Lifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, started := make(chan struct{}), make(chan struct{})
		h := open(t, setup{steps: []llmtest.Step{llmtest.Gate(started, gate, llmtest.Text("hello"))}})
		if h.Status() != agent.StatusIdle {
			t.Errorf("a new session is %s", h.Status())
		}
		if _, err := h.Submit(context.Background(), " \n"); err == nil {
			t.Error("an empty prompt was accepted")
		}
		if _, err := h.Continue(context.Background()); err == nil {
			t.Error("Continue went on with nothing")
		}
		done := make(chan *agent.Result)
		go func() {
			result, err := h.Submit(context.Background(), "hi")
			if err != nil {
				t.Error(err)
			}
			done <- result
		}()
		<-started
		if h.Status() != agent.StatusProcessing {
			t.Errorf("a running session is %s", h.Status())
		}
		if _, err := h.Submit(context.Background(), "again"); !errors.Is(err, agent.ErrBusy) {
			t.Errorf("a second Submit: %v, want ErrBusy", err)
		}
		close(gate)
		result := <-done
		want := &agent.Result{Text: "hello", Reason: agent.ReasonCompleted, Finish: llm.Finish{Reason: llm.FinishStop},
			Turns: 1, Usage: h.Usage()}
		if diff := gocmp.Diff(want, result); diff != "" {
			t.Error(diff)
		}
		for range 2 {
			h.Abort()
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
		if h.Status() != agent.StatusClosed {
			t.Errorf("a closed session is %s", h.Status())
		}
		for name, err := range map[string]error{"Submit": second(h.Submit(context.Background(), "more")),
			"Steer":    h.Steer(context.Background(), "x"),
			"FollowUp": h.FollowUp(context.Background(), "x"), "Set": h.Set(context.Background(), agent.Settings{})} {
			if !errors.Is(err, agent.ErrClosed) {
				t.Errorf("%s on a closed session: %v, want ErrClosed", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// The end of Submit's context interrupts the input, is returned as its cause, and leaves the
// session usable.
func TestA5_SubmitsContextInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{steps: []llmtest.Step{llmtest.HangAfter(llm.Text{Text: "thinking of"}),
			llmtest.Text("fine")}})
		why := errors.New("the user lost patience")
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, why)
		defer cancel()
		result, err := h.Submit(ctx, "hi")
		if !errors.Is(err, why) || result == nil || result.Reason != agent.ReasonInterrupted {
			t.Errorf("Submit = %+v, %v, want interrupted for %v", result, err, why)
		}
		if _, err := h.Submit(ctx, "with a context that has ended"); !errors.Is(err, why) {
			t.Errorf("Submit = %v, want %v", err, why)
		}
		if result, err := h.Submit(context.Background(), "go on"); err != nil || result.Text != "fine" {
			t.Errorf("Submit after the interrupt = %+v, %v", result, err)
		}
		if n := len(h.History()); n != 3 {
			t.Errorf("%d turns, want 3: two inputs and one answer", n)
		}
	})
}

// A tool that ignores its context does not block the session, and its later result is dropped.
func TestA5_AbandonsATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := newTool("deaf", writes, func(_ context.Context, c *tool.Call) (tool.Result, error) {
			c.Live(env.Stdout, []byte("working"))
			<-release
			c.Live(env.Stdout, []byte("too late"))
			return tool.Text("too late"), nil
		})
		h := open(t, setup{tools: []tool.Tool{deaf, echo("other")},
			steps:   []llmtest.Step{llmtest.Calls(call("deaf"), call("other"))},
			options: agent.Options{Limits: agent.Limits{Grace: 2 * time.Second}}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := h.Submit(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Submit = %v", err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("Submit took %v, want 1 s and the grace of 2 s and a little", took)
		}
		if !strings.Contains(h.kinds(), "WARNING TOOL_CALL_END PROCESSING_END") {
			t.Errorf("no warning before the call's end: %s", h.kinds())
		}
		results := h.History()[2].Message.Parts
		if r := results[0].(llm.ToolResult); !r.IsError || !strings.Contains(r.Content.Text(), "abandoned") {
			t.Errorf("the abandoned call's result: %+v", r)
		}
		if r := results[1].(llm.ToolResult); r.IsError {
			t.Errorf("the other call's result: %+v", r)
		}
		close(release)
		synctest.Wait()
	})
}

// Abort ends the input and the session, and drops the follow-ups.
func TestA5_AbortEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		h = open(t, setup{steps: []llmtest.Step{llmtest.HangAfter(llm.Text{Text: "I am"})},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if _, ok := ev.(*agent.AssistantTextDelta); ok {
					h.Abort()
				}
			}}})
		if err := h.FollowUp(context.Background(), "never"); err != nil {
			t.Fatal(err)
		}
		result, err := h.Submit(context.Background(), "go")
		if !errors.Is(err, agent.ErrAborted) || result.Reason != agent.ReasonAborted {
			t.Errorf("Submit = %+v, %v, want aborted", result, err)
		}
		want := "SESSION_START USER_INPUT STEP_START ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END " +
			"STEP_END PROCESSING_END SESSION_END"
		if h.kinds() != want {
			t.Errorf("events %s\nwant   %s", h.kinds(), want)
		}
	})
}

// Failed attempts are retried with backoff, or after the delay that the provider asked for.
func TestA11_RetriesWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := llm.Errorf(llm.ErrServer, "down")
		h := open(t, setup{steps: []llmtest.Step{llmtest.Error(down),
			llmtest.Torn("half", llm.Errorf(llm.ErrStream, "cut")),
			llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 20 * time.Second}), llmtest.Text("at last")}})
		start := time.Now()
		if result, err := h.Submit(context.Background(), "go"); err != nil || result.Text != "at last" {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
		if took := time.Since(start); took != 23*time.Second {
			t.Errorf("took %v, want 1 s + 2 s + the 20 s that the provider asked for", took)
		}
		var retries []string
		for _, ev := range h.events {
			if r, ok := ev.(*agent.LLMRetry); ok {
				retries = append(retries, fmt.Sprintf("%d %d %s %v", r.Attempt, r.DelayMS, r.ErrorKind,
					r.TextDiscarded))
			}
		}
		want := []string{"1 1000 server false", "2 2000 stream true", "3 20000 rate_limit false"}
		if !slices.Equal(retries, want) {
			t.Errorf("retries %q, want %q", retries, want)
		}
	})
}

// The delays between attempts double.
func TestA11_RetryDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := slices.Repeat([]llmtest.Step{llmtest.Error(llm.Errorf(llm.ErrServer, "down"))}, 9)
		h := open(t, setup{steps: steps,
			options: agent.Options{Retry: llm.RetryPolicy{Jitter: func() float64 { return 0 }}}})
		if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, llm.ErrServer) {
			t.Errorf("error %v", err)
		}
		var delays []int64
		for _, ev := range h.events {
			if r, ok := ev.(*agent.LLMRetry); ok {
				delays = append(delays, r.DelayMS)
			}
		}
		if want := []int64{1000, 2000, 4000, 8000, 16000}; !slices.Equal(delays, want) {
			t.Errorf("delays of %v ms, want %v", delays, want)
		}
	})
}

// Final errors, and the last of the retries, end the session.
func TestA11_ErrorsThatEndTheSession(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		calls int
		kind  error
	}{
		{"a refused key is not retried", llm.Errorf(llm.ErrAuthentication, "no"), 1, llm.ErrAuthentication},
		{"retries are used up", llm.Errorf(llm.ErrServer, "down"), 3, llm.ErrServer},
		{"Retry-After beyond the cap is final", &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: time.Hour}, 1,
			llm.ErrRateLimit},
		{"the context is too long", llm.Errorf(llm.ErrContextLength, "too long"), 1, llm.ErrContextLength},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := slices.Repeat([]llmtest.Step{llmtest.Error(tt.err)}, 9)
				h := open(t, setup{steps: steps,
					options: agent.Options{Retry: llm.RetryPolicy{Max: 2, Jitter: func() float64 { return 0 }}}})
				result, err := h.Submit(context.Background(), "go")
				if !errors.Is(err, tt.kind) || result.Reason != agent.ReasonFailed {
					t.Errorf("Submit = %+v, %v, want %v", result, err, tt.kind)
				}
				if n := len(h.model.Requests()); n != tt.calls {
					t.Errorf("%d calls of the model, want %d", n, tt.calls)
				}
				if h.Status() != agent.StatusClosed || !strings.HasSuffix(h.kinds(),
					" ERROR PROCESSING_END SESSION_END") {
					t.Errorf("%s, events %s", h.Status(), h.kinds())
				}
			})
		})
	}
}

// Calls of one answer run in parallel unless they conflict.
func TestC2_Scheduling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf("%ds %s", int(time.Since(epoch).Seconds()), what))
		}
		timed := func(name string, access tool.Access) tool.Tool {
			return newTool(name, access, func(_ context.Context, c *tool.Call) (tool.Result, error) {
				note(c.ID + " starts")
				time.Sleep(time.Second)
				return tool.Text("ok"), nil
			})
		}
		named := func(id, name string, args ...string) llm.ToolCall {
			c := call(name, args...)
			c.ID = id
			return c
		}
		h := open(t, setup{
			tools: []tool.Tool{timed("write", writes), timed("read", readOnly), timed("alone", tool.Access{}),
				timed("command", tool.Access{Effect: tool.Writes, Command: "make"})},
			steps: []llmtest.Step{llmtest.Calls(
				named("a", "write", `"path":"x"`), named("b", "read", `"path":"x"`), named("c", "write", `"path":"y"`),
				named("d", "read", `"path":"./y"`), named("e", "alone"), named("f", "write", `"path":"z"`),
				named("g", "command"), named("h", "command"), named("i", "read", `"path":"q"`)),
				// all that is in it
				llmtest.Calls(named("j", "write", `"path":"dir/x"`), named("k", "read", `"path":"dir"`),
					named("l", "read", `"path":"di"`)),
				llmtest.Text("done")},
		})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		slices.Sort(log)
		want := []string{"0s a starts", "0s c starts", "1s b starts", "1s d starts", "2s e starts", "3s f starts",
			"3s i starts", "4s g starts", "4s h starts", "5s j starts", "5s l starts", "6s k starts"}
		if !slices.Equal(log, want) {
			t.Errorf("ran %q, want %q", log, want)
		}
	})
}

// baseNames returns the last elements of paths, which must be absolute.
func baseNames(t *testing.T, paths []string) []string {
	var names []string
	for _, p := range paths {
		if !path.IsAbs(p) {
			t.Errorf("the path %s is not absolute", p)
		}
		names = append(names, path.Base(p))
	}
	return names
}

// epoch is the time at which every synctest bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Authorize gets the call with its access, and decides. Without Approve, Ask denies the call.
func TestA15_AuthorizeSeesTheCallAndDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		h := open(t, setup{
			tools: []tool.Tool{echo("allowed"), echo("denied"), echo("asked")},
			steps: []llmtest.Step{llmtest.Calls(call("allowed", `"path":"x"`), call("denied"), call("asked")),
				llmtest.Text("done")},
			options: agent.Options{Hooks: agent.Hooks{Authorize: func(_ context.Context, r tool.Request) (tool.Decision,
				error) {
				seen = append(seen, fmt.Sprintf("%s %s %v", r.Call.Name, r.Access.Effect, baseNames(t, r.Access.Paths)))
				switch r.Call.Name {
				case "allowed":
					return tool.Decision{Verdict: tool.Allow}, nil
				case "asked":
					return tool.Decision{Verdict: tool.Ask}, nil
				}
				return tool.Decision{Reason: "not on a Sunday"}, nil
			}}},
		})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		if want := []string{"allowed writes [x]", "denied writes []", "asked writes []"}; !slices.Equal(seen, want) {
			t.Errorf("the hook saw %q, want %q", seen, want)
		}
		var results []string
		for _, p := range h.History()[2].Message.Parts {
			results = append(results, p.(llm.ToolResult).Content.Text())
		}
		if results[0] != "allowed ran" || !strings.Contains(results[1], "not on a Sunday") ||
			!strings.Contains(results[2], "approval") {
			t.Errorf("results %q", results)
		}
	})
}

// A slow host that steers from OnEvent gets every event, in order, and blocks nothing.
func TestB_OnEventMayUseTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		inside := 0
		h = open(t, setup{
			tools: []tool.Tool{echo("one"), echo("two")},
			steps: []llmtest.Step{llmtest.Calls(call("one"), call("two")), llmtest.Text("done")},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if inside++; inside > 1 {
					t.Error("two deliveries at once")
				}
				time.Sleep(time.Second)
				if _, ok := ev.(*agent.ToolCallStart); ok {
					if err := h.Steer(context.Background(), "faster"); err != nil {
						t.Error(err)
					}
				}
				if h != nil {
					h.Status()
					h.History()
				}
				inside--
			}},
		})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(h.kinds(), "STEERING_INJECTED"); n != 2 {
			t.Errorf("%d times steered, want 2: %s", n, h.kinds())
		}
		var seen []agent.Event
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for ev := range h.Events(ctx) {
			if seen = append(seen, ev); len(seen) == len(h.events) {
				cancel()
			}
		}
		if !gocmp.Equal(seen, h.events) {
			t.Errorf("a cursor saw %d events, OnEvent %d", len(seen), len(h.events))
		}
	})
}

// A session switches to a model of another provider during an input.
func TestA8_SwitchesTheProvider(t *testing.T) {
	other := llmtest.NewProvider("other", llmtest.Text("from the other"))
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("from the first")}, more: []llm.Provider{other}})
	if _, err := h.Submit(context.Background(), "one"); err != nil {
		t.Fatal(err)
	}
	unknown, provider, model := "unknown", "other", "model-x"
	if err := h.Set(context.Background(), agent.Settings{Provider: &unknown}); !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("an unknown provider: %v", err)
	}
	if err := h.Set(context.Background(), agent.Settings{Provider: &provider, Model: &model}); err != nil {
		t.Fatal(err)
	}
	if result, err := h.Submit(context.Background(), "two"); err != nil || result.Text != "from the other" {
		t.Fatalf("Submit = %+v, %v", result, err)
	}
	if r := other.Requests()[0]; r.Model != model || len(r.Messages) != 4 {
		t.Errorf("asked %q with %d messages", r.Model, len(r.Messages))
	}
	var epochs []int
	for _, ev := range h.events {
		if e, ok := ev.(*agent.StepStart); ok {
			epochs = append(epochs, e.Epoch)
		}
	}
	if !slices.Equal(epochs, []int{0, 1}) {
		t.Errorf("epochs %v, want a new one after the switch", epochs)
	}
}

// Set applies from the next model call on.
func TestA8_SettingsHoldFromTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		other, high := "model-2", "high"
		h = open(t, setup{
			tools: []tool.Tool{newTool("switch", writes, func(context.Context, *tool.Call) (tool.Result, error) {
				return tool.Text("ok"), h.Set(context.Background(), agent.Settings{Model: &other, Effort: &high})
			})},
			steps: []llmtest.Step{llmtest.Calls(call("switch")), llmtest.Text("done")},
		})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		requests := h.model.Requests()
		if requests[0].Model != "model-1" || requests[0].Effort != "" || requests[1].Model != other ||
			requests[1].Effort != high {
			t.Errorf("asked %q with effort %q, then %q with %q", requests[0].Model, requests[0].Effort,
				requests[1].Model, requests[1].Effort)
		}
	})
}

var errDisk = errors.New("no space left on device")

// failing is a journal whose disk is full after a number of appends.
type failing struct {
	journal.Memory
	left int
}

func (f *failing) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if f.left--; f.left < 0 {
		return errDisk
	}
	return f.Memory.Append(ctx, next, records...)
}

// If the journal cannot be written, the session ends with an error, and every start event has its
// end event.
func TestA19_JournalFailureEndsTheSession(t *testing.T) {
	const appends = 6 // input, answer, intent, result, answer, end
	for n := range appends {
		t.Run(fmt.Sprint("append ", n+1), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, setup{
					tools:   []tool.Tool{echo("work")},
					steps:   []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("done")},
					options: agent.Options{Journal: &failing{left: n + 1}}, // the first append belongs to New
				})
				if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, errDisk) {
					t.Errorf("Submit = %v, want the disk's error", err)
				}
				if err := h.Close(); !errors.Is(err, errDisk) {
					t.Errorf("Close = %v, want the disk's error", err)
				}
				if !strings.Contains(h.kinds(), "ERROR") {
					t.Errorf("no ERROR: %s", h.kinds())
				}
			})
		})
	}
}

// An abort that comes as an input ends drops the follow-ups, an interrupt keeps them. Neither
// begins one.
func TestA7_NoFollowUpAfterAStop(t *testing.T) {
	for name, stop := range map[string]func(*agent.Session){"abort": (*agent.Session).Abort,
		"interrupt": (*agent.Session).Interrupt} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h *host
				h = open(t, setup{steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")},
					options: agent.Options{OnEvent: func(ev agent.Event) {
						if _, ok := ev.(*agent.ProcessingEnd); ok {
							stop(h.Session)
						}
					}}})
				if err := h.FollowUp(context.Background(), "more"); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Submit(context.Background(), "go"); err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(h.kinds(), "USER_INPUT"); n != 1 {
					t.Errorf("%d inputs: %s", n, h.kinds())
				}
			})
		})
	}
}

// A follow-up that is accepted before Submit has returned runs before Submit returns.
func TestA7_FollowUpAcceptedAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		once := true
		h = open(t, setup{steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if _, ok := ev.(*agent.ProcessingEnd); ok && once {
					once = false
					if err := h.FollowUp(context.Background(), "more"); err != nil {
						t.Error(err)
					}
				}
			}}})
		if result, err := h.Submit(context.Background(), "go"); err != nil || result.Text != "two" ||
			result.Turns != 2 {
			t.Errorf("Submit = %+v, %v", result, err)
		}
	})
}

// Steer does not call OnEvent on its caller's goroutine, so a host may hold a lock that OnEvent
// takes.
func TestB_SteerUnderTheHostsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var h *host
		steered := make(chan struct{})
		busy := newTool("busy", writes, func(_ context.Context, c *tool.Call) (tool.Result, error) {
			go func() {
				mu.Lock()
				defer mu.Unlock()
				if err := h.Steer(context.Background(), "x"); err != nil {
					t.Error(err)
				}
				close(steered)
			}()
			for range 100 {
				c.Live(env.Stdout, []byte("output"))
			}
			<-steered
			return tool.Text("ok"), nil
		})
		h = open(t, setup{tools: []tool.Tool{busy}, steps: []llmtest.Step{llmtest.Calls(call("busy")),
			llmtest.Text("done")},
			options: agent.Options{OnEvent: func(agent.Event) { mu.Lock(); defer mu.Unlock() }}})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
	})
}

// A tool's mistakes give an error result. They end neither the session nor the process.
func TestA11_ToolMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := newTool("bad", writes, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.Parts{&llm.Text{Text: "a pointer"}}}, nil
		})
		nothing := newTool("nothing", writes, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.Parts{nil}}, nil
		})
		access := echo("access")
		access.Access = func(string) (tool.Access, error) { panic("access") }
		h := open(t, setup{
			tools:   []tool.Tool{bad, nothing, access},
			steps:   []llmtest.Step{llmtest.Calls(call("bad"), call("nothing"), call("access")), llmtest.Text("done")},
			options: agent.Options{Journal: new(journal.Memory)},
		})
		if _, err := h.Submit(context.Background(), "go", agent.Attach(&llm.Text{Text: "a pointer"})); err == nil {
			t.Error("a pointer part was accepted")
		}
		if result, err := h.Submit(context.Background(), "go"); err != nil || result.Text != "done" {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
		for _, p := range h.History()[2].Message.Parts {
			if r := p.(llm.ToolResult); !r.IsError || !strings.Contains(r.Content.Text(), "broken") {
				t.Errorf("result %+v", r)
			}
		}
	})
}

// Servers may repeat or omit call ids. Each call still gets its own result.
func TestA2_RepeatedCallIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		named := func(id, path string) llm.ToolCall {
			return llm.ToolCall{ID: id, Name: "say", Args: fmt.Sprintf(`{"path":%q}`, path)}
		}
		sayPath := tool.New(llm.ToolDefinition{Name: "say"}, func(_ context.Context, _ *tool.Call,
			a pathArgs) (tool.Result, error) {
			return tool.Text(a.Path), nil
		})
		answer := llm.Response{Message: llm.Message{Parts: llm.Parts{named("x", "1"), named("x", "2"),
			named("x_2", "3")}}}
		h := open(t, setup{tools: []tool.Tool{sayPath},
			steps: []llmtest.Step{llmtest.Respond(answer), llmtest.Text("done")}})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, p := range h.History()[2].Message.Parts {
			r := p.(llm.ToolResult)
			if r.Content.Text() != fmt.Sprint(i+1) || seen[r.CallID] {
				t.Errorf("result %d of call %s: %q", i+1, r.CallID, r.Content.Text())
			}
			seen[r.CallID] = true
		}
	})
}

// A text without deltas (a whole body, or from middleware) still has a start and a delta. An empty
// text has neither.
func TestB_TextsWithoutDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) {
				yield(llm.StreamEvent{Type: llm.EventFinish, Response: &llm.Response{Provider: "test",
					Message: llm.Message{Parts: llm.Parts{llm.Text{}, llm.Text{Text: "all at once"}}}}}, nil)
			}
		}
		h := open(t, setup{steps: []llmtest.Step{whole}})
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(h.kinds(),
			"STEP_START ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END STEP_END") {
			t.Errorf("events %s", h.kinds())
		}
	})
}

// emptyEnv returns an environment for sessions that run no tools.
func emptyEnv(t *testing.T) env.Environment {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return local
}
