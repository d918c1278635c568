package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// killTime is what ending a command takes at most after its grace time, with a margin: a tool that is busy killing is not ignoring its
// context.
const killTime = 700 * time.Millisecond

// runCalls brings every open call to its result. A call whose turn has come, because no earlier one is in its way, is permitted and then begins. What
// begins together is intended in one record, before it runs; each result is committed when it is there. So after a crash a call with an
// intent and no result may have run, and any other open call never began. The error is one of ours; a tool's is a result.
func (s *Session) runCalls(ctx context.Context, step Step) error {
	r := s.newRound(ctx, step)
	defer r.quit()
	for r.advance(); r.working > 0; r.advance() {
		select {
		case note := <-r.notes:
			note()
			r.working--
		case <-r.hold:
			r.held = true
		}
	}
	return r.stopped()
}

// round runs the open calls of an answer. Its fields belong to the loop's goroutine, but for those at the end.
type round struct {
	s          *Session
	ctx        context.Context
	deciding   context.Context // of the permission hooks; ends early when nothing may begin any more
	quit       func()
	sequential bool
	calls      []*call     // those that are not done, in order
	notes      chan func() // what goroutines have come to, to be noted by the loop
	working    int         // goroutines that will send a note
	busy       [lanes]bool // the hooks that are being asked
	hold       <-chan time.Time
	held       bool // hold has fired for the calls that can begin now

	writing chan struct{} // taken by whoever writes intents for middleware
	mu      sync.Mutex
	next    *beginning // what the next of them will write
	failed  error      // ours: nothing can be written down any more
}

// call is one call of a round on its way to its result.
type call struct {
	*tool.Prepared
	index   int    // among the calls of its answer
	sent    string // the arguments as the model sent them
	phase   phase
	started atomic.Bool                 // announced; also a question that is not answered any more, which was announced before
	number  atomic.Int64                // of TOOL_CALL_START
	later   atomic.Pointer[awaitRecord] // the question whose answer comes with the next input
	heard   answers                     // to the questions that were answered at once

	spawns *spawnTurn // of a call that starts an agent
}

// phase says how far a call has come.
type phase uint8

const (
	prepared  phase = iota // Authorize is to be asked
	open                   // Approve is to be asked
	asking                 // one of them is being asked
	permitted              // it can begin; or it is refused, and only its result is left
	running
)

// newRound prepares the calls that may run, and refuses the others.
func (s *Session) newRound(ctx context.Context, step Step) *round {
	r := &round{s: s, ctx: ctx, notes: make(chan func()), writing: make(chan struct{}, 1),
		sequential: s.state.Header.Params.Sequential && s.inTurn == nil} // a replay has the order of the journal
	deciding, quit := context.WithCancelCause(ctx)
	given := context.AfterFunc(s.stay, func() { quit(s.left()) })
	r.deciding, r.quit = deciding, func() { given(); quit(nil) }
	registry := s.tools()
	for _, o := range step.Calls {
		c := &call{sent: o.Args, phase: permitted}
		switch {
		case o.awaits != nil: // the input was asked to end before the answer came
			c.Prepared = tool.Refuse(o.ToolCall, unanswered)
			c.started.Store(true)
		case o.Intended: // recorded before this round: by a process that is no more
			c.Prepared = tool.Refuse(o.ToolCall, unknownOutcome)
		case step.Reason != "" || ctx.Err() != nil:
			c.Prepared = tool.Refuse(o.ToolCall, notRun)
		case o.Torn:
			c.Prepared = tool.Refuse(o.ToolCall, tornCall)
		case o.Refused:
			c.Prepared = tool.Refuse(o.ToolCall, refusedCall)
		default:
			c.Prepared = s.prepare(ctx, registry, o.ToolCall)
			if c.Outcome == nil {
				c.phase = prepared
			}
		}
		r.calls = append(r.calls, c)
	}
	s.mu.Lock()
	for _, c := range r.calls {
		c.index = s.state.indexOf(c.Call.ID)
	}
	s.mu.Unlock()
	s.agents.queue(r.calls)
	return r
}

// prepare looks a call up and validates it.
func (s *Session) prepare(ctx context.Context, registry *tool.Registry, call llm.ToolCall) *tool.Prepared {
	p, err := host(ctx, s, "the Access of the tool "+call.Name, s.grace, func() (*tool.Prepared, error) {
		p := registry.Prepare(call)
		p.Access = p.Access.In(s.dir)
		return p, nil
	})
	s.warnOfStuck(err)
	if err != nil || ctx.Err() != nil {
		return tool.Refuse(call, notRun)
	}
	return p
}

const (
	unknownOutcome = "Error: the session stopped while this call was running, and its outcome is unknown: it may have had no " +
		"effect, some, or all. It was not run again. Look at the current state before you go on."
	unanswered      = "Error: the question was not answered, because the session was interrupted."
	interruptedCall = "the call was not run, because the session was interrupted"
	notRun          = "Error: " + interruptedCall + "."
	abandoned       = "Error: the session was interrupted, and the tool did not stop in time; it was abandoned. What it did is unknown."
)

// advance starts whatever can be started now.
func (r *round) advance() {
	if r.stopped() != nil {
		for _, c := range r.calls { // calls that do not begin hold up nobody
			if c.phase != running {
				c.spawns.end()
			}
		}
		return
	}
	if r.ctx.Err() != nil {
		r.refuse(r.calls)
	}
	r.ask(authorize)
	r.ask(approve)
	ready := r.ready()
	begun := r.stopped() == nil
	if begun && len(r.s.chain) == 0 { // else each begins for itself, when its middleware lets it
		begun = r.beginTogether(ready)
	}
	if !begun {
		r.advance()
		return
	}
	for _, c := range ready {
		c.phase = running
		r.run(c)
	}
}

// start does work on a goroutine of its own. The function that the work returns runs on the loop's.
func (r *round) start(work func() (note func())) {
	r.working++
	go func() { r.notes <- work() }()
}

// refuse makes calls that have not begun end without being run, because the input is to end.
func (r *round) refuse(calls []*call) {
	for _, c := range calls {
		if c.Outcome == nil && c.phase != asking && c.phase != running {
			c.Prepared, c.phase = tool.Refuse(c.Call, notRun), permitted
		}
	}
}

// ready returns the calls that begin now.
func (r *round) ready() []*call {
	var ready []*call
	for _, c := range r.calls {
		if c.phase == permitted && !r.blocked(c) {
			ready = append(ready, c)
		}
	}
	if len(ready) > 0 && r.waits() {
		return nil
	}
	r.hold, r.held = nil, false
	return ready
}

// blocked reports whether another call is in the way of one: an earlier one that is not done or, where the arguments were changed since, a later
// one that runs.
func (r *round) blocked(c *call) bool {
	earlier := true
	for _, other := range r.calls {
		switch {
		case other == c:
			earlier = false
		case earlier && r.sequential, (earlier || other.phase == running) && conflict(other, c):
			return true
		}
	}
	return false
}

// done takes a call that has its result out of the way of the others.
func (r *round) done(c *call) {
	r.calls = slices.DeleteFunc(r.calls, func(other *call) bool { return other == c })
}

// conflict reports whether two calls must not run at the same time: one is exclusive, or they share a path of which one writes, or
// one writes a file and the other is a command, which may read or write any: a model that edits and tests in one answer means
// the one after the other. Commands run side by side.
func conflict(a, b *call) bool {
	if a.Outcome != nil || b.Outcome != nil { // nothing runs
		return false
	}
	x, y := a.Access, b.Access
	switch {
	case x.Effect == tool.Exclusive || y.Effect == tool.Exclusive:
		return true
	case x.Effect == tool.ReadOnly && y.Effect == tool.ReadOnly:
		return false
	case x.Command != "" || y.Command != "":
		return x.Effect == tool.Writes && y.Effect == tool.Writes && (x.Command == "" || y.Command == "")
	}
	return slices.ContainsFunc(x.Paths, func(p string) bool { return slices.Contains(y.Paths, p) })
}

// run runs a call and commits what comes of it, unless a middleware leaves it open.
func (r *round) run(c *call) {
	r.start(func() func() {
		defer c.spawns.end()
		o := r.execute(c)
		if r.staysOpen(c, o) {
			return func() {}
		}
		r.fail(r.finish(c, o))
		return func() { r.done(c) }
	})
}

// execute runs a call and waits for it, but not for ever: a tool or a middleware that ignores the end of its context is abandoned.
func (r *round) execute(c *call) *tool.Outcome {
	s := r.s
	p := c.Prepared
	if p.Outcome == nil && r.ctx.Err() != nil {
		p = tool.Refuse(c.Call, notRun)
	}
	live := &liveOutput{call: c.Call.ID, events: s.events}
	defer live.close()
	var begin func(context.Context) error
	if len(s.chain) > 0 {
		begin = func(context.Context) error { return r.begin(c) }
	}
	finished := make(chan *tool.Outcome, 1)
	go func() {
		in := s.toolCall()
		in.Live, in.Session = live.write, &toolSession{Session: s, call: c}
		finished <- p.Run(r.ctx, in, s.chain, begin)
	}()
	var o *tool.Outcome
	select {
	case o = <-finished:
	case <-r.ctx.Done():
		select {
		case o = <-finished:
		case <-time.After(s.killGrace + killTime):
			o = r.abandon(c)
		}
	}
	if o.Panic != "" {
		s.events.emit(&Warning{Code: "tool_panic", Text: fmt.Sprintf("The call of %s panicked:\n%s", c.Call.Name, o.Panic)})
	}
	return o
}

// abandon returns the outcome of a call that does not end. One that has not begun cannot begin any more.
func (r *round) abandon(c *call) *tool.Outcome {
	if !c.started.Load() {
		r.s.events.emit(&Warning{Code: "tool_abandoned", Text: fmt.Sprintf("The middleware around the call of %s did not stop within %v and was abandoned.",
			c.Call.Name, r.s.killGrace)})
		return tool.Refuse(c.Call, notRun).Outcome
	}
	r.s.events.emit(&Warning{Code: "tool_abandoned", Text: fmt.Sprintf("The tool %s did not stop within %v and was abandoned.", c.Call.Name, r.s.killGrace)})
	return tool.Refuse(c.Call, abandoned).Outcome
}

// toolCall returns what the calls of the session have in common.
func (s *Session) toolCall() tool.Call {
	return tool.Call{Env: s.env, SessionID: s.ID(), AgentID: s.agentID, Diffs: s.diffs}
}

// finish commits what came of a call: its result, or the question that it waits on.
func (r *round) finish(c *call, o *tool.Outcome) error {
	r.announce(c)
	if asked := c.later.Load(); asked != nil && r.ctx.Err() == nil {
		asked.Args, asked.Access, asked.Start = c.effective(), r.access(c), c.number.Load()
		err := r.s.outcome(r.ctx, *asked)
		r.s.events.flush()
		return err
	}
	result := c.result(o)
	result.Access, result.Start = r.access(c), c.number.Load()
	r.s.keepOutput(r.ctx, &result)
	return r.s.record(r.ctx, result)
}

// record commits a result. A journal that fails must not leave the call's start without its end. One that is replayed and says no more of the call
// has not failed.
func (s *Session) record(ctx context.Context, result resultRecord) error {
	err := s.outcome(ctx, result)
	if err != nil && !errors.Is(err, errJournalEnds) {
		s.events.add(&ToolCallEnd{CallID: result.CallID, Name: result.Name, Output: err.Error(), OutputBytes: int64(len(err.Error())),
			OutputComplete: true, IsError: true})
	}
	s.events.flush()
	return err
}

func (c *call) result(o *tool.Outcome) resultRecord {
	full, cut := bounded(o.Content.Text())
	r := resultRecord{CallID: c.Call.ID, Name: c.Call.Name, Args: c.effective(), Content: o.Model, IsError: o.IsError, Done: o.Done,
		Final: o.Final, OutputRef: o.OutputRef, Bytes: o.Bytes, Truncated: o.Truncated, Seen: o.Seen,
		Changes: o.Changes, Ran: o.Ran, Structured: o.Structured, Duration: o.Duration, full: full, cut: cut || o.Gap.Bytes > 0}
	r.Asked, r.Answers = c.heard.of(o)
	return r
}

// effective returns the arguments that the call runs with, empty where they are those that the model sent.
func (c *call) effective() string {
	if c.Call.Args == c.sent {
		return ""
	}
	return c.Call.Args
}

// access returns what a call would touch, nil when that is not known. A replay has it from the journal.
func (r *round) access(c *call) *tool.Access {
	switch {
	case r.s.touched != nil:
		return r.s.touched(c.Call.ID)
	case !c.Valid:
		return nil
	}
	return &c.Access
}

// eventOutput is how much of a call's output its TOOL_CALL_END holds, in bytes; of more it holds the head and the tail, half each.
const eventOutput = 8 << 20

func bounded(text string) (kept string, cut bool) {
	if len(text) <= eventOutput {
		return text, false
	}
	return validText(text[:eventOutput/2]) + validText(text[len(text)-eventOutput/2:]), true
}
