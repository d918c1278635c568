package gemini

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/internal/pieces"
	"github.com/attractor-go/attractor/llm"
)

// block is a part of the response, joined from the parts of several chunks.
type block struct {
	kind      blockKind
	open      bool
	text      pieces.Text // text or thinking
	whole     string      // a call's arguments, or an opaque part
	signature string
	id, name  string
	sources   []llm.Source   // that a text cites
	search    *llm.WebSearch // that an opaque part ends
}

type blockKind uint8

const (
	textBlock blockKind = iota
	thinkingBlock
	callBlock
	opaqueBlock
)

// known handles a part of a known kind. It returns false for any other.
func (d *decoder) known(w *wirePart) (ok bool, err error) {
	d.content = true
	switch {
	case w.Call != nil:
		return true, d.call(w)
	case w.Text != nil:
		return true, d.text(*w.Text, w.Thought, w.Signature)
	}
	return false, nil
}

// unknown handles a part of an unknown kind, which is kept as it came.
func (d *decoder) unknown(w *wirePart, raw json.RawMessage) error {
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rest); err != nil {
		return fmt.Errorf("malformed part: %w", err)
	}
	delete(rest, "thought")
	delete(rest, "thoughtSignature")
	if len(rest) == 0 { // only a signature
		return d.text("", w.Thought, w.Signature)
	}
	d.end()
	b := &block{kind: opaqueBlock, whole: string(raw)}
	d.begin(b)
	d.Pass(len(d.blocks)-1, raw)
	d.searched(b)
	return nil
}

// text appends text or thinking to its block, which continues until something else comes. A
// signature ends the block, because a part with a signature must not be merged with one that has
// none. An empty text without a signature begins no block.
func (d *decoder) text(text string, thought bool, signature string) error {
	d.content = true
	start, kind := llm.EventTextStart, textBlock
	if thought {
		start, kind = llm.EventThinkingStart, thinkingBlock
	}
	b := d.last()
	if b == nil || !b.open || b.kind != kind {
		if text == "" && signature == "" {
			return nil
		}
		d.end()
		b = &block{kind: kind, open: true}
		d.begin(b)
		d.Emit(llm.StreamEvent{Type: start, Block: len(d.blocks) - 1})
	}
	if text != "" {
		d.Count(len(text))
		b.text.Add(text)
		d.Emit(llm.StreamEvent{Type: start + 1, Block: len(d.blocks) - 1, Delta: text})
	}
	if signature != "" {
		b.signature = signature
		d.Count(len(signature))
		d.end()
	}
	return nil
}

// call adds a call, which always comes as a whole.
func (d *decoder) call(w *wirePart) error {
	c := w.Call
	switch {
	case c.PartialArgs != nil || c.WillContinue: // an option of Vertex AI that the Gemini API does not have
		return &llm.Error{Kind: llm.ErrUnsupported,
			Message: "a call whose arguments come in pieces: leave streamFunctionCallArguments off"}
	case c.Name == "":
		return fmt.Errorf("a call without a name")
	}
	args := string(c.Args)
	if args == "" || args == "null" {
		args = "{}"
	}
	if d.repeats(c, args) {
		return nil
	}
	d.end()
	b := &block{kind: callBlock, whole: args, signature: w.Signature, id: c.ID, name: c.Name}
	if b.id == "" {
		b.id = d.callID()
	}
	d.own[b.id] = append(d.own[b.id], b)
	d.calls++
	d.begin(b)
	index := len(d.blocks) - 1
	d.Emit(llm.StreamEvent{Type: llm.EventCallStart, Block: index, ID: b.id, Name: b.name})
	d.Emit(llm.StreamEvent{Type: llm.EventCallDelta, Block: index, Delta: args})
	d.Emit(llm.StreamEvent{Type: llm.EventCallEnd, Block: index})
	return nil
}

// repeats reports whether a call came before: the same id with the same arguments is the same call.
func (d *decoder) repeats(c *wireCall, args string) bool {
	return c.ID != "" && slices.ContainsFunc(d.own[c.ID], func(b *block) bool {
		return b.name == c.Name &&
			b.whole == args
	})
}

// begin adds a block and streams what it already has.
func (d *decoder) begin(b *block) {
	d.blocks = append(d.blocks, b)
	d.CountBlock(b.id, b.name)
	d.Count(len(b.whole) + len(b.signature))
}

func (d *decoder) last() *block {
	if len(d.blocks) == 0 {
		return nil
	}
	return d.blocks[len(d.blocks)-1]
}

// end closes the last block if it is open.
func (d *decoder) end() {
	b := d.last()
	if b == nil || !b.open {
		return
	}
	b.open = false
	ev := llm.StreamEvent{Type: llm.EventTextEnd, Block: len(d.blocks) - 1}
	if b.kind == thinkingBlock {
		ev.Type = llm.EventThinkingEnd
	}
	d.Emit(ev)
}

func (b *block) part(provider string) llm.Part {
	switch b.kind {
	case thinkingBlock:
		return llm.Thinking{Text: b.text.String(), Signature: b.signature}
	case callBlock:
		return llm.ToolCall{ID: b.id, Name: b.name, Args: b.whole, Signature: b.signature}
	case opaqueBlock:
		return llm.Opaque{Provider: provider, Data: b.whole, Search: b.search}
	}
	return llm.Text{Text: b.text.String(), Signature: b.signature, Sources: b.sources}
}
