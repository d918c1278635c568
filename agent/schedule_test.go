package agent_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// schedule is one run of a session: what the model answers, what the host does and when, and what the host decided beforehand.
type schedule struct {
	Answers []modelAnswer
	Actions []hostAction
	Inputs  int
	Policy  policyDraw
}

type modelAnswer struct {
	Fault  string // kind of the failure before it; empty for none
	Torn   bool   // the failure comes after text
	Text   bool
	Calls  []string
	Finish llm.FinishReason // why it ends; empty for the natural end
	Takes  time.Duration
}

type hostAction struct {
	After time.Duration // since the last action
	What  string
}

type policyDraw struct {
	MaxRounds, MaxTurns int
	RequireDone         bool
	Confirms            int
	Compaction          bool
	Summarize           bool
	StayOnFailure       bool
	Budget              int
}

func drawSchedule(t *rapid.T) schedule {
	duration := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Millisecond, time.Second, 3 * time.Second})
	tools := rapid.SampledFrom([]string{"look", "change", "slow", "stubborn", "fail", "finish", "unknown", "broken", "ask"})
	answer := rapid.Custom(func(t *rapid.T) modelAnswer {
		return modelAnswer{
			Fault: rapid.SampledFrom([]string{"", "", "", "", "", "server", "rate_limit", "stream", "context_length", "authentication"}).Draw(t, "fault"),
			Torn:  rapid.Bool().Draw(t, "torn"), Text: rapid.Bool().Draw(t, "text"),
			Calls: rapid.SliceOfN(tools, 0, 3).Draw(t, "calls"), Takes: duration.Draw(t, "takes"),
			Finish: rapid.SampledFrom([]llm.FinishReason{"", "", "", "", llm.FinishLength, llm.FinishContentFilter, llm.FinishPause,
				llm.FinishContextLength, llm.FinishOther}).Draw(t, "finish")}
	})
	action := rapid.Custom(func(t *rapid.T) hostAction {
		return hostAction{After: duration.Draw(t, "after"), What: rapid.SampledFrom([]string{"steer", "steer", "follow up", "interrupt",
			"interrupt", "cancel", "abort", "effort", "model", "tools", "add tools", "remove tools", "compact", "crash", "crash"}).Draw(t, "what")}
	})
	return schedule{
		Answers: rapid.SliceOfN(answer, 1, 8).Draw(t, "answers"),
		Actions: rapid.SliceOfN(action, 0, 6).Draw(t, "actions"),
		Inputs:  rapid.IntRange(1, 3).Draw(t, "inputs"),
		Policy: policyDraw{MaxRounds: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "rounds"), MaxTurns: rapid.SampledFrom([]int{0, 0, 2, 6}).Draw(t, "turns"),
			RequireDone: rapid.Bool().Draw(t, "done"), Confirms: rapid.IntRange(0, 2).Draw(t, "confirms"), Compaction: rapid.Bool().Draw(t, "compaction"),
			Summarize: rapid.Bool().Draw(t, "summarize"), StayOnFailure: rapid.Bool().Draw(t, "stay"),
			Budget: rapid.SampledFrom([]int{0, 0, 20_000}).Draw(t, "budget")},
	}
}

// world is what a schedule runs in: it lives on when the session does not.
type world struct {
	s        schedule
	env      env.Environment
	log      *journal.Memory
	mu       sync.Mutex
	answered int
	problems []error
	ran      map[string]int // effects by call
	live     map[int64]agent.Kind
	crashed  bool // at least once
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Errorf(format, args...))
}

// Name and Stream make the world the model. It checks every request: each call has exactly one result, right after it, in order.
func (w *world) step(ctx context.Context, req *llm.Request) llmtest.Step {
	checkPairs(w, req.Messages)
	w.mu.Lock()
	n := w.answered
	w.answered++
	w.mu.Unlock()
	a := w.s.Answers[n%len(w.s.Answers)]
	select {
	case <-time.After(a.Takes):
	case <-ctx.Done():
		return llmtest.Error(llm.Errorf(llm.ErrAborted, "%v", context.Cause(ctx)))
	}
	if n >= 3*len(w.s.Answers) { // enough
		return llmtest.Text("the end")
	}
	if a.Fault != "" && n%2 == 0 {
		err := llm.Errorf(llm.Kind(a.Fault), "broken")
		if a.Torn {
			return llmtest.Torn("half of it", err)
		}
		return llmtest.Error(err)
	}
	var parts []llm.Part
	if a.Text || len(a.Calls) == 0 && a.Finish == "" {
		parts = append(parts, llm.Text{Text: fmt.Sprint("text ", n)})
	}
	for i, name := range a.Calls {
		if req.ToolChoice.Mode == llm.ToolNone {
			break
		}
		args := fmt.Sprintf(`{"path":"p%d"}`, i%2)
		if name == "broken" {
			name, args = "look", `{"path":`
		}
		parts = append(parts, llm.ToolCall{ID: fmt.Sprintf("c%d_%d", n, i), Name: name, Args: args})
	}
	return llmtest.Respond(llm.Response{Message: llm.Message{Parts: parts}, Finish: llm.Finish{Reason: a.Finish}})
}

func checkPairs(w *world, messages []llm.Message) {
	for i, m := range messages {
		calls := m.Parts.ToolCalls()
		if len(calls) == 0 {
			continue
		}
		if i+1 >= len(messages) || len(messages[i+1].Parts) != len(calls) {
			w.problem("calls of message %d have no results right after them", i)
			continue
		}
		for k, part := range messages[i+1].Parts {
			if r, ok := part.(llm.ToolResult); !ok || r.CallID != calls[k].ID {
				w.problem("result %d of message %d is %+v, want that of %s", k, i+1, part, calls[k].ID)
			}
		}
	}
}

// tools are the ways in which tools behave. Those with effects count themselves: none may run twice.
func (w *world) tools() []tool.Tool {
	count := func(call *tool.Call) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ran[call.ID]++
		if w.ran[call.ID] > 1 {
			w.problems = append(w.problems, fmt.Errorf("call %s ran %d times", call.ID, w.ran[call.ID]))
		}
	}
	wait := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	ask := newTool("ask", readOnly, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		a, err := call.Session.Ask(ctx, tool.Question{Text: "which?"})
		return tool.Text(a.Text), err
	})
	return []tool.Tool{
		newTool("look", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			wait(ctx, 2*time.Millisecond)
			return tool.Text("seen"), nil
		}),
		newTool("change", writes, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			count(call)
			return tool.Text("changed"), nil
		}),
		newTool("slow", writes, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			count(call)
			call.Live(1, []byte("working\n"))
			wait(ctx, 2*time.Second)
			return tool.Text("slow"), ctx.Err()
		}),
		newTool("stubborn", tool.Access{}, func(_ context.Context, call *tool.Call) (tool.Result, error) {
			count(call)
			time.Sleep(5 * time.Second) // whatever its context says
			return tool.Text("stubborn"), nil
		}),
		newTool("fail", readOnly, func(context.Context, *tool.Call) (tool.Result, error) { panic("a bug") }),
		newTool("finish", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.TextParts("ok"), Done: true, Final: "finished"}, nil
		}),
		ask,
	}
}

func (w *world) options(on func(agent.Event)) agent.Options {
	p := w.s.Policy
	model := llmtest.NewProvider("test", repeatStep(llmtest.Func(w.step), 200)...)
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}, Models: func(_, model string) (llm.Model, bool) {
		return llm.Model{ID: model, Window: 2_000, MaxOutput: 500, Efforts: []string{"low", "high"}}, true
	}}, Env: w.env, Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: w.tools()}, System: "You are being tested.",
		Retry: agent.Retry{Jitter: func() float64 { return 0 }}, OnEvent: on, Journal: &severed{Memory: w.log},
		Policy: agent.Policy{MaxToolRounds: p.MaxRounds, MaxTurns: p.MaxTurns, RequireDone: p.RequireDone,
			OnFailure: map[bool]agent.OnFailure{true: agent.StayOnFailure}[p.StayOnFailure], Budget: agent.Budget{Tokens: p.Budget}},
		Questions: &agent.Questions{}}
	if p.Summarize {
		o.OnLimit = agent.Summarized
	}
	if p.Compaction {
		o.Compaction.Threshold = 0.5
	}
	if p.Confirms > 0 {
		o.MaxConfirms = p.Confirms
		o.BeforeStop = func(context.Context, agent.Stop) (string, error) { return "not yet", nil }
	}
	return o
}

func repeatStep(step llmtest.Step, n int) []llmtest.Step {
	steps := make([]llmtest.Step, n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// severed is a journal that can be cut off from its session, as a crash does.
type severed struct {
	*journal.Memory
	mu   sync.Mutex
	gone bool
}

var errSevered = errors.New("crashed")

func (c *severed) crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

func (c *severed) Append(ctx context.Context, next int64, records ...journal.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return errSevered
	}
	return c.Memory.Append(ctx, next, records...)
}

func (c *severed) Close() error { return nil }

var schedules = flag.Int("schedules", 0, "random schedules of TestA_RandomSchedules, instead of rapid's number of checks")

// TestA_RandomSchedules runs sessions of any answers, calls, steering, interrupts, aborts, faults, compactions, crashes and resumes, and
// checks what holds for all of them: design.md's invariants of the loop. A failure prints the schedule, and rapid's seed.
func TestA_RandomSchedules(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}()
	if *schedules > 0 {
		if err := flag.Set("rapid.checks", fmt.Sprint(*schedules)); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		s := drawSchedule(r)
		var problems []error
		synctest.Test(t, func(t *testing.T) {
			w := &world{s: s, env: local, log: new(journal.Memory), ran: map[string]int{}, live: map[int64]agent.Kind{}}
			w.play(t)
			problems = w.problems
		})
		if len(problems) > 0 {
			r.Fatalf("%v\n%+v", errors.Join(problems...), s)
		}
	})
}

// play runs the schedule: incarnations of one session, each until it ends or crashes.
func (w *world) play(t *testing.T) {
	actions := w.s.Actions
	for inputs := w.s.Inputs; inputs > 0; {
		var events []agent.Event
		o := w.options(func(ev agent.Event) { events = append(events, ev) })
		log := o.Journal.(*severed)
		open, before := agent.New, w.log.Len()
		if before > 0 {
			open = agent.Resume
		}
		s, err := open(context.Background(), o)
		if err != nil {
			w.problem("open: %v", err)
			return
		}
		crashed := w.incarnation(s, log, &actions, &inputs)
		if err := s.Close(); err != nil && !crashed {
			w.problem("close: %v", err)
		}
		synctest.Wait()
		time.Sleep(10 * time.Second) // for tools that were abandoned
		if !crashed {
			w.checkEvents(events)
		}
		if w.log.Len() > before { // else the next one goes on with the same numbers
			w.remember(events, crashed)
		}
	}
	w.checkJournal()
}

// incarnation runs inputs until the session is closed or crashes.
func (w *world) incarnation(s *agent.Session, log *severed, actions *[]hostAction, inputs *int) (crashed bool) {
	for *inputs > 0 && s.Status() != agent.StatusClosed {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			*inputs--
			var err error
			if *inputs%2 == 0 && s.Status() == agent.StatusIdle {
				if _, err = s.Continue(ctx); err == nil {
					return
				}
			}
			_, err = s.Submit(ctx, "do it")
			w.checkError(err)
		}()
		for len(*actions) > 0 {
			a := (*actions)[0]
			select {
			case <-time.After(a.After):
			case <-done:
			}
			if over := isOver(done); over && a.What != "compact" {
				break
			}
			*actions = (*actions)[1:]
			if w.act(s, a.What, cancel, log) {
				crashed = true
				break
			}
		}
		<-done
		cancel()
		if crashed {
			return true
		}
	}
	return false
}

func isOver(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (w *world) act(s *agent.Session, what string, cancel context.CancelFunc, log *severed) (crashed bool) {
	var err error
	effort, model := "max", "model-2"
	switch what {
	case "steer":
		err = s.Steer(context.Background(), "to the left")
	case "follow up":
		err = s.FollowUp(context.Background(), "and then")
	case "interrupt":
		s.Interrupt()
	case "cancel":
		cancel()
	case "abort":
		s.Abort()
	case "effort":
		err = s.Set(context.Background(), agent.Settings{Effort: &effort})
	case "model":
		err = s.Set(context.Background(), agent.Settings{Model: &model})
	case "tools":
		err = s.Set(context.Background(), agent.Settings{Tools: w.tools()[:4]})
	case "add tools":
		err = s.AddTools(context.Background(), w.tools()[2:]...)
	case "remove tools":
		err = s.RemoveTools(context.Background(), "change", "slow")
	case "compact":
		err = s.Compact(context.Background())
	case "crash":
		log.crash()
		s.Abort()
		return true
	}
	if err != nil && !errors.Is(err, agent.ErrClosed) {
		w.problem("%s: %v", what, err)
	}
	return false
}

// checkError knows the ways in which an input may end.
func (w *world) checkError(err error) {
	var e *llm.Error
	for _, known := range []error{nil, context.Canceled, agent.ErrAborted, agent.ErrClosed, agent.ErrBusy, errSevered} {
		if errors.Is(err, known) {
			return
		}
	}
	if !errors.As(err, &e) && !strings.Contains(err.Error(), "broken") {
		w.problem("submit: %v", err)
	}
}

// checkEvents holds for an incarnation that ended in good order.
func (w *world) checkEvents(events []agent.Event) {
	open := map[string]int{}
	for i, ev := range events {
		if i > 0 && ev.Head().Seq <= events[i-1].Head().Seq {
			w.problem("event %d has number %d after %d", i, ev.Head().Seq, events[i-1].Head().Seq)
		}
		switch e := ev.(type) {
		case *agent.ToolCallStart:
			open["call "+e.CallID]++
		case *agent.ToolCallEnd:
			open["call "+e.CallID]--
		case *agent.InputRequested: // its end comes with the answer
			open["call "+e.CallID]--
		case *agent.AssistantTextStart:
			open[fmt.Sprint("text ", e.Block)]++
		case *agent.AssistantTextEnd:
			open[fmt.Sprint("text ", e.Block)]--
		case *agent.StepStart:
			open["step"]++
		case *agent.StepEnd:
			open["step"]--
		case *agent.SessionEnd:
			if i != len(events)-1 {
				w.problem("%s follows SESSION_END", events[i+1].Head().Kind)
			}
		}
	}
	for what, n := range open {
		if n > 0 {
			w.problem("%s has no end", what)
		}
	}
	if last, ok := events[len(events)-1].(*agent.SessionEnd); !ok {
		w.problem("the last event is %s", events[len(events)-1].Head().Kind)
	} else if last.State != agent.StatusClosed {
		w.problem("SESSION_END in state %s", last.State)
	}
}

// remember keeps the kinds of events by their numbers, of all incarnations.
func (w *world) remember(events []agent.Event, crashed bool) {
	for _, ev := range events {
		h := ev.Head()
		if was := w.live[h.Seq]; was != "" {
			w.problem("%s has the number %d of an earlier %s", h.Kind, h.Seq, was)
		}
		w.live[h.Seq] = h.Kind
	}
	w.crashed = w.crashed || crashed
}

// checkNumber holds for each event of the projection: it has the number that it had live. What a crash has kept from being seen, or from being
// written, has one that nothing else had.
func (w *world) checkNumber(ev agent.Event) {
	h := ev.Head()
	if was := w.live[h.Seq]; was != h.Kind && (was != "" || !w.crashed) {
		w.problem("the projection has %s with the number %d, which was that of %q", h.Kind, h.Seq, was)
	}
}

// journal is the beginning of each record.
func (w *world) journal() string {
	var b strings.Builder
	for r, err := range w.log.Records(context.Background(), 1) {
		fmt.Fprintf(&b, "%d %s %s %.160s %v\n", r.N, r.Time.Format("05.000"), r.Kind, r.Data, err)
	}
	return b.String()
}

// checkJournal folds it, and has it projected and replayed.
func (w *world) checkJournal() {
	if w.log.Len() == 0 {
		return
	}
	ctx := context.Background()
	state, err := agent.Load(ctx, w.log)
	if err != nil {
		w.problem("load: %v", err)
		return
	}
	var messages []llm.Message
	for i, turn := range state.Turns {
		if i == len(state.Turns)-1 && len(state.Calls) > 0 {
			break // the last answer's calls have no results yet
		}
		messages = append(messages, turn.Message)
	}
	checkPairs(w, messages)
	if err := agent.Project(ctx, w.log, w.checkNumber); err != nil {
		w.problem("project: %v", err)
	}
	if err := agent.Replay(ctx, w.log, agent.ReplayOptions{}); err != nil {
		w.problem("replay: %v\n%s", err, w.journal())
	}
}
