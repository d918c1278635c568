package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/llm"
)

// maxAnswer bounds the content of one answer, in bytes: far more than any model says, far less than memory.
const maxAnswer = 64 << 20

// progress is what an event means for the stream.
type progress uint8

const (
	idle     progress = iota // a ping
	moving                   // more of the answer
	finished                 // the last event; finish has the answer
)

// decoder turns wire events into the stream's events. It does no input or output.
type decoder struct {
	out    []llm.StreamEvent // of the last step; reused by the next one
	resp   llm.Response
	usage  wireUsage
	blocks []*block // in the order of their indices
	begun  bool
	size   int
}

func newDecoder(provider, model string, limit *llm.RateLimit) *decoder {
	return &decoder{resp: llm.Response{Provider: provider, Model: model, RateLimit: limit}}
}

// step decodes one event's data. Its events are in out, except for the last one of the stream, which finish makes. An error
// ends the stream: an [inBandError], or one that says what is wrong with the event.
func (d *decoder) step(data []byte) (progress, error) {
	d.out = d.out[:0]
	if delta, ok := scanDelta(data); ok {
		return moving, d.delta(delta, data)
	}
	var ev wireEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		return moving, fmt.Errorf("malformed event: %w", err)
	}
	if ev.Type == "" {
		return moving, errors.New("an event without a type")
	}
	if !d.begun && ev.Type != "message_start" && ev.Type != "ping" && ev.Type != "error" {
		return moving, errors.New(ev.Type + " before message_start")
	}
	switch ev.Type {
	case "ping":
		return idle, nil
	case "message_start":
		return moving, d.start(ev.Message)
	case "content_block_start":
		return moving, d.blockStart(ev.Index, ev.ContentBlock, data)
	case "content_block_delta":
		delta, err := parseDelta(&ev)
		if err != nil {
			return moving, err
		}
		if delta.kind == otherDelta {
			return moving, d.otherDelta(&ev, data)
		}
		return moving, d.delta(delta, data)
	case "content_block_stop":
		return moving, d.blockStop(ev.Index)
	case "message_delta":
		return moving, d.messageDelta(&ev)
	case "message_stop":
		return finished, d.closed()
	case "error":
		return moving, inBandError(bytes.Clone(data))
	}
	d.pass(-1, data)
	return moving, nil
}

// whole decodes an answer that is one JSON value, as if its blocks had been streamed.
func (d *decoder) whole(data []byte) error {
	var m wireMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("malformed answer: %w", err)
	}
	if m.Type != "message" {
		return inBandError(data) // an error that came with status 200
	}
	if err := d.start(&m); err != nil {
		return err
	}
	for i, raw := range m.Content {
		if err := d.blockStart(i, raw, raw); err != nil {
			return err
		}
		if err := d.blockStop(i); err != nil {
			return err
		}
	}
	d.stop(m.StopReason)
	return nil
}

func (d *decoder) start(m *wireMessage) error {
	if m == nil {
		return errors.New("message_start without a message")
	}
	d.use(m.Usage)
	if d.begun { // some proxies send it twice
		return nil
	}
	d.begun = true
	d.resp.ID = m.ID
	if m.Model != "" {
		d.resp.Model = m.Model
	}
	d.emit(llm.StreamEvent{Type: llm.EventStart, ID: m.ID, Model: d.resp.Model})
	return nil
}

func (d *decoder) messageDelta(ev *wireEvent) error {
	var w wireStop
	if err := json.Unmarshal(ev.Delta, &w); err != nil {
		return fmt.Errorf("malformed message_delta: %w", err)
	}
	d.use(ev.Usage)
	if w.StopReason != "" {
		d.stop(w.StopReason)
	}
	return nil
}

func (d *decoder) stop(reason string) {
	d.resp.Finish = llm.Finish{Reason: finishReason(reason), Raw: reason}
}

// use takes over the counts that are given: they are totals, not increments.
func (d *decoder) use(u *wireUsage) {
	if u == nil {
		return
	}
	for _, c := range []struct{ to, from **int }{{&d.usage.Input, &u.Input}, {&d.usage.CacheRead, &u.CacheRead},
		{&d.usage.CacheCreation, &u.CacheCreation}, {&d.usage.Output, &u.Output}} {
		if *c.from != nil {
			*c.to = *c.from
		}
	}
	if u.OutputDetails != nil {
		d.usage.OutputDetails = u.OutputDetails
	}
}

func (d *decoder) closed() error {
	for _, b := range d.blocks {
		if b.open {
			return fmt.Errorf("message_stop while block %d is open", b.index)
		}
	}
	return nil
}

// finish is the last event.
func (d *decoder) finish() llm.StreamEvent {
	r := d.resp
	if r.Finish.Reason == "" {
		r.Finish.Reason = llm.FinishOther
	}
	r.Usage = d.usage.total()
	r.Message = llm.Message{Role: llm.RoleAssistant, Provider: r.Provider, Model: r.Model, Parts: make(llm.Parts, 0, len(d.blocks))}
	for _, b := range d.blocks {
		r.Message.Parts = append(r.Message.Parts, b.part(r.Provider))
	}
	return llm.StreamEvent{Type: llm.EventFinish, Response: &r}
}

// total counts the cached input into the input, which the API does not.
func (u *wireUsage) total() llm.Usage {
	count := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	t := llm.Usage{CacheRead: count(u.CacheRead), CacheWrite: count(u.CacheCreation), Output: count(u.Output)}
	t.Input = count(u.Input) + t.CacheRead + t.CacheWrite
	if u.OutputDetails != nil {
		t.Reasoning = count(u.OutputDetails.Thinking)
	}
	return t
}

func (d *decoder) emit(ev llm.StreamEvent) { d.out = append(d.out, ev) }

// pass hands an event on that has no name here.
func (d *decoder) pass(block int, raw []byte) {
	d.emit(llm.StreamEvent{Type: llm.EventProvider, Block: block, Raw: bytes.Clone(raw)})
}
