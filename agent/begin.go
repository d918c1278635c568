package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// shareTime is how long a call that could begin waits for a host's Authorize of the next one, so that they begin together.
const shareTime = 5 * time.Millisecond

// errNotRun keeps a call from beginning after an interrupt.
var errNotRun = errors.New(interruptedCall)

// stopped returns why nothing begins any more: nothing can be written down, or the session is given away.
func (r *round) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.failed, r.s.left())
}

// fail notes an error of ours. Nil is none.
func (r *round) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = cmp.Or(r.failed, err)
}

// staysOpen reports whether a call has no result although it has returned. A middleware that leaves its call open gives the session away. What
// has begun goes on to its result, since it has its effects anyway; all other calls stay open, too. A call that only reads may have failed
// because of that, such as one that waited for a subagent: it runs again when the session is resumed.
func (r *round) staysOpen(c *call, o *tool.Outcome) bool {
	if o.NotBegun != nil {
		r.s.leave(fmt.Errorf("%w: %w", ErrReleased, o.NotBegun))
	}
	failed := c.Outcome == nil && c.Access.Effect == tool.ReadOnly && o.IsError
	return o.NotBegun != nil || r.stopped() != nil && !c.started.Load() || r.s.left() != nil && failed
}

// waits reports whether calls that can begin had better wait a moment for the next one, about which Authorize is being asked: calls that begin
// together share an intent, and their starts are in order. Nobody waits longer for a hook that takes its time.
func (r *round) waits() bool {
	if !r.busy[authorize] || r.held {
		return false
	}
	if r.hold == nil && r.s.authorize != nil {
		r.hold = time.After(shareTime)
	}
	return true
}

// intends reports whether the call may run and needs an intent.
func (c *call) intends() bool { return c.Outcome == nil && c.Access.Effect != tool.ReadOnly }

// beginTogether lets calls begin whose turn has come and around which there is no middleware. After an interrupt none of them is run. It
// reports false when they stay as they are, because nothing begins any more.
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

// beginning is a group of calls that begin together.
type beginning struct {
	calls []*call
	done  chan struct{}
	err   error
}

// begin lets a call begin whose middleware has let it through. Those that come while an intent is being written share the next one: the first of
// them writes it for all.
func (r *round) begin(c *call) error {
	if !c.intends() {
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

// intend writes down which of the calls have effects and makes that durable, if anything may begin at all.
func (r *round) intend(calls []*call) error {
	var intents []llm.ToolCall
	for _, c := range calls {
		if c.intends() {
			intents = append(intents, c.Call)
		}
	}
	if err := r.mayBegin(); err != nil || len(intents) == 0 {
		return err
	}
	err := r.s.outcome(r.ctx, intentRecord{Calls: intents})
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
		return nil // although the session may have been given away meanwhile: whoever resumes it takes what is intended for begun
	}
	return r.mayBegin()
}

func (r *round) mayBegin() error {
	if err := r.stopped(); err != nil {
		return err
	}
	if r.ctx.Err() != nil {
		return errNotRun
	}
	return nil
}

// announce emits a call's start, once.
func (r *round) announce(c *call) {
	if !c.started.CompareAndSwap(false, true) {
		return
	}
	start := toolCallStart(c.Call.ID, c.Call.Name, c.index, c.sent, c.effective(), r.access(c))
	r.s.events.emit(start)
	c.number.Store(r.s.events.number(start))
}

// toolCallStart returns the event of a call that begins. Effective is empty where the arguments are those that the model sent.
func toolCallStart(id, name string, index int, sent, effective string, access *tool.Access) *ToolCallStart {
	start := &ToolCallStart{CallID: id, Index: index, Name: name, Arguments: arguments(sent), Access: access}
	if effective != "" {
		if raw := arguments(effective); string(raw) != string(start.Arguments) {
			start.Effective = raw
		}
	}
	return start
}
