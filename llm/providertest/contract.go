package providertest

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// Contract reads a stream to its end and reports violations of the stream contract of package llm
// to t. It returns the events, and the error that the stream ended with. Without an error the last
// event has the response, unless a violation was reported.
func Contract(t testing.TB, stream iter.Seq2[llm.StreamEvent, error]) ([]llm.StreamEvent, error) {
	t.Helper()
	c := contract{t: t, last: -1, blocks: map[int]*block{}}
	for ev, err := range stream {
		switch {
		case c.err != nil:
			t.Errorf("after the error %v: event %v, error %v", c.err, ev.Type, err)
		case c.finished:
			t.Errorf("after the finish: event %v, error %v", ev.Type, err)
		case err != nil:
			c.err = err
		default:
			c.event(ev)
		}
	}
	c.end()
	return c.events, c.err
}

// contract is the state of one check: what the stream has delivered so far.
type contract struct {
	t        testing.TB
	events   []llm.StreamEvent
	err      error
	finished bool
	last     int // the highest index of a block
	order    []*block
	blocks   map[int]*block // by index
}

// block is a part of the response that was streamed.
type block struct {
	start llm.StreamEvent
	text  strings.Builder
	open  bool
}

func (c *contract) event(ev llm.StreamEvent) {
	c.t.Helper()
	if len(c.events) == 0 && ev.Type != llm.EventStart {
		c.t.Errorf("the first event is %v", ev.Type)
	}
	c.events = append(c.events, ev)
	switch ev.Type {
	case llm.EventTextStart, llm.EventThinkingStart, llm.EventCallStart:
		if ev.Block <= c.last {
			c.t.Errorf("block %d starts after block %d", ev.Block, c.last)
		}
		b := &block{start: ev, open: true}
		c.last, c.blocks[ev.Block], c.order = ev.Block, b, append(c.order, b)
		if ev.Type == llm.EventCallStart && (ev.ID == "" || ev.Name == "") {
			c.t.Errorf("a call without id or name: %+v", ev)
		}
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventCallDelta:
		if b := c.openBlock(ev, ev.Type-1); b != nil {
			b.text.WriteString(ev.Delta)
		}
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventCallEnd:
		if b := c.openBlock(ev, ev.Type-2); b != nil {
			b.open = false
		}
	case llm.EventFinish:
		c.finished = true
		c.answer(ev.Response)
	}
}

// openBlock returns the open block of an event. An event of type start must have started it.
func (c *contract) openBlock(ev llm.StreamEvent, start llm.EventType) *block {
	c.t.Helper()
	b := c.blocks[ev.Block]
	if b == nil || !b.open || b.start.Type != start {
		c.t.Errorf("%v in block %d, which is not open for it", ev.Type, ev.Block)
		return nil
	}
	return b
}

// answer compares the response with the blocks that were streamed.
func (c *contract) answer(r *llm.Response) {
	c.t.Helper()
	if r == nil {
		c.t.Error("the EventFinish has no Response")
		return
	}
	if r.Message.Role != llm.RoleAssistant || r.Message.Provider != r.Provider || r.Provider == "" ||
		r.Finish.Reason == "" {
		c.t.Errorf("an answer without role, provider or finish reason: %+v", r)
	}
	rest := c.order
	for i, part := range r.Message.Parts {
		var start llm.EventType
		var text string
		switch part := part.(type) {
		case llm.Text:
			start, text = llm.EventTextStart, part.Text
		case llm.Thinking:
			start, text = llm.EventThinkingStart, part.Text
		case llm.ToolCall:
			start, text = llm.EventCallStart, part.Args
			if len(rest) > 0 && (rest[0].start.ID != part.ID || rest[0].start.Name != part.Name) {
				c.t.Errorf("part %d: the call started as %s %s and ended as %s %s", i, rest[0].start.Name,
					rest[0].start.ID, part.Name, part.ID)
			}
		default:
			continue
		}
		if len(rest) == 0 || rest[0].start.Type != start {
			c.t.Errorf("part %d (%T) was not streamed", i, part)
			return
		}
		if got := rest[0].text.String(); got != text {
			c.t.Errorf("part %d: the deltas say %q, the answer %q", i, got, text)
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		c.t.Errorf("%d streamed blocks are not in the answer", len(rest))
	}
}

func (c *contract) end() {
	c.t.Helper()
	if c.err != nil {
		var e *llm.Error
		if !errors.As(c.err, &e) || e.Kind == nil {
			c.t.Errorf("the error is no llm.Error with a kind: %v", c.err)
		}
		return
	}
	if !c.finished {
		c.t.Error("the stream ended without an EventFinish and without an error")
	}
	for _, b := range c.order {
		if b.open {
			c.t.Errorf("block %d never ended", b.start.Block)
		}
	}
}
