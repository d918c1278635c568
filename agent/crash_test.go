package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

var errKilled = errors.New("the process is no more")

// unreliable is a log whose writing calls are numbered from 1. The function fault decides whether a
// call takes effect and which error it returns.
type unreliable struct {
	journal.Log
	fault func(n int) (effect bool, err error)

	mu       sync.Mutex
	calls    int
	durable  int64 // records covered by a sync
	unsynced []int // the numbers of the syncs that failed
}

// call makes the next writing call, and returns its number too.
func (u *unreliable) call(do func() error) (n int, err error) {
	u.calls++
	effect, err := u.fault(u.calls)
	if effect {
		err = errors.Join(err, do())
	}
	return u.calls, err
}

func (u *unreliable) Append(ctx context.Context, next int64, records ...journal.Record) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, err := u.call(func() error { return u.Log.Append(ctx, next, records...) })
	return err
}

func (u *unreliable) Sync(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.call(func() error {
		err := u.Log.Sync(ctx)
		if err == nil {
			u.durable = u.Log.Len()
		}
		return err
	})
	if err != nil {
		u.unsynced = append(u.unsynced, n)
	}
	return err
}

func (u *unreliable) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, err := u.call(u.Log.Close)
	return err
}

// now returns how many calls there were, and how many records are durable.
func (u *unreliable) now() (calls int, durable int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls, u.durable
}

// crash cuts a process off at a call of its journal, before or after the call took effect. What
// remains is everything appended, as after kill -9, or only what was synced, as after a power cut.
type crash struct {
	at        int
	effect    bool
	powerless bool
}

func (c crash) String() string {
	return fmt.Sprintf("at call %d (done: %v, unsynced lost: %v)", c.at, c.effect, c.powerless)
}

func (c crash) fault(n int) (bool, error) {
	switch {
	case c.at == 0 || n < c.at:
		return true, nil
	case n == c.at:
		return c.effect, errKilled
	}
	return false, errKilled
}

// universe holds what outlives a process: the model, and the effects of the tools.
type universe struct {
	t      *testing.T
	server *fakellm.Server
	client *llm.Client
	env    env.Environment
	log    *journal.Memory
	synced int64         // records that survive a power cut
	lives  []*unreliable // the journals of the processes

	mu   sync.Mutex
	runs map[string]int // runs of calls with effects, by call id
}

const firstTask, secondTask, steering = "the first task", "the second task", "look twice"

// crashScript has parallel calls with effects, calls that wait for each other, a single call, and
// answers without calls with effects. The second request fails at first.
var crashScript = []fakellm.Turn{
	{Thinking: "I think.", Text: "I begin.", Calls: []fakellm.Call{useTool("change", "a"), useTool("change", "b"),
		useTool("look", "a")}},
	{Calls: []fakellm.Call{useTool("change", "a"), useTool("change", "a"), useTool("alone", "")}},
	{Calls: []fakellm.Call{useTool("look", "a")}},
	{Text: "The first is done."},
	{Calls: []fakellm.Call{useTool("change", "c")}},
	{Text: "The second is done."},
}

func useTool(name, path string) fakellm.Call {
	return fakellm.Call{Name: name, Args: json.RawMessage(fmt.Sprintf(`{"path":%q}`, path))}
}

func newUniverse(t *testing.T, local env.Environment) *universe {
	t.Helper()
	server := fakellm.New(fakellm.Script(crashScript...),
		fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	w := &universe{t: t, server: server, env: local, log: new(journal.Memory), runs: map[string]int{}}
	client := llmtest.PipeClient(t, server)
	client.Transport = stamped{client.Transport, w}
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: "http://x.test", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	w.client = &llm.Client{Providers: []llm.Provider{provider}}
	return w
}

// stamped stamps requests with the process that sends them, and with the number of calls of its
// journal so far.
type stamped struct {
	http.RoundTripper
	universe *universe
}

const stampHeader = "Test-Sent"

func (s stamped) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	calls, _ := s.universe.lives[len(s.universe.lives)-1].now()
	r.Header.Set(stampHeader, fmt.Sprint(len(s.universe.lives)-1, " ", calls))
	return s.RoundTripper.RoundTrip(r)
}

// counts reports whether the sync beside a request has succeeded. Otherwise the session has seen
// nothing of its answer and goes on as if the request had not been sent.
func (w *universe) counts(r *fakellm.Request) bool {
	var life, calls int
	if _, err := fmt.Sscan(r.Header.Get(stampHeader), &life, &calls); err != nil {
		w.t.Error(err)
	}
	unsynced := w.lives[life].unsynced
	return !slices.Contains(unsynced, calls) && !slices.Contains(unsynced, calls+1)
}

func (w *universe) tools() []tool.Tool {
	run := func(counts bool) func(context.Context, *tool.Call) (tool.Result, error) {
		return func(_ context.Context, c *tool.Call) (tool.Result, error) {
			if counts {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.runs[c.ID]++
			}
			return tool.Text("ran " + c.ID), nil
		}
	}
	return []tool.Tool{newTool("look", readOnly, run(false)), newTool("change", writes, run(true)),
		newTool("alone", tool.Access{}, run(true))}
}

// process holds the state of one process: the session, and what the host told it.
type process struct {
	*agent.Session
	log     *unreliable
	state   *agent.State // at its start
	events  []agent.Event
	refused []string // texts that the session refused
	failed  error
}

// begin starts a process on the remaining journal.
func (w *universe) begin(fault func(int) (bool, error)) *process {
	w.t.Helper()
	p := &process{log: &unreliable{Log: w.log, fault: fault, durable: w.synced}, state: new(agent.State)}
	w.lives = append(w.lives, p.log)
	o := agent.Options{ID: "session", Client: w.client, Env: w.env, System: "You are being tested.", Journal: p.log,
		Profile: profile.Profile{Name: "test", Provider: "anthropic", Model: "claude-sonnet-5-5", Tools: w.tools()},
		Retry:   llm.RetryPolicy{Base: time.Millisecond, Jitter: func() float64 { return 0 }}}
	asked := int64(0) // the number of records of the request that travels
	o.OnEvent = func(ev agent.Event) {
		p.events = append(p.events, ev)
		switch ev.(type) {
		case *agent.StepStart:
			asked = p.log.Len()
		case *agent.ThinkingDelta, *agent.AssistantTextDelta:
			if _, durable := p.log.now(); durable < asked {
				w.t.Errorf("%T is shown, and %d of the request's %d records are durable", ev, durable, asked)
			}
		}
		if e, ok := ev.(*agent.ToolCallEnd); ok && e.CallID == "call_0_1" {
			p.tell(steering, p.Steer)
		}
	}
	var err error
	if w.log.Len() == 0 {
		p.Session, err = agent.New(context.Background(), o)
	} else {
		if p.state, err = agent.Load(context.Background(), w.log); err != nil {
			w.t.Fatal(err)
		}
		p.Session, err = agent.Resume(context.Background(), o)
	}
	if err != nil && fault == nil {
		w.t.Fatal(err)
	}
	p.failed = err // the process failed before it had a session
	return p
}

// tell sends a text that the session does not have yet.
func (p *process) tell(text string, say func(context.Context, string, ...agent.SendOption) error) {
	known := slices.ContainsFunc(p.state.Queue, func(q agent.Queued) bool { return q.Text == text }) ||
		slices.ContainsFunc(p.state.Turns, func(t agent.Turn) bool { return t.Message.Parts.Text() == text })
	if known {
		return
	}
	if err := say(context.Background(), text); err != nil {
		p.failed = errors.Join(p.failed, err)
		p.refused = append(p.refused, text)
	}
}

// work does the host's remaining work.
func (p *process) work() {
	s, ctx := p.state, context.Background()
	if p.Session == nil {
		return
	}
	if p.tell(secondTask, p.FollowUp); p.failed != nil {
		p.failed = errors.Join(p.failed, p.Close())
		return
	}
	if s.Input != nil && steerable(s) {
		p.tell(steering, p.Steer)
	}
	var err error
	switch {
	// also if a process stopped between the two tasks
	case s.Input != nil, s.Last != nil && s.Queued(agent.LaneFollowUps) != nil:
		_, err = p.Continue(ctx)
	case s.Last == nil:
		_, err = p.Submit(ctx, firstTask)
	}
	p.failed = errors.Join(p.failed, err, p.Close())
}

// steerable reports whether the call after which the host steers is done.
func steerable(s *agent.State) bool {
	return slices.ContainsFunc(s.Turns, func(t agent.Turn) bool { return t.Kind == agent.TurnToolResults }) ||
		slices.ContainsFunc(s.Calls, func(c agent.OpenCall) bool { return c.ID == "call_0_1" && c.Result != nil })
}

// cut truncates the journal to the records that survive the crash.
func (w *universe) cut(c crash, p *process) {
	records := all(w.t, w.log)
	if w.synced = p.log.durable; c.powerless {
		records = records[:w.synced]
	}
	w.log = journal.NewMemory(records...)
}

// live runs a process for each crash, and a last one that does not crash.
func (w *universe) live(crashes ...crash) (last *process, crashed int) {
	w.t.Helper()
	for _, c := range crashes {
		p := w.begin(c.fault)
		p.work()
		p.checkEvents(w.t)
		if p.log.calls < c.at {
			return p, crashed
		}
		crashed++
		if !errors.Is(p.failed, errKilled) {
			w.t.Errorf("the host was not told of the crash: %v", p.failed)
		}
		w.cut(c, p)
	}
	last = w.begin(crash{}.fault)
	last.work()
	checkEvents(w.t, last.events)
	if last.failed != nil {
		w.t.Errorf("the session cannot go on: %v", last.failed)
	}
	return last, crashed
}

// checkEvents checks the events of a process that had a session.
func (p *process) checkEvents(t *testing.T) {
	t.Helper()
	if p.Session != nil {
		checkEvents(t, p.events)
	}
}

// bodies returns the bodies of the requests that count by the model's turn, in order.
func (w *universe) bodies() map[int][][]byte {
	bodies := map[int][][]byte{}
	for _, r := range w.server.Requests() {
		if w.counts(r) {
			bodies[r.Turn()] = append(bodies[r.Turn()], r.Body)
		}
	}
	return bodies
}

// check compares a session that went through crashes with an uninterrupted one.
func (w *universe) check(whole *universe, history, want []agent.Turn) {
	w.t.Helper()
	w.mu.Lock()
	for id, n := range w.runs {
		if n > 1 {
			w.t.Errorf("call %s ran %d times", id, n)
		}
	}
	w.mu.Unlock()
	unknown := map[string]bool{}
	for _, t := range history {
		for _, p := range t.Message.Parts {
			if r, ok := p.(llm.ToolResult); ok && strings.Contains(r.Content.Text(), "outcome is unknown") {
				unknown[r.CallID] = true
			}
		}
	}
	for id := range unknown {
		if strings.HasPrefix(id, "call_2") {
			w.t.Errorf("the outcome of the read-only call %s is unknown", id)
		}
	}
	if diff := gocmp.Diff(blanked(want, unknown), blanked(history, unknown), cmpopts.IgnoreFields(agent.Turn{}, "Time",
		"ResponseID", "Usage")); diff != "" {
		w.t.Errorf("-uninterrupted +resumed:\n%s", diff)
	}
	uninterrupted := whole.bodies()
	for turn, bodies := range w.bodies() {
		for _, body := range bodies {
			// All requests for one turn are the same, including retries.
			if want := uninterrupted[turn][0]; !sameBody(w.t, want, body, unknown) {
				w.t.Errorf("request of turn %d\nuninterrupted: %s\nresumed:       %s", turn, want, body)
			}
		}
	}
}

// blanked returns the turns without the results of the given calls.
func blanked(turns []agent.Turn, calls map[string]bool) []agent.Turn {
	turns = slices.Clone(turns)
	for i, t := range turns {
		turns[i].Message.Parts = slices.Clone(t.Message.Parts)
		for j, p := range t.Message.Parts {
			if r, ok := p.(llm.ToolResult); ok && calls[r.CallID] {
				r.Content, r.IsError = nil, false
				turns[i].Message.Parts[j] = r
			}
		}
	}
	return turns
}

// sameBody compares two requests. If a result is unknown, it compares only the bytes around it.
func sameBody(t *testing.T, want, got []byte, unknown map[string]bool) bool {
	t.Helper()
	if len(unknown) == 0 {
		return string(want) == string(got)
	}
	var values [2]any
	for i, body := range [][]byte{want, got} {
		if err := json.Unmarshal(body, &values[i]); err != nil {
			t.Fatal(err)
		}
		blankResults(values[i], unknown)
	}
	return reflect.DeepEqual(values[0], values[1])
}

// blankResults removes the results of the given calls from a decoded request, at any depth.
func blankResults(value any, calls map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			blankResults(e, calls)
		}
	case map[string]any:
		if id, ok := v["tool_use_id"].(string); ok && calls[id] {
			delete(v, "content")
			delete(v, "is_error")
		}
		for _, e := range v {
			blankResults(e, calls)
		}
	}
}

// A process is killed at every call of its journal, before and after it took effect, with and
// without unsynced records, and then a second one somewhere else. The session always comes to the
// same end as without crashes.
func TestA19_CrashAtEveryWriteBoundary(t *testing.T) {
	t.Parallel()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	whole := newUniverse(t, local)
	uninterrupted, _ := whole.live()
	want, calls := uninterrupted.History(), uninterrupted.log.calls
	if len(whole.runs) != 6 || len(want) != 13 || calls < 35 {
		t.Fatalf("%d calls with effects, %d turns, %d calls of the journal", len(whole.runs), len(want), calls)
	}
	crashes, unknown := 0, 0
	for at := 1; at <= calls; at++ {
		for _, c := range []crash{{at: at}, {at: at, effect: true}, {at: at, effect: true, powerless: true}} {
			t.Run(c.String(), func(t *testing.T) {
				w := newUniverse(t, local)
				last, n := w.live(c, crash{at: 1 + at*7%11, effect: at%2 == 0, powerless: at%3 == 0})
				w.check(whole, last.History(), want)
				crashes += n
				if hasUnknown(last.History()) {
					unknown++
				}
			})
		}
	}
	if crashes < 4*calls || unknown == 0 {
		t.Errorf("%d crashes, of which %d left an unknown outcome", crashes, unknown)
	}
	t.Logf("%d calls of the journal, %d crashes, %d sessions with a call of unknown outcome", calls, crashes, unknown)
}

// After a crash anywhere the host may submit a new task instead of continuing. Open calls end
// first, nothing runs twice, and every call has its result: the model's server refuses any other
// history.
func TestA19_CrashAtEveryWriteBoundaryThenSubmit(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	for at := 1; ; at++ {
		u := newUniverse(t, local)
		first := u.begin(crash{at: at, effect: true}.fault)
		first.work()
		if first.log.calls < at {
			break
		}
		u.cut(crash{}, first)
		second := u.begin(crash{}.fault)
		result, err := second.Submit(context.Background(), "another task")
		if err = errors.Join(err, second.Close()); err != nil || result.Reason != agent.ReasonCompleted {
			t.Fatalf("crash at call %d: %+v, %v", at, result, err)
		}
		checkEvents(t, second.events)
		if !hasText(second, "another task") {
			t.Errorf("crash at call %d: the new task is not in the history", at)
		}
		for id, n := range u.runs {
			if n > 1 {
				t.Errorf("crash at call %d: call %s ran %d times", at, id, n)
			}
		}
	}
}
