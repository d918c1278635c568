package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// item is an output item that is being received. Its pieces become blocks: a message's parts, a
// summary's parts.
type item struct {
	index int // output_index
	kind  itemKind
	open  bool
	id    string // in the server's events; a call's other id is its call_id
	// signature is sent back with the item: a message's phase, or reasoning's encrypted content.
	signature string
	blocks    []*block
	bySlot    map[slot]*block
	raw       json.RawMessage // of an opaque item
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
	api.Block
	// unclaimed marks the block that starts with its reasoning item, so that listeners see the
	// model think. The first piece takes it.
	unclaimed bool
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
	if it := d.find(index, w.ID); it != nil && it.open && it.id == w.ID {
		return nil, fmt.Errorf("item %d twice", index)
	}
	it := &item{index: index, kind: d.kindOf(w.Type), open: true, id: w.ID, signature: w.Phase}
	d.items, d.byIndex[index] = append(d.items, it), it
	if w.ID != "" {
		d.byID[w.ID] = it
	}
	switch it.kind {
	case messageItem:
		d.CountBlock(it.id, "") // it may stay without blocks
	case reasoningItem:
		d.openBlock(it, slot{}, api.Block{Start: llm.EventThinkingStart, ID: it.id}).unclaimed = true
	case functionItem, customItem:
		if w.CallID == "" || w.Name == "" {
			return nil, errors.New("a tool call without id or name")
		}
		key := callKey{index, w.CallID}
		if d.calls[key] {
			return nil, fmt.Errorf("the call %q twice", w.CallID) // must not run twice
		}
		d.calls[key] = true
		d.openBlock(it, slot{}, api.Block{Start: llm.EventCallStart, ID: w.CallID, Name: w.Name,
			Free: it.kind == customItem})
	case opaqueItem:
		b := d.openBlock(it, slot{}, api.Block{})
		it.raw = raw
		d.Count(len(raw))
		d.Pass(b.Index, event)
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
	another := it != nil && it.id != w.ID && w.ID != "" && (!it.open || it.kind != d.kindOf(w.Type)) &&
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
			d.Pass(it.blocks[0].Index, event)
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
	if b.Open && b.Text.Len() == 0 && it.kind == functionItem && status != "incomplete" { // a call without arguments
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
	d.Close(&b.Block)
	return d.Check()
}

// complete streams the rest of a block's text. It returns false if the whole text differs from what
// was streamed, which cannot be taken back: the deltas stand.
func (d *decoder) complete(b *block, whole string) bool {
	rest, ok := b.Text.Before(whole)
	if !ok {
		return whole == "" // many servers repeat nothing at the end
	}
	if b.Open {
		d.Add(&b.Block, strings.Clone(rest))
	}
	return true
}

// openBlock starts a block. It ends the open block of the item, because pieces come one after the
// other.
func (d *decoder) openBlock(it *item, at slot, start api.Block) *block {
	d.closeItem(it)
	b := &block{Block: start}
	if it.bySlot == nil {
		it.bySlot = map[slot]*block{}
	}
	it.bySlot[at] = b
	it.blocks = append(it.blocks, b)
	d.Begin(&b.Block)
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
	if it.kind == reasoningItem {
		return d.openBlock(it, at, api.Block{Start: llm.EventThinkingStart, ID: it.id})
	}
	return d.openBlock(it, at, api.Block{Start: llm.EventTextStart})
}

// closeItem ends the item's open block, which can only be the last one.
func (d *decoder) closeItem(it *item) {
	if n := len(it.blocks); n > 0 {
		d.Close(&it.blocks[n-1].Block)
	}
}

// finish sets what the item has for its parts of the response.
func (it *item) finish() {
	for i, b := range it.blocks {
		switch {
		case it.kind == messageItem, it.kind == reasoningItem && i == len(it.blocks)-1: // the last piece has it for all
			b.Signature = it.signature
		case it.kind == opaqueItem:
			b.Data, b.Dropped = string(it.raw), it.isCutOff()
		}
	}
}
