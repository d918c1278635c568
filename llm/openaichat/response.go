package openaichat

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// decoder is an [api.Decoder] and an [api.Ender].
type decoder struct {
	api.Size
	out   []llm.StreamEvent // of the last step; reused by the next one
	resp  llm.Response
	begun bool
	chunk int // counts the events
	scan  deltaScanner

	blocks []*block // in the order in which they began, which is that of the parts
	speech *block   // the text or thinking that is coming in, nil between blocks
	calls  calls

	details details // OpenRouter's reasoning_details
	refused bool
	stop    string // the reason to stop, in the server's words
	stopped bool
}

func newDecoder(provider, model string, limit *llm.RateLimit, tools []llm.ToolDefinition) *decoder {
	return &decoder{resp: llm.Response{Provider: provider, Model: model, RateLimit: limit},
		calls: calls{free: freeForm(tools), newID: newID}}
}

// newID makes an id for a call that came without one. It is unlike any other of the session, and of the only form that Mistral
// takes: nine letters and digits.
func newID() string { return rand.Text()[:9] }

// Out implements [api.Decoder].
func (d *decoder) Out() []llm.StreamEvent { return d.out }

// Step implements [api.Decoder].
func (d *decoder) Step(data []byte) (api.Progress, error) {
	d.out = d.out[:0]
	d.chunk++
	if d.begun {
		if x, ok := d.scan.scan(data); ok {
			if d.stopped {
				return api.Moving, nil
			}
			return api.Moving, d.delta(x)
		}
	}
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return api.Idle, nil
	case string(data) == "[DONE]":
		return api.Finished, d.close()
	}
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return api.Moving, fmt.Errorf("malformed event: %w", err)
	}
	return d.take(&w, data)
}

// Whole implements [api.Decoder].
func (d *decoder) Whole(data []byte) error {
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("malformed answer: %w", err)
	}
	if _, err := d.take(&w, data); err != nil {
		return err
	}
	return d.close()
}

// End implements [api.Ender]: some servers leave [DONE] out, so a reason to stop and a clean end are an answer too.
func (d *decoder) End() (bool, error) {
	d.out = d.out[:0]
	if !d.stopped {
		return false, nil
	}
	return true, d.close()
}

// take goes through an event, the slow way. data is all of it.
func (d *decoder) take(w *wireChunk, data []byte) (api.Progress, error) {
	if failed(w) {
		return api.Moving, api.InBandError(bytes.Clone(data))
	}
	progress := api.Idle
	for _, raw := range []json.RawMessage{groqUsage(w), w.Usage} {
		if usage, ok := readUsage(raw); ok { // totals, not increments: the last one counts
			d.resp.Usage = usage
			progress = api.Moving
		}
	}
	if cached := cachedByTimings(w.Timings); cached > 0 && d.resp.Usage.CacheRead == 0 {
		d.resp.Usage.CacheRead = min(cached, d.resp.Usage.Input)
	}
	for i := range w.Choices {
		if w.Choices[i].Index != 0 { // others than the first are asked for by nobody who uses this package
			continue
		}
		progress = api.Moving
		d.begin(w)
		if err := d.choice(&w.Choices[i]); err != nil {
			return progress, err
		}
	}
	return progress, nil
}

// failed tells an error from a piece of an answer.
func failed(w *wireChunk) bool {
	switch {
	case !noError(w.Error), w.Groq != nil && !noError(w.Groq.Error), w.Object == "error":
		return true
	case len(w.Choices) == 0:
		return isNull(w.Usage) && (!isNull(w.Message) || !isNull(w.Detail))
	}
	return !noError(w.Choices[0].Error)
}

// noError says that a member which is there for errors holds none.
func noError(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "false":
		return true
	}
	return false
}

func groqUsage(w *wireChunk) json.RawMessage {
	if w.Groq == nil {
		return nil
	}
	return w.Groq.Usage
}

// begin waits for the first choice: what comes before it (Azure's verdict on the prompt) has neither id nor model.
func (d *decoder) begin(w *wireChunk) {
	if d.begun {
		return
	}
	d.begun = true
	d.resp.ID = w.ID
	if w.Model != "" {
		d.resp.Model = w.Model
	}
	d.emit(llm.StreamEvent{Type: llm.EventStart, ID: d.resp.ID, Model: d.resp.Model})
}

// choice takes a piece of the answer. What comes after the reason to stop is not part of it.
func (d *decoder) choice(c *wireChoice) error {
	if d.stopped {
		return nil
	}
	m := c.Delta
	if m == nil && len(d.blocks)+len(d.calls.list) == 0 { // a whole answer, also as the only event of a stream
		m = c.Message
	}
	if m != nil {
		if err := d.message(m); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		return nil
	}
	if err := brokenOff(c.Finish); err != nil {
		return err
	}
	d.stop, d.stopped = c.Finish, true
	return nil
}

// message takes a piece: reasoning before text before calls.
func (d *decoder) message(m *wireMessage) error {
	if err := d.reasoning(m); err != nil {
		return err
	}
	if err := d.content(m.Content); err != nil {
		return err
	}
	if m.Refusal != "" {
		d.refused = true
		if err := d.say(textBlock, "", m.Refusal); err != nil {
			return err
		}
	}
	for i := range m.ToolCalls {
		if err := d.call(&m.ToolCalls[i]); err != nil {
			return err
		}
	}
	if f := m.FunctionCall; f != nil {
		return d.call(&wireCall{Function: *f})
	}
	return nil
}

// delta is message for a piece that was scanned.
func (d *decoder) delta(x delta) error {
	switch x.kind {
	case contentDelta:
		return d.say(textBlock, "", x.text)
	case reasoningContentDelta:
		return d.say(thinkingBlock, memberReasoningContent, x.text)
	case reasoningDelta:
		return d.say(thinkingBlock, memberReasoning, x.text)
	case argumentsDelta:
		index := x.index
		return d.piece(&wireCall{Index: &index}, x.text)
	}
	return nil // an empty one
}

// close ends the answer: what is open ends, and what cannot be an answer is an error.
func (d *decoder) close() error {
	if !d.begun || !d.stopped && len(d.blocks)+len(d.calls.list) == 0 {
		return errors.New("it is empty")
	}
	d.hush()
	return d.endCalls()
}

// Finish implements [api.Decoder].
func (d *decoder) Finish() llm.StreamEvent {
	r := d.resp
	r.Finish = llm.Finish{Reason: finishReason(d.stop, len(d.calls.list) > 0), Raw: d.stop}
	if d.refused && r.Finish.Reason == llm.FinishStop {
		r.Finish.Reason = llm.FinishContentFilter
	}
	r.Message = llm.Message{Role: llm.RoleAssistant, Provider: r.Provider, Model: r.Model, Parts: make(llm.Parts, 0, len(d.blocks)+1)}
	if o, ok := d.details.part(r.Provider); ok {
		r.Message.Parts = append(r.Message.Parts, o)
	}
	for _, b := range d.blocks {
		r.Message.Parts = append(r.Message.Parts, b.part())
	}
	return llm.StreamEvent{Type: llm.EventFinish, Response: &r}
}

func (d *decoder) emit(ev llm.StreamEvent) { d.out = append(d.out, ev) }
