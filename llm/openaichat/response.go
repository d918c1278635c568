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

// decoder implements [api.Decoder].
type decoder struct {
	api.Events
	chunk int // counts the events

	current *api.Block // the current text or thinking, nil between blocks
	calls   calls

	think thinkState
	held  string // the end of the content so far, if it may belong to a tag

	details details // OpenRouter's reasoning_details
	refused bool
	stop    string // the finish reason, in the server's words
	stopped bool
}

func newDecoder(provider, model string, limit *llm.RateLimit, tools []llm.ToolDefinition) *decoder {
	return &decoder{Events: api.NewEvents(provider, model, limit),
		calls: calls{byIndex: map[int]*call{}, byID: map[string]*call{}, ids: map[string]bool{},
			free: freeForm(tools), newID: newID}}
}

// newID returns an id for a call that came without one. It is unique in the session and has the
// only form that Mistral accepts: nine letters and digits.
func newID() string { return rand.Text()[:9] }

// Step implements [api.Decoder].
func (d *decoder) Step(data []byte) (api.Progress, error) {
	d.chunk++
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
		return fmt.Errorf("malformed response: %w", err)
	}
	if _, err := d.take(&w, data); err != nil {
		return err
	}
	return d.close()
}

// Stopped implements [api.Decoder].
func (d *decoder) Stopped() bool { return d.stopped }

// End implements [api.Decoder]. Some servers omit [DONE], others the finish reason.
func (d *decoder) End(done bool) (bool, error) {
	if !d.stopped && !done {
		return false, nil
	}
	return true, d.close()
}

// take handles an event. data is the whole of it.
func (d *decoder) take(w *wireChunk, data []byte) (api.Progress, error) {
	if failed(w) {
		return api.Moving, api.InBandError(bytes.Clone(data))
	}
	progress := api.Idle
	for _, raw := range []json.RawMessage{w.Groq.Usage, w.Usage} {
		if usage, ok := readUsage(raw); ok { // totals, not increments: the last one counts
			d.Response.Usage = usage
			progress = api.Moving
		}
	}
	if cached := cachedByTimings(w.Timings); cached > 0 && d.Response.Usage.CacheRead == 0 {
		d.Response.Usage.CacheRead = min(cached, d.Response.Usage.Input)
	}
	for i := range w.Choices {
		if w.Choices[i].Index != 0 { // users of this package request only the first one
			continue
		}
		progress = api.Moving
		// A chunk without choices, such as Azure's filter results for the prompt, has neither id
		// nor model.
		d.Start(w.ID, w.Model)
		if err := d.choice(&w.Choices[i]); err != nil {
			return progress, err
		}
	}
	return progress, nil
}

// failed reports whether a chunk is an error.
func failed(w *wireChunk) bool {
	switch {
	case !api.NoError(w.Error), !api.NoError(w.Groq.Error), w.Object == "error":
		return true
	case len(w.Choices) == 0:
		return api.IsNull(w.Usage) && (!api.IsNull(w.Message) || !api.IsNull(w.Detail))
	}
	return !api.NoError(w.Choices[0].Error)
}

// choice decodes a piece of the response. Pieces after the finish reason are ignored.
func (d *decoder) choice(c *wireChoice) error {
	if d.stopped {
		return nil
	}
	m := c.Delta
	if m == nil && len(d.Blocks)+len(d.calls.list) == 0 { // a whole response, even as the only event of a stream
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

// message decodes a piece: first reasoning, then text, then calls.
func (d *decoder) message(m *wireMessage) error {
	if err := d.reasoning(m); err != nil {
		return err
	}
	if err := d.content(m.Content); err != nil {
		return err
	}
	if len(m.ToolCalls) > 0 || m.FunctionCall != nil || m.Refusal != "" {
		if err := d.release(); err != nil {
			return err
		}
	}
	if m.Refusal != "" {
		d.refused = true
		if err := d.emitText(llm.EventTextStart, "", m.Refusal); err != nil {
			return err
		}
	}
	for i := range m.ToolCalls {
		if err := d.call(&m.ToolCalls[i]); err != nil {
			return err
		}
		if err := d.Check(); err != nil { // one event can have a million calls
			return err
		}
	}
	if f := m.FunctionCall; f != nil {
		return d.call(&wireCall{Function: *f})
	}
	return nil
}

// close ends the response and everything that is open in it. It returns an error for an incomplete
// one.
func (d *decoder) close() error {
	if !d.Started || !d.stopped && len(d.Blocks)+len(d.calls.list) == 0 {
		return errors.New("it is empty")
	}
	if err := d.release(); err != nil {
		return err
	}
	d.endText()
	return d.endCalls()
}

// Finish implements [api.Decoder].
func (d *decoder) Finish() llm.StreamEvent {
	d.Response.Finish = llm.Finish{Reason: api.FinishReason(d.stop, len(d.calls.list) > 0), Raw: d.stop}
	if d.refused && d.Response.Finish.Reason == llm.FinishStop {
		d.Response.Finish.Reason = llm.FinishContentFilter
	}
	if o, ok := d.details.part(d.Response.Provider); ok {
		return d.Finished(o)
	}
	return d.Finished()
}
