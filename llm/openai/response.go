package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// decoder implements [api.Decoder].
type decoder struct {
	api.Events
	items   []*item          // in the order of arrival
	byIndex map[int]*item    // the newest of each index
	byID    map[string]*item // those with an id
	calls   map[callKey]bool
	sent    api.Repeats
	refused bool   // the model refused
	billed  int    // how many web searches the vendor bills
	search  string // the tool that finds others, if the request has it in the API's own form
}

// callKey is what a call has that comes twice. Some gateways give all items one index, others all
// calls one id.
type callKey struct {
	index int
	id    string
}

func newDecoder(provider, model string, limit *llm.RateLimit) *decoder {
	return &decoder{Events: api.NewEvents(provider, model, limit), byIndex: map[int]*item{}, byID: map[string]*item{},
		calls: map[callKey]bool{}}
}

// Step implements [api.Decoder].
func (d *decoder) Step(data []byte) (api.Progress, error) {
	var head wireHead
	if err := json.Unmarshal(data, &head); err != nil {
		return api.Moving, fmt.Errorf("malformed event: %w", err)
	}
	if d.sent.Again(head.number(), data) {
		return api.Idle, nil
	}
	switch head.Type {
	case "keepalive", "ping": // keepalive is OpenAI's and undocumented
		return api.Idle, nil
	case "error", "response.failed":
		return api.Moving, api.InBandError(bytes.Clone(data))
	case "":
		if !api.IsNull(head.Error) {
			return api.Moving, api.InBandError(bytes.Clone(data))
		}
		return api.Moving, errors.New("an event without a type")
	}
	if !named(head.Type) {
		d.start(nil)
		d.Pass(-1, data)
		return api.Moving, nil
	}
	var ev wireEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		return api.Moving, fmt.Errorf("malformed %s: %w", head.Type, err)
	}
	d.start(ev.Response)
	return d.event(&ev, data)
}

// named reports whether an event has a meaning here. Other events may have any form.
func named(event string) bool {
	switch event {
	case textDelta, refusalDelta, summaryDelta, reasoningDelta, argumentsDelta, inputDelta,
		"response.created", "response.queued", "response.in_progress",
		"response.completed", "response.done", "response.incomplete",
		"response.output_item.added", "response.output_item.done",
		"response.content_part.added", "response.content_part.done",
		"response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
		"response.output_text.done", "response.refusal.done", "response.reasoning_text.done",
		"response.reasoning_summary_text.done", "response.function_call_arguments.done",
		"response.custom_tool_call_input.done":
		return true
	}
	return false
}

func (d *decoder) event(ev *wireEvent, data []byte) (api.Progress, error) {
	var err error
	switch ev.Type {
	case textDelta, refusalDelta, summaryDelta, reasoningDelta, argumentsDelta, inputDelta:
		err = d.delta(ev, data)
	case "response.output_item.added":
		if d.isSearch(ev.Item) {
			return api.Moving, nil // its call_id is another one when it is done
		}
		_, err = d.itemAdded(ev.OutputIndex, ev.Item, data)
	case "response.output_item.done":
		err = d.itemDone(ev.OutputIndex, ev.Item, data)
	case "response.content_part.added", "response.content_part.done", "response.reasoning_summary_part.added",
		"response.reasoning_summary_part.done":
		err = d.part(ev, data)
	case "response.completed", "response.done", "response.incomplete": // done is a gateway's
		status := cmp.Or(ev.Response, new(wireResponse)).Status
		if status == "failed" {
			return api.Moving, api.InBandError(bytes.Clone(data))
		}
		return api.Finished, d.end(ev.Response, ev.Type == "response.incomplete" || status == "incomplete")
	}
	// The other events repeat what is known: that the response began, and texts that the end of
	// their item repeats too.
	return api.Moving, err
}

// delta appends a piece to its block. raw is the whole event, which is passed on for opaque items.
func (d *decoder) delta(ev *wireEvent, raw []byte) error {
	kind := ev.Type
	it := d.find(ev.OutputIndex, ev.ItemID)
	if it == nil && (kind == textDelta || kind == refusalDelta) { // some gateways do not announce messages
		id, err := json.Marshal(ev.ItemID)
		if err == nil {
			it, err = d.itemAdded(ev.OutputIndex, fmt.Appendf(nil, `{"type":"message","id":%s}`, id), raw)
		}
		if err != nil {
			return err
		}
	}
	if it == nil || !it.open {
		return fmt.Errorf("item %d is not open", ev.OutputIndex)
	}
	var b *block
	switch {
	case it.kind == opaqueItem:
		d.Pass(it.blocks[0].Index, raw)
		return nil
	case it.kind == messageItem && (kind == textDelta || kind == refusalDelta),
		it.kind == reasoningItem && (kind == summaryDelta || kind == reasoningDelta):
		b = d.blockAt(it, ev.slot())
		d.refused = d.refused || kind == refusalDelta
	case it.kind == functionItem && kind == argumentsDelta, it.kind == customItem && kind == inputDelta:
		b = it.blocks[0]
	default:
		return fmt.Errorf("a delta of another kind in item %d", ev.OutputIndex)
	}
	if ev.Delta == "" {
		return nil
	}
	if !b.Open {
		return fmt.Errorf("a delta in item %d after its end", ev.OutputIndex)
	}
	d.Add(&b.Block, ev.Delta)
	return nil
}

// part opens or closes a piece of a message or of reasoning.
func (d *decoder) part(ev *wireEvent, data []byte) error {
	it := d.find(ev.OutputIndex, ev.ItemID)
	switch {
	case it == nil || !it.open || ev.Part == nil:
		return fmt.Errorf("a part of item %d, which is not open", ev.OutputIndex)
	case it.kind != messageItem && it.kind != reasoningItem:
		d.Pass(it.blocks[0].Index, data)
		return nil
	}
	var at slot
	switch ev.Part.Type {
	case "output_text", "refusal":
		at = slot{index: ev.ContentIndex}
	case "summary_text":
		at = slot{index: ev.SummaryIndex}
	case "reasoning_text":
		at = slot{index: ev.ContentIndex, raw: true}
	default:
		d.Pass(-1, data)
		return nil
	}
	switch ev.Type {
	case "response.content_part.added", "response.reasoning_summary_part.added":
		d.blockAt(it, at)
	default:
		return d.partDone(it, at, ev.Part)
	}
	return nil
}

// Whole implements [api.Decoder]. It handles the items as if they had been streamed.
func (d *decoder) Whole(body []byte) error {
	var w wireResponse
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("malformed response: %w", err)
	}
	switch {
	case !api.IsNull(w.Error), w.Object == "response" && w.Status == "failed":
		return api.InBandError(body)
	case w.Object != "response":
		return fmt.Errorf("the object is not a response but %q", w.Object)
	}
	d.start(&w)
	return d.end(&w, w.Status == "incomplete")
}

// start announces the response, once.
func (d *decoder) start(w *wireResponse) {
	if w == nil {
		w = new(wireResponse)
	}
	d.Start(w.ID, w.Model)
}

// end handles the last event, which has the whole output. Items that are still open, or were not
// streamed at all, are completed from it. Items of a response that was cut off end as they are.
func (d *decoder) end(w *wireResponse, incomplete bool) error {
	if w == nil {
		return errors.New("the last event has no response")
	}
	streamed := len(d.items) > 0
	for i, raw := range w.Output {
		if streamed && !d.isOpen(i, raw) {
			continue
		}
		if err := d.itemDone(i, raw, raw); err != nil {
			return err
		}
		if err := d.Check(); err != nil { // a single event can have a million items
			return err
		}
	}
	for _, it := range d.items {
		if !it.open {
			continue
		}
		if !incomplete && !it.isWhole() {
			return fmt.Errorf("the response ended while item %d was open", it.index)
		}
		d.closeItem(it)
	}
	d.Response.Usage = w.Usage.total()
	d.Response.Usage.Searches = d.billed
	d.Response.Finish = d.reason(w, incomplete)
	return nil
}

// isWhole reports whether an item that the server did not end can be taken as it was streamed,
// because the response as a whole is complete. Some gateways end only the response.
func (it *item) isWhole() bool {
	switch it.kind {
	case functionItem:
		return json.Valid([]byte(it.blocks[0].Text.String()))
	case customItem:
		return false // nothing shows that the end of its input has come
	}
	return true
}

// isOpen reports whether an item of the whole output has begun in the stream and not ended there.
// At its place may be an item of another kind, which it does not end.
func (d *decoder) isOpen(index int, raw json.RawMessage) bool {
	var head struct{ ID, Type string }
	err := json.Unmarshal(raw, &head)
	if err != nil {
		head.ID = "" // of another form; its place counts
	}
	it := d.find(index, head.ID)
	return it != nil && it.open && (err != nil || it.id == head.ID || it.kind == d.kindOf(head.Type))
}

func (d *decoder) reason(w *wireResponse, incomplete bool) llm.Finish {
	if incomplete {
		f := llm.Finish{Reason: llm.FinishOther, Raw: "incomplete"}
		if w.Incomplete != nil && w.Incomplete.Reason != "" {
			f.Raw = w.Incomplete.Reason
		}
		switch f.Raw {
		case "max_output_tokens":
			f.Reason = llm.FinishLength
		case "content_filter":
			f.Reason = llm.FinishContentFilter
		}
		return f
	}
	if w.Status != "" && w.Status != "completed" { // cancelled or unfinished: a caller's own parameters requested that
		return llm.Finish{Reason: llm.FinishOther, Raw: w.Status}
	}
	for _, it := range d.items {
		if it.kind == functionItem || it.kind == customItem {
			return llm.Finish{Reason: llm.FinishToolCalls, Raw: "completed"}
		}
	}
	if d.refused {
		return llm.Finish{Reason: llm.FinishContentFilter, Raw: "refusal"}
	}
	return llm.Finish{Reason: llm.FinishStop, Raw: "completed"}
}

// Finish implements [api.Decoder].
func (d *decoder) Finish() llm.StreamEvent {
	for _, it := range d.items {
		it.finish()
	}
	return d.Finished()
}
