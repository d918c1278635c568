package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/pieces"
	"github.com/attractor-go/attractor/llm"
)

// item is an output item that is being received. Its pieces become blocks: a message's parts, a
// summary's parts.
type item struct {
	index int // output_index
	kind  itemKind
	open  bool
	id    string
	// server is the id in the server's events. A call's other id is its call_id.
	server string
	// signature is sent back with the item: a message's phase, or reasoning's encrypted content.
	signature string
	blocks    []*block
	bySlot    map[slot]*block
	raw       json.RawMessage // of an opaque item
	search    *llm.WebSearch  // that the item is
}

type itemKind uint8

const (
	messageItem itemKind = iota
	reasoningItem
	functionItem
	customItem
	opaqueItem
)

// slot identifies a piece of an item. raw marks the reasoning itself, as opposed to its summary.
type slot struct {
	index int
	raw   bool
}

// block is a piece of an item and a block of the stream.
type block struct {
	of    *item
	index int // in the stream
	// unclaimed marks the block that starts with its reasoning item, so that listeners see the
	// model think. The first piece takes it.
	unclaimed bool
	open      bool
	text      pieces.Text
	name      string // name of a call's tool; the call's id is the item's
	sources   []llm.Source
}

// kindOf returns the kind of an item's type.
func (d *decoder) kindOf(itemType string) itemKind {
	switch itemType {
	case searchCall:
		if d.search != "" {
			return functionItem
		}
	case "message":
		return messageItem
	case "reasoning":
		return reasoningItem
	case "function_call":
		return functionItem
	case "custom_tool_call":
		return customItem
	}
	return opaqueItem
}

// find returns the item of an event, or nil. Some gateways give several items one index, so an id
// that is known counts first; others change the id within an item.
func (d *decoder) find(index int, id string) *item {
	if it := d.byID[id]; it != nil {
		return it
	}
	return d.byIndex[index]
}

// itemAdded opens an item. An opaque item is announced with event.
func (d *decoder) itemAdded(index int, raw json.RawMessage, event []byte) (*item, error) {
	var w wireItem
	if err := d.unmarshalItem(raw, &w); err != nil {
		return nil, err
	}
	if it := d.find(index, w.ID); it != nil && it.open && it.server == w.ID {
		return nil, fmt.Errorf("item %d twice", index)
	}
	it := &item{index: index, kind: d.kindOf(w.Type), open: true, id: w.ID, server: w.ID, signature: w.Phase}
	d.items, d.byIndex[index] = append(d.items, it), it
	if w.ID != "" {
		d.byID[w.ID] = it
	}
	switch it.kind {
	case messageItem:
		d.CountBlock(it.id, "") // it may stay without blocks
	case reasoningItem:
		d.openBlock(it, slot{}, llm.StreamEvent{Type: llm.EventThinkingStart}).unclaimed = true
	case functionItem, customItem:
		if w.CallID == "" || w.Name == "" {
			return nil, errors.New("a tool call without id or name")
		}
		key := callKey{index, w.CallID}
		if d.calls[key] {
			return nil, fmt.Errorf("the call %q twice", w.CallID) // must not run twice
		}
		d.calls[key] = true
		it.id = w.CallID
		d.openBlock(it, slot{}, llm.StreamEvent{Type: llm.EventCallStart, ID: w.CallID, Name: w.Name}).name = w.Name
	case opaqueItem:
		b := d.openBlock(it, slot{}, llm.StreamEvent{})
		b.open = false
		it.raw = raw
		d.Count(len(raw))
		d.Pass(b.index, event)
	}
	return it, nil
}

// unmarshalItem decodes an item. Of an unknown type it decodes only the type, because its members
// may have any form.
func (d *decoder) unmarshalItem(raw json.RawMessage, w *wireItem) error {
	var head wireHead
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("malformed item: %w", err)
	}
	w.Type = head.Type
	switch {
	case d.kindOf(head.Type) == opaqueItem:
		return nil
	case head.Type == searchCall:
		return d.unmarshalSearch(raw, w)
	}
	if err := json.Unmarshal(raw, w); err != nil {
		return fmt.Errorf("malformed item: %w", err)
	}
	return nil
}

// itemDone closes an item. It streams the content that no delta had.
func (d *decoder) itemDone(index int, raw json.RawMessage, event []byte) error {
	var w wireItem
	if err := d.unmarshalItem(raw, &w); err != nil {
		return err
	}
	it := d.find(index, w.ID)
	another := it != nil && it.server != w.ID && w.ID != "" && (!it.open || it.kind != d.kindOf(w.Type)) &&
		!d.calls[callKey{index, w.CallID}]
	if it == nil || another {
		var err error
		if it, err = d.itemAdded(index, raw, event); err != nil {
			return err
		}
	}
	if !it.open {
		return nil
	}
	it.open = false
	if d.kindOf(w.Type) != it.kind {
		return fmt.Errorf("item %d became %q", index, w.Type)
	}
	switch it.kind {
	case opaqueItem:
		if !bytes.Equal(it.raw, raw) { // otherwise it has just been announced like this
			d.Count(len(raw))
			d.Pass(it.blocks[0].index, event)
		}
		it.raw = raw
		d.searched(it)
		return nil
	case functionItem:
		return d.callDone(it, w.Arguments, w.Status)
	case customItem:
		return d.callDone(it, w.Input, w.Status)
	case messageItem:
		it.signature = cmp.Or(w.Phase, it.signature)
	case reasoningItem:
		it.signature = cmp.Or(w.Encrypted, it.signature)
		d.Count(len(w.Encrypted))
		for i, part := range w.Summary {
			if err := d.partDone(it, slot{index: i}, part); err != nil {
				return err
			}
		}
	}
	for i, part := range w.Content {
		if err := d.partDone(it, slot{index: i, raw: it.kind == reasoningItem}, part); err != nil {
			return err
		}
	}
	d.closeItem(it)
	return nil
}

// callDone compares a call's arguments with those that were streamed: the call must run with what
// the model wrote.
func (d *decoder) callDone(it *item, args, status string) error {
	b := it.blocks[0]
	if !d.complete(b, args) {
		return fmt.Errorf("item %d: the arguments are not those that were streamed", it.index)
	}
	if b.open && b.text.Len() == 0 && it.kind == functionItem && status != "incomplete" { // a call without arguments
		d.complete(b, "{}")
	}
	d.closeItem(it)
	return nil
}

// partDone gives a piece its whole text and closes it. It returns an error if the response has
// become too long, because a single event can have a million pieces.
func (d *decoder) partDone(it *item, at slot, part *wirePart) error {
	if part == nil {
		return nil
	}
	text := part.Text
	switch part.Type {
	case "refusal":
		text = part.Refusal
		d.refused = true
	case "output_text", "summary_text", "reasoning_text":
	default:
		return nil // of an unknown kind; the item's other pieces stand
	}
	b := d.blockAt(it, at)
	d.complete(b, text)
	b.addSources(part.Annotations)
	d.closeBlock(b)
	return d.Check()
}

// complete streams the rest of a block's text. It returns false if the whole text differs from what
// was streamed, which cannot be taken back: the deltas stand.
func (d *decoder) complete(b *block, whole string) bool {
	rest, ok := b.text.Before(whole)
	if !ok {
		return whole == "" // many servers repeat nothing at the end
	}
	if rest != "" && b.open {
		d.emitDelta(b, strings.Clone(rest))
	}
	return true
}

// emitDelta streams a piece of an open block.
func (d *decoder) emitDelta(b *block, text string) {
	ev := llm.StreamEvent{Type: llm.EventTextDelta, Block: b.index, Delta: text}
	switch b.of.kind {
	case reasoningItem:
		ev.Type = llm.EventThinkingDelta
	case functionItem, customItem:
		ev.Type = llm.EventCallDelta
	}
	d.Count(len(text))
	b.text.Add(text)
	d.Emit(ev)
}

// openBlock starts a block. It ends the open block of the item, because pieces come one after the
// other.
func (d *decoder) openBlock(it *item, at slot, start llm.StreamEvent) *block {
	d.closeItem(it)
	d.CountBlock(it.id, start.Name)
	b := &block{of: it, index: len(d.blocks), open: true}
	if it.bySlot == nil {
		it.bySlot = map[slot]*block{}
	}
	it.bySlot[at] = b
	d.blocks = append(d.blocks, b)
	it.blocks = append(it.blocks, b)
	if start.Type != 0 {
		start.Block = b.index
		d.Emit(start)
	}
	return b
}

// blockAt returns the block of a piece of a message or of reasoning. It starts a new one if needed.
func (d *decoder) blockAt(it *item, at slot) *block {
	if len(it.blocks) == 1 && it.blocks[0].unclaimed {
		b := it.blocks[0]
		b.unclaimed, it.bySlot = false, map[slot]*block{at: b}
		return b
	}
	if b := it.bySlot[at]; b != nil {
		return b
	}
	start := llm.EventTextStart
	if it.kind == reasoningItem {
		start = llm.EventThinkingStart
	}
	return d.openBlock(it, at, llm.StreamEvent{Type: start})
}

// closeItem ends the item's open block, which can only be the last one.
func (d *decoder) closeItem(it *item) {
	if n := len(it.blocks); n > 0 {
		d.closeBlock(it.blocks[n-1])
	}
}

func (d *decoder) closeBlock(b *block) {
	if !b.open {
		return
	}
	b.open = false
	end := llm.EventTextEnd
	switch b.of.kind {
	case reasoningItem:
		end = llm.EventThinkingEnd
	case functionItem, customItem:
		end = llm.EventCallEnd
	}
	d.Emit(llm.StreamEvent{Type: end, Block: b.index})
}

// part returns the block as a part of the response.
func (b *block) part(provider string) llm.Part {
	it := b.of
	switch it.kind {
	case reasoningItem:
		t := llm.Thinking{Text: b.text.String(), ID: it.id}
		if b == it.blocks[len(it.blocks)-1] { // the item's last piece carries what belongs to the whole item
			t.Signature = it.signature
		}
		return t
	case functionItem, customItem:
		return llm.ToolCall{ID: it.id, Name: b.name, Args: b.text.String(), Free: it.kind == customItem}
	case opaqueItem:
		return llm.Opaque{Provider: provider, Data: string(it.raw), Search: it.search}
	}
	return llm.Text{Text: b.text.String(), Signature: it.signature, Sources: b.sources}
}
