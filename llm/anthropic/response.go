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
	api.Events
	usage  wireUsage
	blocks []*block // in the order of their beginnings
	// byIndex has the blocks that are open
	byIndex map[int]*block
	calls   map[callKey]bool
	// joining reports that texts which follow each other are one: answers with citations come in
	// pieces
	joining bool
	// searches holds the queries of searches without a result by the ids of their calls
	searches map[string]string
}

// callKey is what a call has that comes twice. Some gateways give all blocks one index, others all
// calls one id.
type callKey struct {
	index int
	id    string
}

func newDecoder(provider, model string, limit *llm.RateLimit) *decoder {
	return &decoder{Events: api.NewEvents(provider, model, limit), byIndex: map[int]*block{},
		calls: map[callKey]bool{}, searches: map[string]string{}}
}

// Step implements [api.Decoder].
func (d *decoder) Step(data []byte) (api.Progress, error) {
	var ev wireEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		return api.Moving, fmt.Errorf("malformed event: %w", err)
	}
	if ev.Type == "" && !api.IsNull(ev.Error) { // some gateways name it only in the event's header
		ev.Type = "error"
	}
	if ev.Type == "" {
		return api.Moving, errors.New("an event without a type")
	}
	if !d.Started && ev.Type != "message_start" && ev.Type != "ping" && ev.Type != "error" {
		return api.Moving, errors.New(ev.Type + " before message_start")
	}
	if d.Stopped() && strings.HasPrefix(ev.Type, "content_block_") {
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
	d.Pass(-1, data)
	return api.Moving, nil
}

// End implements [api.Decoder]. Some gateways omit message_stop, so a reason to stop and the end of
// the stream also complete a response.
func (d *decoder) End(bool) (bool, error) {
	if !d.Stopped() {
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
	d.Start(m.ID, m.Model) // some proxies send it twice
	d.use(m.Usage)
	return nil
}

// Stopped implements [api.Decoder]. Content after the reason to stop does not belong to the
// response.
func (d *decoder) Stopped() bool { return d.Response.Finish.Reason != "" }

// afterStop ends a block that is still open and ignores everything else.
func (d *decoder) afterStop(ev *wireEvent) error {
	if ev.Type != "content_block_stop" {
		return nil
	}
	return d.blockStop(ev.Index)
}

func (d *decoder) messageDelta(ev *wireEvent) error {
	var w struct {
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal(ev.Delta, &w); err != nil && len(ev.Delta) > 0 {
		return fmt.Errorf("malformed message_delta: %w", err)
	}
	if w.StopReason != "" && !d.Stopped() {
		d.stop(w.StopReason)
	}
	d.use(ev.Usage)
	return nil
}

func (d *decoder) stop(reason string) {
	d.endText()
	d.Response.Finish = llm.Finish{Reason: finishReason(reason), Raw: reason}
}

// use replaces the counts that are present. They are totals, not increments, so an input that was
// counted is not taken back by the zeros of gateways that count it only at the start. Parts of an
// unexpected form are skipped.
func (d *decoder) use(usage json.RawMessage) {
	next := d.usage
	_ = json.Unmarshal(usage, &next) // an error is about the form of a part, or there is no usage
	if next.input() == 0 {
		next.Input, next.CacheRead, next.CacheCreation = d.usage.Input, d.usage.CacheRead, d.usage.CacheCreation
	}
	d.usage = next
}

func (d *decoder) closed() error {
	for _, b := range d.blocks {
		if !b.open {
			continue
		}
		if !b.isWhole() {
			return fmt.Errorf("the response ended while block %d is open", b.index)
		}
		if err := d.blockStop(b.index); err != nil {
			return err
		}
	}
	d.endText()
	return nil
}

// Finish implements [api.Decoder].
func (d *decoder) Finish() llm.StreamEvent {
	if !d.Stopped() {
		d.Response.Finish.Reason = api.FinishReason("", false) // message_stop came without a reason
	}
	d.Response.Usage = d.usage.total()
	for _, b := range d.blocks {
		b.Signature, b.Dropped = string(b.signature), d.isUnanswered(b)
		switch b.Start {
		case 0:
			b.Data = string(b.raw)
		case llm.EventTextStart:
			b.cite()
		}
	}
	return d.Finished()
}

// input returns all of the input, also the part that was cached.
func (u *wireUsage) input() api.Count { return u.Input + u.CacheRead + u.CacheCreation }

// total returns the usage with the cached input counted as input, which the API does not do.
func (u *wireUsage) total() llm.Usage {
	t := llm.Usage{Input: int(u.input()), CacheRead: int(u.CacheRead), CacheWrite: int(u.CacheCreation),
		Output: int(u.Output), Reasoning: int(u.OutputDetails.Thinking), Searches: int(u.ServerTools.Searches)}
	t.CacheWriteLong = min(int(u.Lifetimes.Hour), t.CacheWrite)
	return t
}
