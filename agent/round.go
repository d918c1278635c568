package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// killTime is the longest that killing a command takes after its grace time, with a margin. A tool
// that is busy killing is not ignoring its context.
const killTime = 700 * time.Millisecond

// runCalls brings every open tool call to its result. A call is permitted when no earlier call is
// in its way, and then begins. Calls that begin together share one intent record, which is written
// before they run; each result is committed when it is there. So after a crash a call with an
// intent and no result may have run, and any other open call never began. runCalls returns errors
// of the session only; an error of a tool is a result.
func (s *Session) runCalls(ctx context.Context, step Step) error {
	r := s.newRound(ctx, step)
	defer r.quit()
	for r.startReady(); r.working > 0; r.startReady() {
		select {
		case note := <-r.notes:
			note()
			r.working--
		case <-r.shareTimer:
			r.shareOver = true
		}
	}
	return r.err()
}

// round runs the open tool calls of one answer. Its fields belong to the loop's goroutine, except
// for those at the end.
type round struct {
	s          *Session
	ctx        context.Context
	deciding   context.Context // for the permission hooks; ends early when nothing may begin any more
	quit       func()
	sequential bool
	calls      []*call     // without a result yet, in order
	notes      chan func() // from goroutines that are done, each to be called by the loop
	working    int         // how many goroutines will send a note
	busy       [lanes]bool // which hooks are being asked
	shareTimer <-chan time.Time
	shareOver  bool // shareTimer has fired for the calls that can begin now

	writing chan struct{} // held by whoever writes intents for middleware
	mu      sync.Mutex
	next    *beginning // the calls whose intents are written next
	failed  error      // an error of the session: nothing can be written any more
}

// call holds a tool call of a round on its way to its result.
type call struct {
	*tool.Prepared
	index   int    // among the calls of its answer
	named   string // the tool as the model named it
	sent    string // the arguments as the model sent them
	phase   phase
	started atomic.Bool                 // TOOL_CALL_START was emitted, perhaps by an earlier process
	number  atomic.Int64                // the sequence number of TOOL_CALL_START
	awaits  atomic.Pointer[awaitRecord] // the question that the next input answers
	answers answers                     // to questions that were answered at once

	spawns *spawnOrder // for a call that starts an agent
}

// A phase says how far a call has come.
type phase uint8

const (
	toAuthorize phase = iota // Authorize is to be asked
	toApprove                // Approve is to be asked
	asking                   // one of them is being asked
	permitted                // it can begin, or it was refused and only its result is missing
	running
)

// newRound returns a round with the calls of a step: those that may run are prepared, the others
// refused.
func (s *Session) newRound(ctx context.Context, step Step) *round {
	r := &round{s: s, ctx: ctx, notes: make(chan func()), writing: make(chan struct{}, 1),
		sequential: s.state.Header.Params.Sequential}
	deciding, quit := context.WithCancelCause(ctx)
	given := context.AfterFunc(s.owned, func() { quit(s.givenAway()) })
	r.deciding, r.quit = deciding, func() { given(); quit(nil) }
	registry := s.tools()
	for _, o := range step.Calls {
		c := &call{named: o.Name, sent: o.Args, phase: permitted}
		switch {
		case o.awaits != nil: // the input was asked to end before the answer came
			c.Prepared = tool.Refuse(o.ToolCall, unanswered)
			c.started.Store(true)
		case o.Intended && o.elsewhere:
			c.Prepared = tool.Refuse(o.ToolCall, unknownElsewhere)
		case o.Intended: // by a process that is gone
			c.Prepared = tool.Refuse(o.ToolCall, unknownOutcome)
		case o.elsewhere && step.Reason != "":
			c.Prepared = tool.Refuse(o.ToolCall, notRunElsewhere)
		case step.Reason != "" || ctx.Err() != nil:
			c.Prepared = tool.Refuse(o.ToolCall, notRun)
		case o.Torn:
			c.Prepared = tool.Refuse(o.ToolCall, tornCall)
		case o.Refused:
			c.Prepared = tool.Refuse(o.ToolCall, refusedCall)
		default:
			c.Prepared = s.prepare(ctx, registry, o.ToolCall)
			if c.Outcome == nil {
				c.phase = toAuthorize
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

// prepare returns a call with its tool, its validated arguments and its Access.
func (s *Session) prepare(ctx context.Context, registry *tool.Registry, call llm.ToolCall) *tool.Prepared {
	p, err := host(ctx, s, "the Access of the tool "+call.Name, s.limits.Grace, func() (*tool.Prepared, error) {
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
	unknownOutcome = "Error: the session stopped while this call was running, and its outcome is unknown: it may " +
		"have had no effect, some, or all. It was not run again. Look at the current state before you go on."
	unanswered      = "Error: the question was not answered, because the session was interrupted."
	interruptedCall = "the call was not run, because the session was interrupted"
	notRun          = "Error: " + interruptedCall + "."
	abandoned       = "Error: the session was interrupted, and the tool did not stop in time; it was abandoned. What " +
		"it did is unknown."
)

// startReady starts all calls and hooks that can start now.
func (r *round) startReady() {
	if r.err() != nil {
		for _, c := range r.calls { // a call that never begins must not hold up others
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
	begun := r.err() == nil
	if begun && len(r.s.hooks.Middleware) == 0 { // otherwise each call begins when its middleware lets it
		begun = r.beginTogether(ready)
	}
	if !begun {
		r.startReady()
		return
	}
	for _, c := range ready {
		c.phase = running
		r.runCall(c)
	}
}

// start does work on a new goroutine. The function that work returns runs on the loop's goroutine.
func (r *round) start(work func() (note func())) {
	r.working++
	go func() { r.notes <- work() }()
}

// refuse gives calls that have not begun the result that they were not run.
func (r *round) refuse(calls []*call) {
	for _, c := range calls {
		if c.Outcome == nil && c.phase != asking && c.phase != running {
			c.Prepared, c.phase = tool.Refuse(c.Call, notRun), permitted
		}
	}
}

// ready returns the calls that can begin now.
func (r *round) ready() []*call {
	var ready []*call
	for _, c := range r.calls {
		if c.phase != permitted || r.blocked(c) {
			continue
		}
		if len(ready) == 0 && r.shouldWait() {
			return nil
		}
		ready = append(ready, c)
	}
	r.shareTimer, r.shareOver = nil, false
	return ready
}

// blocked reports whether another call is in the way of c: an earlier one without a result or, if a
// hook has changed c's arguments since, a later one that runs.
func (r *round) blocked(c *call) bool {
	if c.Outcome != nil && !r.sequential { // nothing runs
		return false
	}
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

// remove removes a call that has its result.
func (r *round) remove(c *call) {
	r.calls = slices.DeleteFunc(r.calls, func(other *call) bool { return other == c })
}

// conflict reports whether two calls must not run at the same time: one is exclusive, or both use a
// path, or what is in it, and one of them writes there, or one writes a file and the other runs a
// command. A command may read any file, and a model that edits and tests in one answer means one
// after the other. Commands run side by side.
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
	return slices.ContainsFunc(x.Paths, func(p string) bool {
		return slices.ContainsFunc(y.Paths, func(q string) bool { return overlap(p, q) })
	})
}

// overlap reports whether a path is another one, or in it: a call that searches a directory uses
// all that is in it.
func overlap(p, q string) bool {
	within := func(dir, name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") }
	return p == q || within(p, q) || within(q, p)
}

// runCall runs a call and commits its outcome, unless a middleware leaves the call open.
func (r *round) runCall(c *call) {
	r.start(func() func() {
		defer c.spawns.end()
		o := r.execute(c)
		if r.staysOpen(c, o) {
			return func() {}
		}
		r.fail(r.commitOutcome(c, o))
		return func() { r.remove(c) }
	})
}

// execute runs a call and returns its outcome. A tool or middleware that ignores the end of its
// context is abandoned.
func (r *round) execute(c *call) *tool.Outcome {
	s := r.s
	p := c.Prepared
	if p.Outcome == nil && r.ctx.Err() != nil {
		p = tool.Refuse(c.Call, notRun)
	}
	live := &liveOutput{call: c.Call.ID, events: s.events}
	defer live.close()
	var begin func(context.Context) error
	if len(s.hooks.Middleware) > 0 {
		begin = func(context.Context) error { return r.begin(c) }
	}
	finished := make(chan *tool.Outcome, 1)
	go func() {
		in := s.toolCall()
		in.Live, in.Session = live.write, &toolSession{Session: s, call: c}
		finished <- p.Run(r.ctx, in, s.hooks.Middleware, begin)
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
		s.warn("tool_panic", "The call of %s panicked:\n%s", c.Call.Name, o.Panic)
	}
	return o
}

// abandon returns the outcome of a call that does not end, and emits a warning.
func (r *round) abandon(c *call) *tool.Outcome {
	if !c.started.Load() {
		r.s.warn("tool_abandoned", "The middleware around the call of %s did not stop within %v and was abandoned.",
			c.Call.Name, r.s.killGrace)
		return tool.Refuse(c.Call, notRun).Outcome
	}
	r.s.warn("tool_abandoned", "The tool %s did not stop within %v and was abandoned.", c.Call.Name, r.s.killGrace)
	return tool.Refuse(c.Call, abandoned).Outcome
}

// toolCall returns a call with the fields that all calls of the session have in common.
func (s *Session) toolCall() tool.Call {
	return tool.Call{Env: s.env, SessionID: s.ID(), AgentID: s.agentID, Diffs: s.limits.Diffs}
}

// commitOutcome commits the result of a call, or the question that it waits for.
func (r *round) commitOutcome(c *call, o *tool.Outcome) error {
	r.announce(c)
	if asked := c.awaits.Load(); asked != nil && r.ctx.Err() == nil {
		asked.Args, asked.Access, asked.Start = c.effective(), c.access(), c.number.Load()
		if c.Call.Name != c.named {
			asked.Name = c.Call.Name
		}
		err := r.s.commit(*asked)
		r.s.events.flush()
		return err
	}
	result := c.result(o)
	result.Access, result.Start = c.access(), c.number.Load()
	r.s.keepOutput(r.ctx, &result)
	return r.s.commitResult(result)
}

// commitResult commits a result. If the journal fails, TOOL_CALL_END carries the error, so that
// each start has its end.
func (s *Session) commitResult(result resultRecord) error {
	err := s.commit(result)
	if err != nil {
		s.events.add(&ToolCallEnd{CallID: result.CallID, Name: result.Name, Output: err.Error(),
			OutputBytes: int64(len(err.Error())), OutputComplete: true, IsError: true})
	}
	s.events.flush()
	return err
}

// result returns the record of an outcome.
func (c *call) result(o *tool.Outcome) resultRecord {
	full, cut := conversation.HeadAndTail(o.Content.Text(), eventOutput)
	r := resultRecord{CallID: c.Call.ID, Name: c.Call.Name, Args: c.effective(), Content: o.Model, IsError: o.IsError,
		Done:  o.Done,
		Final: o.Final, OutputRef: o.OutputRef, Bytes: o.Bytes, Truncated: o.Truncated, Seen: o.Seen,
		Changes: o.Changes, Ran: o.Ran, Structured: o.Structured, Duration: o.Duration, full: full, cut: cut ||
			o.Gap.Bytes > 0}
	r.Asked, r.Answers = c.answers.of(o)
	return r
}

// effective returns the arguments that the call runs with, empty if the model sent the same.
func (c *call) effective() string {
	if c.Call.Args == c.sent {
		return ""
	}
	return c.Call.Args
}

// access returns what the call would touch, nil if that is not known.
func (c *call) access() *tool.Access {
	if !c.Valid {
		return nil
	}
	access := c.Access // the event keeps it, and not the rest of the call
	return &access
}

// eventOutput limits the output in a TOOL_CALL_END, in bytes. Of a longer one the event has the
// head and the tail, half each.
const eventOutput = 8 << 20
