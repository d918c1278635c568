package anthropic

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// encode returns the body of a request, in pieces: the head, the messages, and what may differ between requests, in this order,
// so that a conversation's requests begin with the same bytes. The messages belong to the memo and are not copied. Cache marks
// stand between pieces, never inside them.
func (p *Provider) encode(req *llm.Request, o options) ([][]byte, error) {
	params, err := encodeParams(req, o)
	if err != nil {
		return nil, err
	}
	var c conversation // its state after this call; a later call may append to the memo's
	err = req.Memo.Encode(p.name, req.Messages, func(state any, from int) (any, error) {
		kept, ok := state.(*conversation)
		if !ok {
			kept, from = &conversation{provider: p.name}, 0
		}
		if err := kept.setTools(req.Tools, &p.tools); err != nil {
			return nil, err
		}
		if err := kept.add(req.Messages[from:]); err != nil {
			return nil, err
		}
		c = *kept
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return c.body(req, params), nil
}

// body returns the pieces of a request's body.
func (c *conversation) body(req *llm.Request, params []byte) [][]byte {
	w := bodyPieces{list: make([][]byte, 0, mostPieces), marks: !req.NoCache}
	w.text(`{"model":`)
	w.add(api.AppendString(nil, req.Model))
	if len(c.system) > 0 {
		w.text(`,"system":[`)
		w.marked(c.system)
		w.text(`]`)
	}
	if len(c.tools.encoded) > 0 {
		w.text(`,"tools":[`)
		w.marked(c.tools.encoded)
		w.text(`]`)
	}
	w.text(`,"messages":[`)
	w.add(c.messages[:c.previous])
	if c.previous > 0 && c.previous < c.last {
		w.mark()
	}
	w.add(c.messages[c.previous:c.last])
	if c.last > 0 {
		w.mark()
	}
	w.add(c.messages[c.last:])
	if c.role != "" {
		w.text(`]}`)
	}
	w.text(`]`)
	w.add(params)
	w.text(`}`)
	return w.list
}

// cacheMark is inserted before the closing brace of a block or a tool.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// mostPieces limits the pieces of a body.
const mostPieces = 24

// bodyPieces collects a body.
type bodyPieces struct {
	list  [][]byte
	marks bool
}

func (w *bodyPieces) add(b []byte) {
	if len(b) > 0 {
		w.list = append(w.list, b[:len(b):len(b)])
	}
}

func (w *bodyPieces) text(s string) { w.list = append(w.list, []byte(s)) }

func (w *bodyPieces) mark() {
	if w.marks {
		w.text(cacheMark)
	}
}

// marked adds objects and marks the last one.
func (w *bodyPieces) marked(objects []byte) {
	brace := len(objects) - 1
	w.add(objects[:brace])
	w.mark()
	w.add(objects[brace:])
}

// toolset is the encoded form of a list of tools, kept as long as the tools stay the same.
type toolset struct {
	of      []llm.ToolDefinition
	encoded []byte
}

// setTools encodes the tools, unless this conversation or the provider's last one already did: sessions with the same tools share
// their encoding.
func (c *conversation) setTools(tools []llm.ToolDefinition, recent *atomic.Pointer[toolset]) error {
	if api.SameTools(c.tools.of, tools) {
		return nil
	}
	if last := recent.Load(); last != nil && api.SameTools(last.of, tools) {
		c.tools = *last
		return nil
	}
	t := toolset{of: append([]llm.ToolDefinition(nil), tools...)}
	for i, def := range tools {
		if i > 0 {
			t.encoded = append(t.encoded, ',')
		}
		t.encoded = append(t.encoded, `{"name":`...)
		t.encoded = api.AppendString(t.encoded, def.Name)
		if def.Description != "" {
			t.encoded = append(t.encoded, `,"description":`...)
			t.encoded = api.AppendString(t.encoded, def.Description)
		}
		schema := def.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		if !json.Valid(schema) {
			return llm.Errorf(llm.ErrInvalidRequest, "tool %q: its parameters are not valid JSON", def.Name)
		}
		t.encoded = append(t.encoded, `,"input_schema":`...)
		t.encoded = append(append(t.encoded, schema...), '}')
	}
	t.encoded = slices.Clip(t.encoded)
	c.tools = t
	recent.Store(&t)
	return nil
}
