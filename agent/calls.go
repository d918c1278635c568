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

// runCalls brings every open call to its result: it prepares and authorizes them in order and runs each as soon as no earlier call is
// in its way. What begins together is intended in one record, before it runs; each result is committed when it is there. So after a
// crash a call with an intent and no result may have run, and any other open call never began. The error is one of ours; a tool's is a
// result.
func (s *Session) runCalls(ctx context.Context, step Step) error {
	b := s.prepare(ctx, step)
	b.order(s.state.Header.Params.Sequential && s.inTurn == nil) // a replay has the order of the journal
	s.agents.queue(b)
	var failed error
	ended := make(chan error)
	for running := 0; ; running-- {
		var ready batch
		if failed == nil { // nothing begins where nothing can be written down any more
			ready = b.begin()
			failed = s.intend(ctx, ready)
		}
		if failed == nil {
			running += len(ready)
			for _, c := range ready {
				s.announce(c)
				go func() {
					err := s.finish(ctx, c)
					c.done.Store(true)
					c.spawns.end()
					ended <- err
				}()
			}
		}
		if running == 0 {
			return failed
		}
		if failed != nil { // calls that do not begin hold up nobody
			for _, c := range b {
				c.spawns.end()
			}
		}
		if err := <-ended; failed == nil {
			failed = err
		}
	}
}

// call is one call of a batch on its way to its result.
type call struct {
	*tool.Prepared
	sent  string // the arguments as the model sent them
	told  bool   // announced before: a question that is not answered any more
	after batch  // the earlier calls that it waits for
	began bool
	done  atomic.Bool
	later atomic.Pointer[awaitRecord] // the question whose answer comes with the next input
	heard answers                     // to the questions that were answered at once

	spawns *spawnTurn // of a call that starts an agent
}

type batch []*call

func (s *Session) prepare(ctx context.Context, step Step) batch {
	b := make(batch, 0, len(step.Calls))
	for _, o := range step.Calls {
		c := &call{sent: o.Args}
		switch {
		case o.Question != nil: // the input was asked to end before the answer came
			c.Prepared, c.told = tool.Refuse(o.ToolCall, unanswered), true
		case o.Intended: // recorded before this batch: by a process that is no more
			c.Prepared = tool.Refuse(o.ToolCall, unknownOutcome)
		case step.Reason != "" || ctx.Err() != nil:
			c.Prepared = tool.Refuse(o.ToolCall, notRun)
		case o.Torn:
			c.Prepared = tool.Refuse(o.ToolCall, tornCall)
		case o.Refused:
			c.Prepared = tool.Refuse(o.ToolCall, refusedCall)
		default:
			c.Prepared = s.permit(ctx, o.ToolCall)
			c.Access.Paths = absolute(c.Access.Paths, s.dir)
		}
		b = append(b, c)
	}
	return b
}

// permit prepares a call and asks the permission hooks about it. What does not decide before it is interrupted does not allow it.
func (s *Session) permit(ctx context.Context, call llm.ToolCall) *tool.Prepared {
	registry := s.tools()
	p, err := host(ctx, s, "a permission hook, or the Access of the tool "+call.Name+",", s.grace, func() (*tool.Prepared, error) {
		p := registry.Prepare(call)
		p.Guard(ctx, s.env)
		return registry.Authorize(ctx, p, s.authorize), nil
	})
	s.warnOfStuck(err)
	if err != nil || ctx.Err() != nil {
		return tool.Refuse(call, notRun)
	}
	return p
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

// order finds out which calls each has to wait for. It is done before any runs: one that an abort refuses would be in nobody's way.
func (b batch) order(sequential bool) {
	for i, c := range b {
		for _, earlier := range b[:i] {
			if sequential || conflict(earlier, c) {
				c.after = append(c.after, earlier)
			}
		}
	}
}

// begin returns the calls whose turn has come, and marks them.
func (b batch) begin() batch {
	var ready batch
	for _, c := range b {
		if c.began || slices.ContainsFunc(c.after, func(earlier *call) bool { return !earlier.done.Load() }) {
			continue
		}
		c.began = true
		ready = append(ready, c)
	}
	return ready
}

// intend writes down which of the calls that begin now have effects, and makes it durable. After an interrupt none of them runs.
func (s *Session) intend(ctx context.Context, ready batch) error {
	var calls []llm.ToolCall
	for _, c := range ready {
		if c.Outcome == nil && ctx.Err() != nil {
			c.Prepared = tool.Refuse(c.Call, notRun)
		}
		if c.Outcome == nil && c.Access.Effect != tool.ReadOnly {
			calls = append(calls, c.Call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	if err := s.outcome(ctx, intentRecord{Calls: calls}); err != nil {
		return err
	}
	return s.sync()
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
	if c.told {
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
		case <-time.After(s.killGrace + killTime):
			o = tool.Refuse(c.Call, abandoned).Outcome
			s.events.emit(&Warning{Code: "tool_abandoned", Text: fmt.Sprintf("The tool %s did not stop within %v and was abandoned.",
				c.Call.Name, s.killGrace)})
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
		OutputRef: o.OutputRef, Bytes: o.Bytes, Seen: o.Seen, Duration: o.Duration, full: full, cut: cut || o.Gap.Bytes > 0}
	r.Asked, r.Answers = c.heard.of(o)
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
