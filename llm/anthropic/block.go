package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/internal/pieces"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// block is a content block that is being received.
type block struct {
	number int // in the stream
	index  int // of the newest wire block
	kind   blockKind
	open   bool
	ended  bool // of a text: its end was streamed

	text      pieces.Text // the deltas' text, thinking or arguments
	signature []byte
	id, name  string
	// raw holds the whole start of an opaque block, or the input that a call started with.
	raw json.RawMessage
	// more holds the strings from deltas of unknown types, by member.
	more map[string][]byte

	spans  []span         // of a text: the wire blocks that it was joined from
	search *llm.WebSearch // that the block ends
}

type blockKind uint8

const (
	textBlock blockKind = iota
	thinkingBlock
	redactedBlock
	callBlock
	opaqueBlock
)

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
	d.CountBlock(w.ID, w.Name)
	if w.Type == "text" && d.joins(&w) {
		return d.join(index, &w)
	}
	d.endText()
	b := &block{number: len(d.blocks), index: index, open: true, id: w.ID, name: w.Name}
	d.blocks, d.byIndex[index] = append(d.blocks, b), b
	var first delta
	switch w.Type {
	case "text":
		b.beginSpan(w.Citations)
		d.Count(len(w.Citations))
		d.Emit(llm.StreamEvent{Type: llm.EventTextStart, Block: b.number})
		first = delta{index, textDelta, w.Text}
	case "thinking":
		b.kind = thinkingBlock
		b.signature = []byte(w.Signature)
		d.Count(len(b.signature))
		d.Emit(llm.StreamEvent{Type: llm.EventThinkingStart, Block: b.number})
		first = delta{index, thinkingDelta, w.Thinking}
	case "redacted_thinking":
		b.kind = redactedBlock
		b.signature = []byte(w.Data)
		d.Count(len(b.signature))
		d.Emit(llm.StreamEvent{Type: llm.EventThinkingStart, Block: b.number})
	case "tool_use":
		switch {
		case w.ID == "" || w.Name == "":
			return errors.New("a tool call without id or name")
		case d.calls[callKey{index, w.ID}]:
			return fmt.Errorf("the call %q twice", w.ID) // must not run twice
		}
		d.calls[callKey{index, w.ID}] = true
		b.kind = callBlock
		b.raw = append(b.raw, w.Input...)
		d.Count(len(b.raw))
		d.Emit(llm.StreamEvent{Type: llm.EventCallStart, Block: b.number, ID: w.ID, Name: w.Name})
	default:
		b.kind = opaqueBlock
		b.raw = append(b.raw, raw...)
		d.Count(len(b.raw))
		d.Pass(b.number, event)
		if w.Type == searchResult {
			d.searched(b)
		}
	}
	if first.text != "" { // some servers send the whole text with the start
		return d.delta(first, nil)
	}
	return nil
}

// isWhole reports whether a block that the server has not ended can be taken as it was streamed. A
// call whose arguments may be cut off must not run.
func (b *block) isWhole() bool {
	return b.kind != callBlock || b.text.Len() > 0 && json.Valid([]byte(b.text.String()))
}

// takes reports whether a delta of a kind belongs into the block.
func (b *block) takes(kind deltaKind) bool {
	switch b.kind {
	case textBlock:
		return kind == textDelta
	case thinkingBlock:
		return kind == thinkingDelta || kind == signatureDelta
	case callBlock:
		return kind == inputDelta
	}
	return b.kind == opaqueBlock
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
	d.Count(len(x.text))
	ev := llm.StreamEvent{Block: b.number, Delta: x.text}
	switch {
	case b.kind == opaqueBlock:
		if x.kind == inputDelta { // a server tool's input; blockStop merges it
			b.text.Add(x.text)
		}
		d.Pass(b.number, raw)
		return nil
	case x.kind == signatureDelta:
		b.signature = append(b.signature, x.text...)
		return nil
	case x.kind == textDelta:
		ev.Type = llm.EventTextDelta
	case x.kind == thinkingDelta:
		ev.Type = llm.EventThinkingDelta
	case x.kind == inputDelta:
		ev.Type = llm.EventCallDelta
	}
	if x.text == "" {
		return nil
	}
	b.text.Add(x.text)
	d.Emit(ev)
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
	d.Pass(b.number, data)
	if b.kind == textBlock {
		return b.addCitation(ev.Delta)
	}
	var members map[string]json.RawMessage
	if b.kind != opaqueBlock || json.Unmarshal(ev.Delta, &members) != nil {
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
	switch b.kind {
	case textBlock:
		b.spans[len(b.spans)-1].end = b.text.Len()
		// the end of the last text is streamed when the next block does not go on with it
		if !d.joining || b != d.blocks[len(d.blocks)-1] {
			d.end(b)
		}
	case thinkingBlock, redactedBlock:
		d.Emit(llm.StreamEvent{Type: llm.EventThinkingEnd, Block: b.number})
	case callBlock:
		if b.text.Len() == 0 { // the call has no arguments, or had all of them at the start
			args := string(b.raw)
			if args == "" || args == "null" {
				args = "{}"
			}
			b.text.Add(args)
			d.Emit(llm.StreamEvent{Type: llm.EventCallDelta, Block: b.number, Delta: args})
		}
		d.Emit(llm.StreamEvent{Type: llm.EventCallEnd, Block: b.number})
	case opaqueBlock:
		err := b.merge()
		d.noteSearch(b)
		return err
	}
	return nil
}

// merge adds the content of deltas to an opaque block: a server tool's input, and strings that it
// appends to the strings of the start.
func (b *block) merge() error {
	if b.text.Len() == 0 && len(b.more) == 0 {
		return nil // stays verbatim
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b.raw, &members); err != nil {
		return err
	}
	if input := []byte(b.text.String()); json.Valid(input) {
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

func (b *block) part(provider string) llm.Part {
	switch b.kind {
	case thinkingBlock:
		return llm.Thinking{Text: b.text.String(), Signature: string(b.signature)}
	case redactedBlock:
		return llm.Thinking{Signature: string(b.signature), Redacted: true}
	case callBlock:
		return llm.ToolCall{ID: b.id, Name: b.name, Args: b.text.String()}
	case opaqueBlock:
		return llm.Opaque{Provider: provider, Data: string(b.raw), Search: b.search}
	}
	return b.textPart()
}
