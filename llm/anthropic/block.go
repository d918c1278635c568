package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// block is a content block that is being received.
type block struct {
	api.Block
	index     int  // of the newest wire block
	open      bool // on the wire
	signature []byte
	// raw holds the whole start of an opaque block, or the input that a call started with.
	raw json.RawMessage
	// more holds the strings from deltas of unknown types, by member.
	more  map[string][]byte
	spans []span // of a text: the wire blocks that it was joined from
}

// blockStart opens a block. An opaque block is announced with event.
func (d *decoder) blockStart(index int, raw json.RawMessage, event []byte) error {
	var w wireBlock
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("malformed content block: %w", err)
	}
	if b := d.byIndex[index]; b != nil { // some gateways begin the next block before they end this one
		if !b.isWhole() {
			return fmt.Errorf("block %d began twice", index)
		}
		if err := d.blockStop(index); err != nil {
			return err
		}
	}
	if w.Type == "text" && d.joins(&w) {
		return d.join(index, &w)
	}
	d.endText()
	b := &block{index: index, open: true}
	var first delta
	switch w.Type {
	case "text":
		b.Start = llm.EventTextStart
		b.beginSpan(w.Citations)
		d.Count(len(w.Citations))
		first = delta{index, textDelta, w.Text}
	case "thinking":
		b.Start = llm.EventThinkingStart
		b.signature = []byte(w.Signature)
		first = delta{index, thinkingDelta, w.Thinking}
	case "redacted_thinking":
		b.Start, b.Redacted = llm.EventThinkingStart, true
		b.signature = []byte(w.Data)
	case "tool_use":
		switch {
		case w.ID == "" || w.Name == "":
			return errors.New("a tool call without id or name")
		case d.calls[callKey{index, w.ID}]:
			return fmt.Errorf("the call %q twice", w.ID) // must not run twice
		}
		d.calls[callKey{index, w.ID}] = true
		b.Start, b.ID, b.Name = llm.EventCallStart, w.ID, w.Name
		b.raw = append(b.raw, w.Input...)
	default:
		b.ID = w.ID
		b.raw = append(b.raw, raw...)
	}
	d.blocks, d.byIndex[index] = append(d.blocks, b), b
	d.Begin(&b.Block)
	d.Count(len(b.signature) + len(b.raw))
	if b.Start == 0 {
		d.Pass(b.Index, event)
	}
	if w.Type == searchResult {
		d.searched(b)
	}
	if first.text != "" { // some servers send the whole text with the start
		return d.delta(first, nil)
	}
	return nil
}

// isWhole reports whether a block that the server has not ended can be taken as it was streamed. A
// call whose arguments may be cut off must not run.
func (b *block) isWhole() bool {
	return b.Start != llm.EventCallStart || b.Text.Len() > 0 && json.Valid([]byte(b.Text.String()))
}

// takes reports whether a delta of a kind belongs into the block.
func (b *block) takes(kind deltaKind) bool {
	switch b.Start {
	case llm.EventTextStart:
		return kind == textDelta
	case llm.EventThinkingStart:
		return !b.Redacted && (kind == thinkingDelta || kind == signatureDelta)
	case llm.EventCallStart:
		return kind == inputDelta
	}
	return true
}

// blockOf returns the block that a delta belongs into. Some gateways put text and thinking into
// blocks of another kind, or into none: these get a block of their own.
func (d *decoder) blockOf(x delta) (*block, error) {
	b := d.byIndex[x.index]
	var start string
	switch {
	case b != nil && b.takes(x.kind):
		return b, nil
	case x.kind == textDelta:
		start = `{"type":"text"}`
	case x.kind == thinkingDelta:
		start = `{"type":"thinking"}`
	case b != nil:
		return nil, fmt.Errorf("a delta of another kind in block %d", x.index)
	default:
		return nil, fmt.Errorf("block %d is not open", x.index)
	}
	err := d.blockStart(x.index, json.RawMessage(start), nil)
	return d.byIndex[x.index], err
}

// delta appends a piece to its block. raw is the whole event, which is passed on for opaque blocks.
func (d *decoder) delta(x delta, raw []byte) error {
	b, err := d.blockOf(x)
	if err != nil {
		return err
	}
	switch {
	case b.Start == 0:
		d.Count(len(x.text))
		if x.kind == inputDelta { // a server tool's input; blockStop merges it
			b.Text.Add(x.text)
		}
		d.Pass(b.Index, raw)
	case x.kind == signatureDelta:
		d.Count(len(x.text))
		b.signature = append(b.signature, x.text...)
	default:
		d.Add(&b.Block, x.text)
	}
	return nil
}

// otherDelta handles a delta of an unknown type. In a text block it is a citation. In an opaque
// block its strings are collected, so that a compaction block is complete when it is sent back.
func (d *decoder) otherDelta(ev *wireEvent, data []byte) error {
	b := d.byIndex[ev.Index]
	if b == nil {
		return fmt.Errorf("block %d is not open", ev.Index)
	}
	d.Count(len(ev.Delta))
	d.Pass(b.Index, data)
	if b.Start == llm.EventTextStart {
		return b.addCitation(ev.Delta)
	}
	var members map[string]json.RawMessage
	if b.Start != 0 || json.Unmarshal(ev.Delta, &members) != nil {
		return nil
	}
	for name, value := range members {
		var text *string
		if name == "type" || json.Unmarshal(value, &text) != nil || text == nil {
			continue // cannot be merged: this member stays as it started
		}
		if b.more == nil {
			b.more = map[string][]byte{}
		}
		b.more[name] = append(b.more[name], *text...)
	}
	return nil
}

// blockStop ends a block. An end without a block ends nothing.
func (d *decoder) blockStop(index int) error {
	b := d.byIndex[index]
	if b == nil {
		return nil
	}
	b.open = false
	delete(d.byIndex, index)
	switch {
	case b.Start == 0:
		err := b.merge()
		d.noteSearch(b)
		return err
	case b.Start == llm.EventTextStart:
		b.spans[len(b.spans)-1].end = b.Text.Len()
		// the end of the last text is streamed when the next block does not go on with it
		if d.joining && b == d.blocks[len(d.blocks)-1] {
			return nil
		}
	case b.Start == llm.EventCallStart && b.Text.Len() == 0: // it has no arguments, or had all of them at the start
		args := string(b.raw)
		if args == "" || args == "null" {
			args = "{}"
		}
		b.Text.Add(args)
		d.Emit(llm.StreamEvent{Type: llm.EventCallDelta, Block: b.Index, Delta: args})
	}
	d.Close(&b.Block)
	return nil
}

// merge adds the content of deltas to an opaque block: a server tool's input, and strings that it
// appends to the strings of the start.
func (b *block) merge() error {
	if b.Text.Len() == 0 && len(b.more) == 0 {
		return nil // stays verbatim
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b.raw, &members); err != nil {
		return err
	}
	if input := []byte(b.Text.String()); json.Valid(input) {
		members["input"] = input
	}
	for name, text := range b.more {
		var start string
		if have, ok := members[name]; ok && json.Unmarshal(have, &start) != nil {
			continue
		}
		members[name] = api.AppendString(nil, start+string(text))
	}
	raw, err := json.Marshal(members)
	b.raw = raw
	return err
}
