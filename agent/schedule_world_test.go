package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// world holds everything that outlives the session of a schedule: the model, the tools and the
// host's code.
type world struct {
	s       schedule
	env     env.Environment
	log     *journal.Memory
	actions []hostAction // remaining actions
	drives  []drive

	mu       sync.Mutex
	answered map[string]int // model calls, by the prefix of the ids of their tool calls
	counted  int            // answers of the session with reported usage
	cut      bool           // such an answer may have been cut off
	problems []error
	ran      map[string]int  // runs of calls with effects
	fenced   map[string]bool // calls that were left open once
	asked    map[string]int  // number of calls of each hook
	said     []*hostMessage
	noted    []*hostMessage
	live     map[int64]agent.Kind
	claims   map[int64]agent.Kind // ends reported by a process that did not crash
	lost     bool                 // some events of records may not have been emitted
}

func newWorld(s schedule, e env.Environment) *world {
	return &world{s: s, env: e, log: new(journal.Memory), actions: s.Actions, drives: s.Drives,
		answered: map[string]int{}, ran: map[string]int{}, fenced: map[string]bool{},
		asked: map[string]int{}, live: map[int64]agent.Kind{}, claims: map[int64]agent.Kind{}}
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Errorf(format, args...))
}

// hostMessage is a message or a note of the host.
type hostMessage struct {
	by, text, key string
	taken         bool   // the session accepted it
	let           string // the text that BeforeInput returned; empty before that
	context       string
}

// newMessage returns a message with a unique text.
func (w *world) newMessage(by, text string) *hostMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &hostMessage{by: by, text: fmt.Sprintf("%s <%d>", text, len(w.said)), key: fmt.Sprint("key ", len(w.said))}
	w.said = append(w.said, m)
	return m
}

// send sends a message with a key.
func (p *incarnation) send(ctx context.Context, m *hostMessage) (err error) {
	switch m.by {
	case "begin":
		err = p.Begin(ctx, m.text, agent.Key(m.key))
	case "steer":
		err = p.Steer(ctx, m.text, agent.Key(m.key))
	case "follow up":
		err = p.FollowUp(ctx, m.text, agent.Key(m.key))
	}
	if err == nil {
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		m.taken = true
	}
	return err
}

// resend sends all messages again that may not have arrived, and some others.
func (p *incarnation) resend() {
	w := p.w
	w.mu.Lock()
	// before this, because a process before this one may still be sending
	said, taken := w.said, make([]bool, len(w.said))
	for i, m := range said {
		taken[i] = m.taken
	}
	w.mu.Unlock()
	for i, m := range said {
		if m.by == "submit" || taken[i] && i%2 == 0 {
			continue
		}
		err := p.send(context.Background(), m)
		if taken[i] && err != nil && !errors.Is(err, agent.ErrClosed) && !errors.Is(err, errSevered) {
			w.problem("%s of %s a second time: %v", m.by, m.key, err)
		}
	}
}

// note writes a note that holds its own number.
func (p *incarnation) note(text string) error {
	w := p.w
	w.mu.Lock()
	m := &hostMessage{key: fmt.Sprint(len(w.noted) + 1)}
	if text != "" {
		m.text = fmt.Sprintf("%s {%s}", text, m.key)
	}
	w.noted = append(w.noted, m)
	w.mu.Unlock()
	err := p.Note(context.Background(), "test", json.RawMessage(m.key), m.text)
	m.taken = err == nil
	return err
}

// entryOf returns the entry of a list for a call, the same one in every process.
func entryOf(list []string, id string) string {
	var n, i int
	if _, err := fmt.Sscanf(id, "c%d_%d", &n, &i); err != nil || len(list) == 0 {
		return ""
	}
	return list[(n+i)%len(list)]
}

// next returns the next entry of a hook's list.
func (w *world) next(hook string, list []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[hook]++
	return list[w.asked[hook]%len(list)]
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// runs records a run of a tool with effects.
func (w *world) runs(call *tool.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran[call.ID]++
	if w.ran[call.ID] > 1 {
		w.problems = append(w.problems, fmt.Errorf("call %s ran %d times", call.ID, w.ran[call.ID]))
	}
	fate, permit := entryOf(w.s.Host.Fates, call.ID), entryOf(w.s.Host.Permits, call.ID)
	if fate == "refuse" || fate == "panic" || permit == "deny" {
		w.problems = append(w.problems, fmt.Errorf("call %s ran though it was refused: %s %s", call.ID, fate, permit))
	}
	if (fate == "env") == (call.Env == w.env) {
		w.problems = append(w.problems, fmt.Errorf("call %s (%s) ran in %T", call.ID, fate, call.Env))
	}
}

// tools returns one tool for each behaviour. Those with effects count their runs: none may run
// twice.
func (w *world) tools() []tool.Tool {
	ask := newTool("ask", readOnly, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		a, err := call.Session.Ask(ctx, tool.Question{Text: "which?"})
		return tool.Text(a.Text), err
	})
	tools := []tool.Tool{
		newTool("look", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			pause(ctx, 2*time.Millisecond)
			return tool.Text("seen"), nil
		}),
		newTool("change", writes, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			w.runs(call)
			return tool.Text("changed"), nil
		}),
		newTool("slow", writes, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			w.runs(call)
			call.Live(1, []byte("working\n"))
			pause(ctx, 2*time.Second)
			return tool.Text("slow"), ctx.Err()
		}),
		newTool("stubborn", tool.Access{}, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			w.runs(call)
			time.Sleep(5 * time.Second) // ignores the context
			return tool.Text("stubborn"), nil
		}),
		newTool("fail", readOnly, func(context.Context, *tool.Call) (tool.Result, error) { panic("a bug") }),
		newTool("finish", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.TextParts("ok"), Done: true, Final: "finished"}, nil
		}),
		ask,
	}
	if len(w.s.Agents) > 0 {
		tools = append(tools, coding.Agents()...)
	}
	return tools
}

// hooks sets the host's hooks.
func (w *world) hooks(o *agent.Options) {
	d := &w.s.Host
	if w.s.Policy.Confirms > 0 && len(d.Stop) > 0 {
		o.MaxConfirms, o.BeforeStop = w.s.Policy.Confirms, w.beforeStop
	}
	if len(d.BeforeInput) > 0 {
		o.BeforeInput = w.beforeInput
	}
	if len(d.Compact) > 0 {
		o.BeforeCompact = w.beforeCompact
	}
	if len(d.Permits) > 0 {
		o.Authorize, o.Approve = w.authorize, w.approve
	}
	if len(d.Fates) > 0 {
		o.Middleware = []tool.Middleware{w.middleware}
	}
}

var errRefused = errors.New("the host refuses")

func (w *world) beforeStop(ctx context.Context, _ agent.Stop) (string, error) {
	switch w.next("stop", w.s.Host.Stop) {
	case "more":
		return "not yet", nil
	case "fail":
		return "", errRefused
	case "slow":
		pause(ctx, time.Second)
	}
	return "", nil
}

func (w *world) beforeCompact(ctx context.Context, _ agent.Compacting) (string, error) {
	switch w.next("compact", w.s.Host.Compact) {
	case "keep":
		return "the names", nil
	case "refuse":
		return "", errRefused
	case "slow":
		pause(ctx, time.Second)
	}
	return "", nil
}

func (w *world) beforeInput(_ context.Context, m agent.Message) (agent.Message, error) {
	what := w.next("input", w.s.Host.BeforeInput)
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.messageOf(m.Text)
	if said == nil { // it is an answer
		return m, nil
	}
	if said.taken {
		w.problems = append(w.problems, fmt.Errorf("BeforeInput is asked again about %s, which the session has",
			said.key))
	}
	switch what {
	case "refuse":
		return m, errRefused
	case "change":
		m.Text += ", please"
	case "context":
		m.Context = "about " + m.Text
	}
	said.let, said.context = m.Text, m.Context
	return m, nil
}

// messageOf returns the host's message with a text. The caller holds the lock.
func (w *world) messageOf(text string) *hostMessage {
	for _, m := range w.said {
		if len(text) >= len(m.text) && text[:len(m.text)] == m.text {
			return m
		}
	}
	return nil
}

func (w *world) authorize(_ context.Context, r tool.Request) (tool.Decision, error) {
	switch entryOf(w.s.Host.Permits, r.Call.ID) {
	case "ask":
		return tool.Decision{Verdict: tool.Ask}, nil
	case "deny":
		return tool.Decision{Reason: "no"}, nil
	case "edit":
		return tool.Decision{Verdict: tool.Allow, Args: `{"path":"p0"}`}, nil
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

func (w *world) approve(ctx context.Context, _ tool.Request) (tool.Decision, error) {
	pause(ctx, w.s.Host.Approval)
	return tool.Decision{Verdict: tool.Allow}, nil
}

// middleware treats each call by its fate. A call that was left open begins the next time.
func (w *world) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		fate := entryOf(w.s.Host.Fates, call.ID)
		switch fate {
		case "refuse":
			return tool.Errorf("refused"), nil
		case "panic":
			panic("a bug in a middleware")
		case "wait":
			pause(ctx, 20*time.Millisecond)
		case "env":
			c := *call
			c.Env = env.Logging(call.Env, slog.New(slog.DiscardHandler))
			return next(ctx, &c)
		case "add":
			result, err := next(ctx, call)
			result.Content = append(result.Content, llm.Text{Text: " (added)"})
			return result, err
		case "fence", "slow fence":
			if fate == "slow fence" {
				pause(ctx, time.Second)
			}
			w.mu.Lock()
			was := w.fenced[call.ID]
			w.fenced[call.ID] = true
			w.mu.Unlock()
			if !was {
				return tool.Result{}, fmt.Errorf("not the leader: %w", tool.ErrNotBegun)
			}
		}
		return next(ctx, call)
	}
}

func repeatStep(step llmtest.Step, n int) []llmtest.Step {
	steps := make([]llmtest.Step, n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// writer is the journal of one process. It can be cut off by a crash, or because another process
// has taken it over.
type writer struct {
	*journal.Memory
	takes time.Duration
	mu    sync.Mutex
	gone  error
	wrote bool // at least one record
}

var errSevered = errors.New("crashed")

func (l *writer) cut(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = err
}

func (l *writer) Append(ctx context.Context, next int64, records ...journal.Record) error {
	time.Sleep(l.takes)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone != nil {
		return l.gone
	}
	l.wrote = true
	return l.Memory.Append(ctx, next, records...)
}

func (l *writer) Close() error { return nil }
