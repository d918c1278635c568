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
	index int // of the newest wire block, which differs from first if texts were joined
	first int
	kind  blockKind
	open  bool
	ended bool // of a text: its end was streamed

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
	if n := len(d.blocks); index < 0 || n > 0 && index <= d.blocks[n-1].index {
		return fmt.Errorf("block %d out of order", index)
	}
	d.CountBlock(w.ID, w.Name)
	if w.Type == "text" && d.joins(&w) {
		return d.join(index, &w)
	}
	d.endText()
	b := &block{index: index, first: index, open: true, id: w.ID, name: w.Name}
	d.blocks = append(d.blocks, b)
	var first delta
	switch w.Type {
	case "text":
		b.beginSpan(w.Citations)
		d.Count(len(w.Citations))
		d.Emit(llm.StreamEvent{Type: llm.EventTextStart, Block: index})
		first = delta{index, textDelta, w.Text}
	case "thinking":
		b.kind = thinkingBlock
		b.signature = []byte(w.Signature)
		d.Count(len(b.signature))
		d.Emit(llm.StreamEvent{Type: llm.EventThinkingStart, Block: index})
		first = delta{index, thinkingDelta, w.Thinking}
	case "redacted_thinking":
		b.kind = redactedBlock
		b.signature = []byte(w.Data)
		d.Count(len(b.signature))
		d.Emit(llm.StreamEvent{Type: llm.EventThinkingStart, Block: index})
	case "tool_use":
		if w.ID == "" || w.Name == "" {
			return errors.New("a tool call without id or name")
		}
		b.kind = callBlock
		b.raw = append(b.raw, w.Input...)
		d.Count(len(b.raw))
		d.Emit(llm.StreamEvent{Type: llm.EventCallStart, Block: index, ID: w.ID, Name: w.Name})
	default:
		b.kind = opaqueBlock
		b.raw = append(b.raw, raw...)
		d.Count(len(b.raw))
		d.Pass(index, event)
		if w.Type == searchResult {
			d.searched(b)
		}
	}
	if first.text != "" { // some servers send the whole text with the start
		return d.delta(first, nil)
	}
	return nil
}

func (d *decoder) find(index int) (*block, error) {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if b := d.blocks[i]; b.index == index {
			if !b.open {
				break
			}
			return b, nil
		}
	}
	return nil, fmt.Errorf("block %d is not open", index)
}

// delta appends a piece to its block. raw is the whole event, which is passed on for opaque blocks.
func (d *decoder) delta(x delta, raw []byte) error {
	b, err := d.find(x.index)
	if err != nil {
		return err
	}
	d.Count(len(x.text))
	ev := llm.StreamEvent{Block: b.first, Delta: x.text}
	switch {
	case b.kind == textBlock && x.kind == textDelta:
		ev.Type = llm.EventTextDelta
	case b.kind == thinkingBlock && x.kind == thinkingDelta:
		ev.Type = llm.EventThinkingDelta
	case b.kind == callBlock && x.kind == inputDelta:
		ev.Type = llm.EventCallDelta
	case b.kind == thinkingBlock && x.kind == signatureDelta:
		b.signature = append(b.signature, x.text...)
		return nil
	case b.kind == opaqueBlock:
		if x.kind == inputDelta { // a server tool's input; blockStop merges it
			b.text.Add(x.text)
		}
		d.Pass(x.index, raw)
		return nil
	default:
		return fmt.Errorf("a delta of another kind in block %d", x.index)
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
	b, err := d.find(ev.Index)
	if err != nil {
		return err
	}
	d.Count(len(ev.Delta))
	d.Pass(b.first, data)
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

func (d *decoder) blockStop(index int) error {
	b, err := d.find(index)
	if err != nil {
		return err
	}
	b.open = false
	switch b.kind {
	case textBlock:
		b.spans[len(b.spans)-1].end = b.text.Len()
		if !d.joining { // else its end is streamed when the next block does not go on with it
			d.endText()
		}
	case thinkingBlock, redactedBlock:
		d.Emit(llm.StreamEvent{Type: llm.EventThinkingEnd, Block: index})
	case callBlock:
		if b.text.Len() == 0 { // the call has no arguments, or had all of them at the start
			args := string(b.raw)
			if args == "" || args == "null" {
				args = "{}"
			}
			b.text.Add(args)
			d.Emit(llm.StreamEvent{Type: llm.EventCallDelta, Block: index, Delta: args})
		}
		d.Emit(llm.StreamEvent{Type: llm.EventCallEnd, Block: index})
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
