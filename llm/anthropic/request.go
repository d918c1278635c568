package anthropic

import (
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// encode returns the body of a request, in pieces: the head, the messages, and what may differ
// between requests, in this order, so that a conversation's requests begin with the same bytes. The
// messages belong to the memo and are not copied. Cache marks stand between pieces, never inside
// them.
func (p *Provider) encode(req *llm.Request) ([][]byte, error) {
	o, err := parseOptions(p.body, req.Options[p.Name()])
	if err != nil {
		return nil, err
	}
	req = api.DropHosted(req, !p.noWebSearch)
	params, err := encodeParams(req, o)
	if err != nil {
		return nil, err
	}
	tools, err := encodeTools(req)
	if err != nil {
		return nil, err
	}
	var c conversation // its state after this call; a later call may append to the memo's
	err = req.Memo.Encode(p.Name(), req.Messages, func(state any, from int) (any, error) {
		kept, ok := state.(*conversation)
		if !ok || !tools.continues(kept) {
			kept, from = newConversation(p.Name()), 0
		}
		pairs := pair(req.Messages[from:], p.Name(), kept.searches.pending, api.SearchesWeb(req))
		if !pairs.keep(kept.searches.pending) {
			kept = newConversation(p.Name())
			pairs = pair(req.Messages, p.Name(), nil, api.SearchesWeb(req))
			from = 0
		}
		kept.tools, kept.searches = tools, pairs
		if err := kept.add(req.Messages[from:]); err != nil {
			return nil, err
		}
		c = *kept
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	w := bodyPieces{}
	switch {
	case req.NoCache:
	case req.CacheLong && !p.shortCache:
		w.cacheMark = cacheMarkLong
	default:
		w.cacheMark = cacheMark
	}
	c.body(&w, req.Model, params)
	return w.list, nil
}

// body adds the pieces of a request's body.
func (c *conversation) body(w *bodyPieces, model string, params []byte) {
	w.text(`{"model":`)
	w.add(api.AppendString(nil, model))
	if len(c.system) > 0 {
		w.text(`,"system":[`)
		w.marked(c.system)
		w.text(`]`)
	}
	if t := c.tools; len(t.encoded) > 0 {
		w.text(`,"tools":[`)
		w.add(t.encoded[:t.mark])
		w.mark()
		w.add(t.encoded[t.mark:])
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
}

// The cache marks, one of which is inserted before the closing brace of a block or a tool. With the
// first, what is written to the cache is kept for five minutes after its last use.
const (
	cacheMark     = `,"cache_control":{"type":"ephemeral"}`
	cacheMarkLong = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

// bodyPieces collects a body.
type bodyPieces struct {
	list      [][]byte
	cacheMark string // empty for none
}

func (w *bodyPieces) add(b []byte) {
	if len(b) > 0 {
		w.list = append(w.list, b[:len(b):len(b)])
	}
}

func (w *bodyPieces) text(s string) { w.list = append(w.list, []byte(s)) }

func (w *bodyPieces) mark() {
	if w.cacheMark != "" {
		w.text(w.cacheMark)
	}
}

// marked adds objects and marks the last one.
func (w *bodyPieces) marked(objects []byte) {
	brace := len(objects) - 1
	w.add(objects[:brace])
	w.mark()
	w.add(objects[brace:])
}

// toolset is the encoded form of a list of tools.
type toolset struct {
	encoded  []byte
	mark     int             // the position for a cache mark: the closing brace of the last tool that is not deferred
	deferred map[string]bool // the deferred tools, by name
}

// continues reports whether a conversation that was encoded with other tools is encoded alike with
// these. The API refuses references to tools that a request does not have, also in old messages.
func (t *toolset) continues(c *conversation) bool {
	for name, sent := range c.references {
		if t.deferred[name] != sent {
			return false
		}
	}
	return true
}

// encodeTools encodes the tools of a request.
func encodeTools(req *llm.Request) (*toolset, error) {
	tools := api.Offered(req.Tools)
	if api.Loads(req) && len(tools) > 0 { // "At least one tool must have defer_loading=false"
		tools = req.Tools
	}
	t := &toolset{deferred: map[string]bool{}}
	var err error
	t.encoded, err = api.Tools(tools, func(b []byte, def *llm.ToolDefinition) ([]byte, error) {
		b, err := appendTool(b, def)
		if def.Deferred {
			t.deferred[def.Name] = true
		} else {
			t.mark = len(b) - 1
		}
		return b, err
	})
	return t, err
}

func appendTool(b []byte, def *llm.ToolDefinition) ([]byte, error) {
	if def.Hosted == llm.HostedWebSearch {
		return appendWebSearch(b), nil
	}
	schema, err := api.Parameters(def, `{"type":"object"}`)
	if err != nil {
		return nil, err
	}
	b = api.AppendTool(b, `{"name":`, def)
	b = append(append(b, `,"input_schema":`...), schema...)
	if def.Deferred {
		b = append(b, `,"defer_loading":true`...)
	}
	return append(b, '}'), nil
}
