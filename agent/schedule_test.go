package agent_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// schedule describes a run of a session: the model's answers, the actions of the host and their
// times, the results of the host's code, and the policy.
type schedule struct {
	Answers []modelAnswer
	Agents  []modelAnswer // answers of the subagents; if empty, there are no subagents
	Actions []hostAction
	Drives  []drive // one for each input
	Policy  policyDraw
	Host    hostDraw
}

type modelAnswer struct {
	// kind of the failure before the answer, or "too late" for a Retry-After above the cap; empty
	// for none
	Fault  string
	Again  bool // the failure also comes at the second attempt
	Torn   bool // the failure comes after some text
	Counts bool // the answer has its usage
	Text   bool
	Calls  []string
	Finish llm.FinishReason // the reason to stop; empty for the natural one
	Takes  time.Duration
}

type hostAction struct {
	After time.Duration // time since the last action
	What  string
}

// drive is the way in which the host works on an input.
type drive struct {
	How   string
	Steps int           // number of calls of Advance before Continue or Submit
	Pause time.Duration // between two steps
}

type policyDraw struct {
	MaxRounds, MaxTurns int
	RequireDone         bool
	Confirms            int
	Compaction          bool
	Summarize           bool
	StayOnFailure       bool
	Budget              int
	Fallbacks           []string // the providers of the fallbacks
	ReturnAfter         time.Duration
	Retries             int
	History             bool // the session begins with messages
}

// hostDraw describes the host's code. Calls take from Fates and Permits by their ids; hooks take
// from their lists in turn. With an empty list the hook is not set.
type hostDraw struct {
	Fates, Permits               []string
	BeforeInput, Stop, Compact   []string
	EventTakes, Approval, Append time.Duration
}

func drawSchedule(t *rapid.T) schedule {
	duration := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Millisecond, time.Second,
		3 * time.Second})
	tools := rapid.SampledFrom([]string{"look", "change", "slow", "stubborn", "fail", "finish", "unknown", "broken",
		"ask", "spawn", "spawn", "spawn reviewer", "spawn other", "wait", "send", "close", "final_result"})
	answer := rapid.Custom(func(t *rapid.T) modelAnswer {
		return modelAnswer{
			Fault: rapid.SampledFrom([]string{"", "", "", "", "", "", "", "server", "rate_limit", "stream",
				"context_length", "authentication", "overloaded", "quota",
				"network", "timeout", "too late", "rejected", "rejected"}).Draw(t, "fault"),
			Again: rapid.Bool().Draw(t, "again"), Counts: rapid.Bool().Draw(t, "counts"),
			Torn: rapid.Bool().Draw(t, "torn"), Text: rapid.Bool().Draw(t, "text"),
			Calls: rapid.SliceOfN(tools, 0, 3).Draw(t, "calls"), Takes: duration.Draw(t, "takes"),
			Finish: rapid.SampledFrom([]llm.FinishReason{"", "", "", "", llm.FinishLength, llm.FinishContentFilter,
				llm.FinishPause, llm.FinishContextLength, llm.FinishOther}).Draw(t, "finish")}
	})
	action := rapid.Custom(func(t *rapid.T) hostAction {
		return hostAction{After: duration.Draw(t, "after"),
			What: rapid.SampledFrom([]string{"steer", "steer", "follow up", "interrupt",
				"interrupt", "cancel", "abort", "close", "effort", "model", "tools", "add tools", "remove tools",
				"compact",
				"note", "note text", "answer",
				"limits", "more", "budget", "time", "fallbacks", "no fallbacks", "fallback", "compaction", "result",
				"crash", "crash", "release", "release", "release now", "take over", "take over"}).Draw(t, "what")}
	})
	return schedule{
		Answers: rapid.SliceOfN(answer, 1, 8).Draw(t, "answers"),
		Agents:  rapid.SliceOfN(answer, 0, 3).Draw(t, "agents"),
		Actions: rapid.SliceOfN(action, 0, 6).Draw(t, "actions"),
		Drives:  rapid.SliceOfN(rapid.Custom(drawDrive), 1, 3).Draw(t, "drives"),
		Policy: policyDraw{MaxRounds: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "rounds"),
			MaxTurns:    rapid.SampledFrom([]int{0, 0, 2, 6}).Draw(t, "turns"),
			RequireDone: rapid.Bool().Draw(t, "done"), Confirms: rapid.IntRange(0, 2).Draw(t, "confirms"),
			Compaction: rapid.Bool().Draw(t, "compaction"),
			Summarize:  rapid.Bool().Draw(t, "summarize"), StayOnFailure: rapid.Bool().Draw(t, "stay"),
			Budget: rapid.SampledFrom([]int{0, 0, 20_000}).Draw(t, "budget"),
			Fallbacks: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"two", "three"}), 0, 2, rapid.ID).Draw(t,
				"fallbacks"),
			Retries: rapid.SampledFrom([]int{0, 1, -1}).Draw(t, "retries"), History: rapid.Bool().Draw(t, "history"),
			ReturnAfter: rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Millisecond, 3 * time.Second, -1}).Draw(t,
				"return after")},
		Host: drawHost(t),
	}
}

func drawDrive(t *rapid.T) drive {
	return drive{How: rapid.SampledFrom([]string{"submit", "submit", "continue", "steps", "steps", "steps, continue",
		"steps, submit", "some steps"}).Draw(t, "how"),
		Steps: rapid.IntRange(0, 4).Draw(t, "steps"),
		Pause: rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Millisecond, time.Second}).Draw(t,
			"pause")}
}

func drawHost(t *rapid.T) hostDraw {
	some := func(name string, kinds ...string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 4).Draw(t, name)
	}
	return hostDraw{
		Fates:       some("fates", "", "refuse", "add", "env", "wait", "panic", "fence", "slow fence"),
		Permits:     some("permits", "", "ask", "ask", "deny", "edit"),
		BeforeInput: some("before input", "", "refuse", "change", "context"),
		Stop:        some("before stop", "", "more", "fail", "slow"),
		Compact:     some("before compact", "", "keep", "refuse", "slow"),
		EventTakes:  rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond}).Draw(t, "event takes"),
		Approval:    rapid.SampledFrom([]time.Duration{0, 20 * time.Millisecond, time.Second}).Draw(t, "approval"),
		Append:      rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond}).Draw(t, "append"),
	}
}

var schedules = flag.Int("schedules", 0,
	"random schedules of TestA_RandomSchedules, instead of rapid's number of checks")

// TestA_RandomSchedules runs sessions with random answers, calls, steering, interrupts, aborts,
// faults, fallbacks, subagents, compactions, changes of the policy, crashes, releases and resumes,
// and checks the invariants of the loop. A failure prints the schedule and rapid's seed.
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
	seed.Check(t, func(r *rapid.T) {
		s := drawSchedule(r)
		var problems []error
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(s, local)
			w.play()
			problems = w.problems
		})
		if len(problems) > 0 {
			r.Fatalf("%v\n%+v", errors.Join(problems...), s)
		}
	})
}

// incarnation is a process with the session.
type incarnation struct {
	*agent.Session
	w       *world
	log     *writer
	ledger  *heldClaims
	before  int64 // number of records of earlier processes
	crashed bool
	fenced  bool // the journal was taken over
	hasty   bool // the session was released in the middle of a step
	given   bool // the session was released, perhaps while it was ending anyway

	mu     sync.Mutex
	events []agent.Event
}

func (p *incarnation) hear(ev agent.Event) {
	time.Sleep(p.w.s.Host.EventTakes)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, ev)
}

func (p *incarnation) heard() []agent.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// mostProcesses limits the processes of a schedule, and mostTime the time of an input.
const (
	mostProcesses = 60
	mostTime      = time.Hour
)

// play runs the schedule: incarnations of one session, each until it ends, crashes or is released,
// and then more of them until no input is open.
func (w *world) play() {
	var old sync.WaitGroup // processes that do not know yet that their journal was taken over
	for n := 0; len(w.drives) > 0 || w.unfinished(); n++ {
		if n > mostProcesses {
			w.problem("the session comes to no end")
			break
		}
		if len(w.drives) == 0 {
			w.drives = []drive{{How: "continue"}}
		}
		p := w.open()
		if p == nil {
			return
		}
		if stop := p.run(); p.fenced {
			old.Go(func() { stop(); p.end() })
		} else {
			stop()
			p.end()
		}
	}
	old.Wait()
	w.checkJournal()
}

// open starts the session or resumes it.
func (w *world) open() *incarnation {
	p := &incarnation{w: w, log: &writer{Memory: w.log, takes: w.s.Host.Append}, before: w.log.Len()}
	begin := agent.New
	if p.before > 0 {
		begin = agent.Resume
	}
	s, err := begin(context.Background(), w.options(p))
	if err != nil {
		w.problem("open: %v", err)
		return nil
	}
	p.Session = s
	return p
}

// run works on inputs until the session has ended. Stop waits for the current input.
func (p *incarnation) run() (stop func()) {
	w := p.w
	p.resend()
	for len(w.drives) > 0 && p.Status() != agent.StatusClosed {
		d := w.drives[0]
		w.drives = w.drives[1:]
		ctx, cancel := context.WithTimeoutCause(context.Background(), mostTime, errNoEnd)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.checkError(d.How, p.drive(ctx, d))
		}()
		stop = func() {
			<-done
			cancel()
		}
		for len(w.actions) > 0 {
			a := w.actions[0]
			select {
			case <-time.After(a.After):
			case <-done:
			}
			if over := isOver(done); over && a.What != "compact" {
				break
			}
			w.actions = w.actions[1:]
			if p.act(a.What, cancel) {
				return stop
			}
		}
		stop()
	}
	return func() {}
}

func isOver(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

var errNoEnd = errors.New("the input comes to no end")

// drive works on an input in one of the possible ways.
func (p *incarnation) drive(ctx context.Context, d drive) error {
	switch d.How {
	case "submit":
		return second(p.Submit(ctx, p.w.newMessage("submit", "do it").text))
	case "continue":
		return p.goOn(ctx)
	}
	err := p.send(ctx, p.w.newMessage("begin", "do it"))
	if err != nil && !errors.Is(err, agent.ErrBusy) {
		return err
	}
	limit := d.Steps
	if d.How == "steps" {
		limit = 1_000
	}
	err = p.steps(ctx, limit, d.Pause)
	if err != nil && ctx.Err() != nil { // the next steps end the input
		p.w.checkError("a step", err)
		return p.steps(context.Background(), 1_000, d.Pause)
	}
	switch {
	case err != nil:
		return err
	case d.How == "steps, continue":
		return p.goOn(ctx)
	case d.How == "steps, submit":
		return second(p.Submit(ctx, p.w.newMessage("submit", "do it").text))
	}
	return nil
}

// goOn continues an open input.
func (p *incarnation) goOn(ctx context.Context) error {
	if slices.ContainsFunc(p.History(), func(t agent.Turn) bool { return t.Origin != agent.OriginHistory }) {
		return second(p.Continue(ctx))
	}
	return second(p.Submit(ctx, p.w.newMessage("submit", "do it").text))
}

// steps takes up to limit steps.
func (p *incarnation) steps(ctx context.Context, limit int, pause time.Duration) error {
	for range limit {
		step, err := p.Advance(ctx)
		switch {
		case errors.Is(err, agent.ErrBusy): // a compaction is running
			time.Sleep(10 * time.Millisecond)
		case err != nil || step.Act == agent.ActRest:
			return err
		case step.Act == agent.ActWait:
			select {
			case <-time.After(time.Until(step.Until)):
			case <-ctx.Done():
			}
		default:
			time.Sleep(pause)
		}
	}
	if limit == 1_000 {
		return errNoEnd
	}
	return nil
}

// act does one action of the host. Over reports that it was the last one of this process.
func (p *incarnation) act(what string, cancel context.CancelFunc) (over bool) {
	var err error
	w, s, ctx := p.w, p.Session, context.Background()
	w.cuts(what)
	effort, model := "max", "model-2"
	switch what {
	case "steer":
		err = p.send(ctx, w.newMessage("steer", "to the left"))
	case "follow up":
		err = p.send(ctx, w.newMessage("follow up", "and then"))
	case "interrupt":
		s.Interrupt()
	case "cancel":
		cancel()
	case "abort":
		s.Abort()
	case "effort":
		err = s.Set(ctx, agent.Settings{Effort: &effort})
	case "model":
		err = s.Set(ctx, agent.Settings{Model: &model})
	case "tools":
		err = s.Set(ctx, agent.Settings{Tools: w.tools()[:4]})
	case "add tools":
		err = s.AddTools(ctx, w.tools()[2:]...)
	case "remove tools":
		err = s.RemoveTools(ctx, "change", "slow")
	case "limits", "more", "budget", "time", "fallbacks", "no fallbacks", "compaction", "result":
		err = p.setPolicy(what)
	case "fallback":
		provider, model := "two", "model-2"
		err = s.Set(ctx, agent.Settings{Provider: &provider, Model: &model})
	case "compact":
		if err = s.Compact(ctx); s.Policy().Budget.Time > 0 {
			err = nil // there may be no time left for it
		}
	case "note":
		err = p.note("")
	case "note text":
		err = p.note("remember")
	case "answer":
		_ = s.Answer(ctx, tool.Answer{Text: "this one"}) // there may be no question
	case "close":
		err = s.Close()
	case "crash":
		p.crashed = true
		p.log.cut(errSevered)
		s.Abort()
		return true
	case "take over":
		p.fenced = true
		p.log.cut(fmt.Errorf("%w: fenced", journal.ErrConflict))
		return true
	case "release", "release now":
		return p.release(what == "release now")
	}
	w.checkError(what, err)
	return false
}

// release releases the session, with or without time for its step.
func (p *incarnation) release(now bool) (over bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if now {
		p.hasty = true
		cancel()
	}
	p.given = true
	start := time.Now()
	if err := p.Release(ctx); err != nil {
		p.w.problem("release: %v", err)
	}
	if took := time.Since(start); took > 2*time.Minute || now && took > time.Minute {
		p.w.problem("Release returned after %v", took)
	}
	if p.Status() != agent.StatusClosed {
		p.w.problem("after Release the session is %s", p.Status())
	}
	return true
}
