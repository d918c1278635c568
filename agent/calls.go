package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// killTime is what ending a command takes at most after its grace time (requirement D4), with a margin: a tool that is busy
// killing is not ignoring its context.
const killTime = 700 * time.Millisecond

// runCalls brings every open call to its result: it prepares and authorizes them in order, records the intent of those with
// effects, and runs them side by side as far as they do not get into each other's way. Each result is committed when it is
// there. The error is one of ours; a tool's is a result.
func (s *Session) runCalls(ctx context.Context, step Step) error {
	batch := s.prepare(ctx, step)
	if err := s.recordIntent(ctx, batch); err != nil {
		return err
	}
	var failed error
	results := make(chan error)
	waits := make([][]*call, len(batch)) // found out before any runs: a call that an abort refuses is another one
	for i := range batch {
		waits[i] = batch.before(i, s.head().Params.Sequential)
	}
	for i, c := range batch {
		waitFor := waits[i]
		if len(waitFor) == 0 {
			s.announce(c)
		}
		go func() {
			for _, earlier := range waitFor {
				<-earlier.done
			}
			if len(waitFor) > 0 {
				s.announce(c)
			}
			err := s.finish(ctx, c)
			close(c.done)
			results <- err
		}()
	}
	for range batch {
		if err := <-results; failed == nil {
			failed = err
		}
	}
	return failed
}

// call is one call of a batch on its way to its result.
type call struct {
	*tool.Prepared
	sent  string // the arguments as the model sent them
	begun bool   // announced before: a question that is not answered any more
	done  chan struct{}
	later atomic.Pointer[awaitRecord] // the question whose answer comes with the next input
}

type batch []*call

func (s *Session) prepare(ctx context.Context, step Step) batch {
	b := make(batch, 0, len(step.Calls))
	for _, o := range step.Calls {
		c := &call{sent: o.Args, done: make(chan struct{})}
		switch {
		case o.Question != nil: // the input was asked to end before the answer came
			c.Prepared, c.begun = tool.Refuse(o.ToolCall, unanswered), true
		case o.Intended: // recorded before this batch: by a process that is no more
			c.Prepared = tool.Refuse(o.ToolCall, unknownOutcome)
		case step.Reason != "" || ctx.Err() != nil:
			c.Prepared = tool.Refuse(o.ToolCall, notRun)
		default:
			registry := s.tools()
			c.Prepared = registry.Authorize(ctx, registry.Prepare(o.ToolCall), s.authorize)
			if ctx.Err() != nil { // the hook did not decide: it was interrupted
				c.Prepared = tool.Refuse(o.ToolCall, notRun)
			}
			c.Access.Paths = absolute(c.Access.Paths, s.env.WorkDir())
		}
		b = append(b, c)
	}
	return b
}

// absolute makes one name of a file of its relative and absolute ones.
func absolute(paths []string, dir string) []string {
	all := make([]string, 0, len(paths))
	for _, p := range paths {
		if !path.IsAbs(p) {
			p = path.Join(dir, p)
		}
		all = append(all, path.Clean(p))
	}
	return all
}

const (
	unknownOutcome = "Error: the session stopped while this call was running, and its outcome is unknown: it may have had no " +
		"effect, some, or all. It was not run again. Look at the current state before you go on."
	unanswered = "Error: the question was not answered, because the session was interrupted."
	notRun     = "Error: the call was not run, because the session was interrupted."
	abandoned  = "Error: the session was interrupted, and the tool did not stop in time; it was abandoned. What it did is unknown."
)

func (s *Session) recordIntent(ctx context.Context, b batch) error {
	var calls []llm.ToolCall
	for _, c := range b {
		if c.Outcome == nil && c.Access.Effect != tool.ReadOnly {
			calls = append(calls, c.Call)
		}
	}
	if len(calls) > 0 {
		if err := s.outcome(ctx, intentRecord{Calls: calls}); err != nil {
			return err
		}
	}
	return s.sync()
}

// before returns the earlier calls that call i has to wait for.
func (b batch) before(i int, sequential bool) []*call {
	var wait []*call
	for _, earlier := range b[:i] {
		if sequential || conflict(earlier, b[i]) {
			wait = append(wait, earlier)
		}
	}
	return wait
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

func (s *Session) announce(c *call) {
	if c.begun {
		return
	}
	s.mu.Lock()
	index := s.state.indexOf(c.Call.ID)
	s.mu.Unlock()
	s.events.emit(&ToolCallStart{CallID: c.Call.ID, Index: index, Name: c.Call.Name, Arguments: arguments(c.Call.Args)})
}

// finish runs a call and commits what came of it: its result, or the question that it waits on.
func (s *Session) finish(ctx context.Context, c *call) error {
	result := s.execute(ctx, c)
	if asked := c.later.Load(); asked != nil && ctx.Err() == nil {
		err := s.outcome(ctx, *asked)
		s.events.flush()
		return err
	}
	return s.record(ctx, c, result)
}

// record commits a result. A journal that fails must not leave the call's start without its end.
func (s *Session) record(ctx context.Context, c *call, result resultRecord) error {
	err := s.outcome(ctx, result)
	if err != nil {
		s.events.add(&ToolCallEnd{CallID: c.Call.ID, Name: c.Call.Name, Output: err.Error(), OutputBytes: int64(len(err.Error())),
			OutputComplete: true, IsError: true})
	}
	s.events.flush()
	return err
}

// execute runs a call and waits for it, but not for ever: a tool that ignores the end of its context is abandoned.
func (s *Session) execute(ctx context.Context, c *call) resultRecord {
	if c.Outcome == nil && ctx.Err() != nil {
		c.Prepared = tool.Refuse(c.Call, notRun)
	}
	live := &liveOutput{call: c.Call.ID, events: s.events}
	defer live.close()
	finished := make(chan *tool.Outcome, 1)
	go func() {
		finished <- c.Run(ctx, tool.Call{Env: s.env, Live: live.write, Session: &toolSession{Session: s, call: c}})
	}()
	var o *tool.Outcome
	select {
	case o = <-finished:
	case <-ctx.Done():
		select {
		case o = <-finished:
		case <-time.After(s.grace + killTime):
			o = tool.Refuse(c.Call, abandoned).Outcome
			s.events.emit(&Warning{Code: "tool_abandoned", Text: fmt.Sprintf("The tool %s did not stop within %v and was abandoned.",
				c.Call.Name, s.grace)})
		}
	}
	if o.Panic != "" {
		s.events.emit(&Warning{Code: "tool_panic", Text: fmt.Sprintf("The tool %s panicked:\n%s", c.Call.Name, o.Panic)})
	}
	return c.result(o)
}

func (c *call) result(o *tool.Outcome) resultRecord {
	full, cut := bounded(o.Content.Text())
	r := resultRecord{CallID: c.Call.ID, Name: c.Call.Name, Content: o.Model, IsError: o.IsError, Done: o.Done, Final: o.Final,
		OutputRef: o.OutputRef, Bytes: o.Bytes, Duration: o.Duration, full: full, cut: cut || o.Gap.Bytes > 0}
	if c.Call.Args != c.sent {
		r.Args = c.Call.Args
	}
	return r
}

// eventOutput is how much of a call's output its TOOL_CALL_END holds, in bytes; of more it holds the head and the tail, half each.
const eventOutput = 8 << 20

func bounded(text string) (kept string, cut bool) {
	if len(text) <= eventOutput {
		return text, false
	}
	return validText(text[:eventOutput/2]) + validText(text[len(text)-eventOutput/2:]), true
}
