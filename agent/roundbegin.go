package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// shareTime is the longest that a call waits for the host's Authorize of the next one, so that both
// begin together.
const shareTime = 5 * time.Millisecond

// errNotRun is returned to a call that wants to begin after an interrupt.
var errNotRun = errors.New(interruptedCall)

// err returns why no call may begin any more: the journal has failed, or the session is given away.
// It returns nil while calls may.
func (r *round) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.failed, r.s.givenAway())
}

// fail keeps the first error of the session. A nil error changes nothing.
func (r *round) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = cmp.Or(r.failed, err)
}

// staysOpen reports whether a call that has returned stays open, without a result. A middleware
// that leaves its call open gives the session away. Calls that have begun go on to their results,
// since they have their effects anyway; all others stay open. A read-only call may have failed
// because the session was given away, such as one that waited for a subagent, so it runs again
// after a resume.
func (r *round) staysOpen(c *call, o *tool.Outcome) bool {
	if o.NotBegun != nil {
		r.s.disown(fmt.Errorf("%w: %w", ErrReleased, o.NotBegun))
	}
	failed := c.Outcome == nil && c.Access.Effect == tool.ReadOnly && o.IsError
	return o.NotBegun != nil || r.err() != nil && !c.started.Load() || r.s.givenAway() != nil && failed
}

// shouldWait reports whether calls that can begin should wait for the call about which Authorize is
// being asked. Calls that begin together share an intent, and their starts are in order. They wait
// for shareTime at most.
func (r *round) shouldWait() bool {
	if !r.busy[authorize] || r.shareOver {
		return false
	}
	if r.shareTimer == nil && r.s.hooks.Authorize != nil {
		r.shareTimer = time.After(shareTime)
	}
	return true
}

// needsIntent reports whether the call is to run and has effects.
func (c *call) needsIntent() bool { return c.Outcome == nil && c.Access.Effect != tool.ReadOnly }

// beginTogether writes the intents of calls without middleware and announces them. After an
// interrupt it refuses them. It reports false if they stay as they are, because nothing may begin
// any more.
func (r *round) beginTogether(ready []*call) bool {
	if err := r.intend(ready); errors.Is(err, errNotRun) {
		r.refuse(ready)
	} else if err != nil {
		return false
	}
	for _, c := range ready {
		r.announce(c)
	}
	return true
}

// A beginning is a group of calls that begin together.
type beginning struct {
	calls []*call
	done  chan struct{}
	err   error
}

// begin returns when a call that has passed its middleware may run. Calls that come while an intent
// is being written share the next intent, which the first of them writes.
func (r *round) begin(c *call) error {
	if !c.needsIntent() {
		if err := r.intend([]*call{c}); err != nil {
			return err
		}
		r.announce(c)
		return nil
	}
	r.mu.Lock()
	group, first := r.next, r.next == nil
	if first {
		group = &beginning{done: make(chan struct{})}
		r.next = group
	}
	group.calls = append(group.calls, c)
	r.mu.Unlock()
	if !first {
		<-group.done
		return group.err
	}
	r.writing <- struct{}{}
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	slices.SortFunc(group.calls, func(a, b *call) int { return a.index - b.index })
	if group.err = r.intend(group.calls); group.err == nil {
		for _, c := range group.calls {
			r.announce(c)
		}
	}
	<-r.writing
	close(group.done)
	return group.err
}

// intend writes the intents of calls that have effects and makes them durable. It returns an error
// if nothing may begin.
func (r *round) intend(calls []*call) error {
	var intents []llm.ToolCall
	for _, c := range calls {
		if c.needsIntent() {
			intents = append(intents, c.Call)
		}
	}
	if err := r.checkMayBegin(); err != nil || len(intents) == 0 {
		return err
	}
	err := r.s.commit(intentRecord{Calls: intents})
	if err == nil {
		err = r.s.sync(context.Background())
	}
	if err != nil {
		r.fail(err)
		return err
	}
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	if r.ctx.Err() == nil && failed == nil {
		// even if the session was given away meanwhile: whoever resumes it assumes that intended
		// calls have begun
		return nil
	}
	return r.checkMayBegin()
}

// checkMayBegin returns why no call may begin, nil if calls may.
func (r *round) checkMayBegin() error {
	if err := r.err(); err != nil {
		return err
	}
	if r.ctx.Err() != nil {
		return errNotRun
	}
	return nil
}

// announce emits a call's TOOL_CALL_START, once.
func (r *round) announce(c *call) {
	if !c.started.CompareAndSwap(false, true) {
		return
	}
	start := toolCallStart(c.Call.ID, c.Call.Name, c.index, c.sent, c.effective(), c.access())
	r.s.events.emit(start)
	c.number.Store(r.s.events.number(start))
}

// toolCallStart returns the event of a call that begins. Its Effective is set only if the arguments
// differ from those that were sent.
func toolCallStart(id, name string, index int, sent, effective string, access *tool.Access) *ToolCallStart {
	start := &ToolCallStart{CallID: id, Index: index, Name: name, Arguments: conversation.Arguments(sent),
		Access: access}
	if effective != "" {
		if raw := conversation.Arguments(effective); string(raw) != string(start.Arguments) {
			start.Effective = raw
		}
	}
	return start
}

// A lane is one of the two hooks that permit calls. Each is asked about one call at a time, in the
// order of the calls.
type lane int

const (
	authorize lane = iota
	approve        // asked where Authorize says Ask
	lanes
)

// ask asks a hook about the first call that needs its decision. A call that needs no approval does
// not wait for those that do.
func (r *round) ask(l lane) {
	hook, phase := r.s.hooks.Authorize, toAuthorize
	if l == approve {
		hook, phase = r.s.hooks.Approve, toApprove
	}
	if r.busy[l] {
		return
	}
	for _, c := range r.calls {
		if c.phase != phase || r.blocked(c) {
			continue
		}
		c.phase, r.busy[l] = asking, true
		r.start(func() func() {
			d := r.s.permit(r.deciding, c.Prepared, hook)
			return func() {
				r.busy[l] = false
				r.applyDecision(c, d, l)
			}
		})
		return
	}
}

// A decision holds the outcome of a hook: the call as permitted or refused, whether Approve has to
// be asked, or an error.
type decision struct {
	call *tool.Prepared
	asks bool
	err  error
}

// applyDecision changes a call by the decision about it. After an interrupt no call is permitted.
func (r *round) applyDecision(c *call, d decision, l lane) {
	c.phase = permitted
	switch {
	case r.err() != nil:
		c.phase = toAuthorize // the next process asks again
	case d.err != nil || r.ctx.Err() != nil:
		c.Prepared = tool.Refuse(c.Call, notRun)
	case d.asks && l == authorize && r.s.hooks.Approve != nil:
		c.Prepared, c.phase = d.call, toApprove
	case d.asks:
		c.Prepared = d.call.Unapproved()
	default:
		c.Prepared = d.call
	}
}

// permit returns a hook's decision about a call. It refuses a call whose tool has been removed
// since it was prepared.
func (s *Session) permit(ctx context.Context, p *tool.Prepared, hook tool.Authorize) decision {
	registry := s.tools()
	decide := func() (d decision) {
		if _, ok := registry.Get(p.Call.Name); !ok {
			p = registry.Prepare(p.Call)
		}
		own := *p
		d.call, d.asks = registry.Authorize(ctx, &own, s.toolCall(), hook)
		return d
	}
	if hook == nil { // only the environment is asked, on a goroutine of its own and no longer than until ctx ends
		return decide()
	}
	d, err := host(ctx, s, "the permission hook that was asked about "+p.Call.Name, s.limits.Grace,
		func() (decision, error) { return decide(), nil })
	s.warnOfStuck(err)
	d.err = err
	return d
}
