package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// decoder implements [api.Decoder]. A response ends with its body, because the chunk with the
// finish reason need not be the last.
type decoder struct {
	api.Events
	sent    []llm.Message // of the request
	usage   wireUsage
	content bool // there was a part, even an empty one
	calls   int
	own     map[string][]*api.Block // its calls by their ids
	search  searchState
	message string // the API's explanation of the finish reason
}

func newDecoder(provider string, req *llm.Request, limit *llm.RateLimit) *decoder {
	return &decoder{Events: api.NewEvents(provider, req.Model, limit), sent: req.Messages,
		own: map[string][]*api.Block{}, search: searchState{asked: map[string]string{}}}
}

// Step implements [api.Decoder]. Every chunk is progress: the API has no pings.
func (d *decoder) Step(data []byte) (api.Progress, error) {
	return api.Moving, d.chunk(data)
}

// Whole implements [api.Decoder]. A body is one chunk or an array of chunks, which is how the API
// streams without alt=sse.
func (d *decoder) Whole(body []byte) error {
	chunks := []json.RawMessage{body}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(body, &chunks); err != nil {
			return fmt.Errorf("malformed response: %w", err)
		}
	}
	for _, chunk := range chunks {
		if err := d.chunk(chunk); err != nil {
			return err
		}
		if err := d.Check(); err != nil {
			return err
		}
	}
	return d.close()
}

// End implements [api.Decoder].
func (d *decoder) End(bool) (bool, error) {
	return true, d.close()
}

func (d *decoder) chunk(data []byte) error {
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("malformed chunk: %w", err)
	}
	if w.Error != nil {
		return api.InBandError(bytes.Clone(data))
	}
	if f := w.PromptFeedback; f != nil && f.BlockReason != "" {
		message := "the prompt was blocked: " + f.BlockReason
		if f.BlockReasonMessage != "" {
			message += ": " + f.BlockReasonMessage
		}
		return &llm.Error{Kind: llm.ErrContentFilter, Code: f.BlockReason, Message: message}
	}
	d.Start(w.ResponseID, w.ModelVersion)
	d.usage.use(w.Usage)
	for i := range w.Candidates {
		if w.Candidates[i].Index == 0 { // more than one must be requested, and could not be represented
			if err := d.candidate(&w, i, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stopped implements [api.Decoder]. Parts after the finish reason do not belong to the response.
func (d *decoder) Stopped() bool { return d.Response.Finish.Raw != "" }

// candidate handles a candidate of a chunk. data is the whole chunk.
func (d *decoder) candidate(w *wireChunk, at int, data []byte) error {
	c := &w.Candidates[at]
	if d.Stopped() {
		d.addGrounding(c.Grounding)
		if c.more() {
			d.Pass(-1, data)
		}
		return nil
	}
	var raw wireParts
	for i := range c.Content.Parts {
		p := &c.Content.Parts[i]
		ok, err := d.known(p)
		if !ok && raw.Candidates == nil {
			err = json.Unmarshal(data, &raw)
		}
		if !ok && err == nil {
			err = d.unknown(p, raw.Candidates[at].Content.Parts[i])
		}
		if err != nil {
			return err
		}
		if err := d.Check(); err != nil { // one chunk can have a million parts
			return err
		}
	}
	d.addGrounding(c.Grounding)
	if c.FinishReason != "" {
		d.Response.Finish.Raw, d.message = c.FinishReason, c.FinishMessage
	}
	if c.more() {
		d.Pass(-1, data)
	}
	return nil
}

// close ends the response, or returns an error if it is incomplete.
func (d *decoder) close() error {
	reason := d.Response.Finish.Raw
	if reason == "" {
		return &llm.Error{Kind: llm.ErrStream, Message: "the response ended before its last chunk"}
	}
	if kind := failedReason(reason); kind != nil {
		message := "the model failed: " + reason
		if d.message != "" {
			message += ": " + d.message
		}
		return &llm.Error{Kind: kind, Code: reason, Message: message}
	}
	if !d.content && reason == "STOP" { // a known fault of the service; a second attempt usually succeeds
		return &llm.Error{Kind: llm.ErrStream, Code: reason, Message: "the response is empty"}
	}
	d.end()
	d.addSources()
	d.Response.Finish.Reason = api.FinishReason(reason, d.calls > 0)
	return nil
}

// Finish implements [api.Decoder].
func (d *decoder) Finish() llm.StreamEvent {
	d.Response.Usage = d.usage.total()
	d.Response.Usage.Searches = d.search.billed()
	return d.Finished()
}

// callID returns an id for a call that came without one, derived from the response's id or, without
// that, from its place in the conversation. The same response always gets the same ids, and they
// are unique in the conversation.
func (d *decoder) callID() string {
	from := cmp.Or(d.Response.ID, strconv.Itoa(len(d.sent)))
	for n := d.calls; ; n++ {
		if id := fmt.Sprintf("call_%s_%d", from, n); !d.taken(id) {
			return id
		}
	}
}

func (d *decoder) taken(id string) bool {
	return len(d.own[id]) > 0 || slices.ContainsFunc(d.sent, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts.ToolCalls(), func(call llm.ToolCall) bool { return call.ID == id })
	})
}
