package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// decoder implements [api.Decoder].
type decoder struct {
	api.Size
	out    []llm.StreamEvent // of the last step; reused by the next one
	resp   llm.Response
	usage  wireUsage
	blocks []*block // in the order of their indices
	begun  bool
	// joining says that texts which follow each other are one: answers with citations come in pieces
	joining bool
	// searches holds the queries of searches without a result by the ids of their calls
	searches map[string]string
}

func newDecoder(provider, model string, limit *llm.RateLimit) *decoder {
	return &decoder{resp: llm.Response{Provider: provider, Model: model, RateLimit: limit}}
}

// Out implements [api.Decoder].
func (d *decoder) Out() []llm.StreamEvent { return d.out }

// Step implements [api.Decoder].
func (d *decoder) Step(data []byte) (api.Progress, error) {
	d.out = d.out[:0]
	var ev wireEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		return api.Moving, fmt.Errorf("malformed event: %w", err)
	}
	if ev.Type == "" {
		return api.Moving, errors.New("an event without a type")
	}
	if !d.begun && ev.Type != "message_start" && ev.Type != "ping" && ev.Type != "error" {
		return api.Moving, errors.New(ev.Type + " before message_start")
	}
	if d.stopped() && strings.HasPrefix(ev.Type, "content_block_") {
		return api.Moving, d.afterStop(&ev)
	}
	switch ev.Type {
	case "ping":
		return api.Idle, nil
	case "message_start":
		return api.Moving, d.start(ev.Message)
	case "content_block_start":
		return api.Moving, d.blockStart(ev.Index, ev.ContentBlock, data)
	case "content_block_delta":
		delta, err := parseDelta(&ev)
		if err != nil {
			return api.Moving, err
		}
		if delta.kind == otherDelta {
			return api.Moving, d.otherDelta(&ev, data)
		}
		return api.Moving, d.delta(delta, data)
	case "content_block_stop":
		return api.Moving, d.blockStop(ev.Index)
	case "message_delta":
		return api.Moving, d.messageDelta(&ev)
	case "message_stop":
		return api.Finished, d.closed()
	case "error":
		return api.Moving, api.InBandError(bytes.Clone(data))
	}
	d.pass(-1, data)
	return api.Moving, nil
}

// End implements [api.Ender]. Some gateways omit message_stop, so a reason to stop and a clean end
// also complete a response.
func (d *decoder) End() (bool, error) {
	d.out = d.out[:0]
	if !d.stopped() {
		return false, nil
	}
	return true, d.closed()
}

// Whole implements [api.Decoder]. It handles the blocks as if they had been streamed.
func (d *decoder) Whole(data []byte) error {
	var m wireMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("malformed response: %w", err)
	}
	if m.Type != "message" {
		return api.InBandError(data) // an error with status 200
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
		if err := d.Check(); err != nil { // one body can have a million blocks
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

// stopped reports whether the reason to stop has come. Later content does not belong to the
// response.
func (d *decoder) stopped() bool { return d.resp.Finish.Reason != "" }

// afterStop ends a block that is still open and ignores everything else.
func (d *decoder) afterStop(ev *wireEvent) error {
	if ev.Type != "content_block_stop" {
		return nil
	}
	if _, err := d.find(ev.Index); err != nil {
		return nil
	}
	return d.blockStop(ev.Index)
}

func (d *decoder) messageDelta(ev *wireEvent) error {
	var w wireStop
	if err := json.Unmarshal(ev.Delta, &w); err != nil {
		return fmt.Errorf("malformed message_delta: %w", err)
	}
	d.use(ev.Usage)
	if w.StopReason != "" && !d.stopped() {
		d.stop(w.StopReason)
	}
	return nil
}

func (d *decoder) stop(reason string) {
	d.endText()
	d.resp.Finish = llm.Finish{Reason: finishReason(reason), Raw: reason}
}

// use takes over the counts that are present. They are totals, not increments.
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
	if u.Lifetimes != nil {
		d.usage.Lifetimes = u.Lifetimes
	}
	if u.ServerTools != nil {
		d.usage.ServerTools = u.ServerTools
	}
}

func (d *decoder) closed() error {
	d.endText()
	for _, b := range d.blocks {
		if b.open {
			return fmt.Errorf("the response ended while block %d is open", b.index)
		}
	}
	return nil
}

// Finish implements [api.Decoder].
func (d *decoder) Finish() llm.StreamEvent {
	r := d.resp
	if r.Finish.Reason == "" {
		r.Finish.Reason = llm.FinishOther
	}
	r.Usage = d.usage.total()
	r.Message = llm.Message{Role: llm.RoleAssistant, Provider: r.Provider, Model: r.Model,
		Parts: make(llm.Parts, 0, len(d.blocks))}
	for _, b := range d.blocks {
		if !d.isTorn(b) {
			r.Message.Parts = append(r.Message.Parts, b.part(r.Provider))
		}
	}
	return llm.StreamEvent{Type: llm.EventFinish, Response: &r}
}

// total returns the usage with the cached input counted as input, which the API does not do.
func (u *wireUsage) total() llm.Usage {
	count := func(n *int) int {
		if n == nil {
			return 0
		}
		return api.Tokens(*n)
	}
	t := llm.Usage{CacheRead: count(u.CacheRead), CacheWrite: count(u.CacheCreation), Output: count(u.Output)}
	t.Input = count(u.Input) + t.CacheRead + t.CacheWrite
	if u.Lifetimes != nil {
		t.CacheWriteLong = min(count(u.Lifetimes.Hour), t.CacheWrite)
	}
	if u.OutputDetails != nil {
		t.Reasoning = count(u.OutputDetails.Thinking)
	}
	if u.ServerTools != nil {
		t.Searches = count(u.ServerTools.Searches)
	}
	return t
}

func (d *decoder) emit(ev llm.StreamEvent) { d.out = append(d.out, ev) }

// pass passes an event on that this package has no type for.
func (d *decoder) pass(block int, raw []byte) {
	d.emit(llm.StreamEvent{Type: llm.EventProvider, Block: block, Raw: bytes.Clone(raw)})
}
