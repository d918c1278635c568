package gemini

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
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
	b := &api.Block{Data: string(raw)}
	d.begin(b)
	d.Pass(b.Index, raw)
	d.searched(b)
	return nil
}

// text appends text or thinking to its block, which continues until something else comes. A
// signature ends the block, because a part with a signature must not be merged with one that has
// none. An empty text without a signature begins no block.
func (d *decoder) text(text string, thought bool, signature string) error {
	d.content = true
	start := llm.EventTextStart
	if thought {
		start = llm.EventThinkingStart
	}
	b := d.last()
	if b == nil || !b.Open || b.Start != start {
		if text == "" && signature == "" {
			return nil
		}
		d.end()
		b = &api.Block{Start: start}
		d.begin(b)
	}
	d.Add(b, text)
	if signature != "" {
		b.Signature = signature
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
	b := &api.Block{Start: llm.EventCallStart, ID: c.ID, Name: c.Name, Signature: w.Signature}
	if b.ID == "" {
		b.ID = d.callID()
	}
	d.own[b.ID] = append(d.own[b.ID], b)
	d.calls++
	d.begin(b)
	d.Add(b, args)
	d.end()
	return nil
}

// repeats reports whether a call came before: the same id with the same arguments is the same call.
func (d *decoder) repeats(c *wireCall, args string) bool {
	return c.ID != "" && slices.ContainsFunc(d.own[c.ID], func(b *api.Block) bool {
		return b.Name == c.Name && b.Text.String() == args
	})
}

// begin adds a block and counts what it already has.
func (d *decoder) begin(b *api.Block) {
	d.Begin(b)
	d.Count(len(b.Data) + len(b.Signature))
}

func (d *decoder) last() *api.Block {
	if len(d.Blocks) == 0 {
		return nil
	}
	return d.Blocks[len(d.Blocks)-1]
}

// end closes the last block if it is open.
func (d *decoder) end() {
	if b := d.last(); b != nil {
		d.Close(b)
	}
}
