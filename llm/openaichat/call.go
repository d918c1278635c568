package openaichat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// call is a tool call that is being received. Pieces of several calls may alternate, so all of them
// stay open until the response ends.
type call struct {
	api.Block
	at     int    // its index on the wire, -1 without one
	wireID string // the server's id; the block gets its own when the call starts
	args   []byte
	shape  jsonShape // of args
	chunk  int       // the event of its last piece
}

// calls holds a response's calls.
type calls struct {
	list    []*call
	pending []*call // not started, because their names may be incomplete
	byIndex map[int]*call
	byID    map[string]*call
	ids     map[string]bool // the ids in use
	free    map[string]bool // the names of free-form tools
	newID   func() string
}

// call adds a piece of a call.
func (d *decoder) call(w *wireCall) error {
	args, err := w.Function.arguments()
	if err != nil {
		return fmt.Errorf("malformed arguments: %w", err)
	}
	c := d.calls.find(w)
	switch {
	case c == nil || c.precedes(w, args, d.chunk):
		if c != nil && c.repeatedBy(w, args) && c.chunk != d.chunk {
			return nil
		}
		c = d.calls.add(w)
		d.CountBlock(w.ID, "")
	case w.ID != "" && c.wireID == "":
		c.wireID = w.ID
		d.calls.byID[w.ID] = c
	}
	had := len(c.Name) + len(c.Signature)
	c.chunk = d.chunk
	if w.Index != nil && c.at < 0 {
		c.at = *w.Index
		d.calls.byIndex[c.at] = c
	}
	if !api.IsNull(w.Extra) {
		c.Signature = string(w.Extra)
	}
	if c.Start == 0 {
		c.rename(w.Function.Name)
	}
	d.Count(len(args) + len(c.Name) + len(c.Signature) - had)
	c.args = append(c.args, args...)
	c.shape.read(args)
	if len(c.args) > 0 && c.Name != "" && c.Start == 0 {
		return d.startCalls(c)
	}
	if c.Start != 0 && !c.Free {
		d.emitArgs(c, args)
	}
	return nil
}

// find returns the call that a piece may belong to: the one with its id, with its index, or the
// last one.
func (cs *calls) find(w *wireCall) *call {
	if c := cs.byID[w.ID]; w.ID != "" && c != nil && (w.Index == nil || c.at < 0 || c.at == *w.Index) {
		return c
	}
	if w.Index != nil {
		if c := cs.byIndex[*w.Index]; c != nil {
			return c
		}
	} else if w.ID != "" {
		return nil
	}
	if n := len(cs.list); n > 0 && (w.Index == nil || cs.list[n-1].at < 0) {
		return cs.list[n-1]
	}
	return nil
}

// precedes reports whether a piece begins the next call although it has this call's index, or none:
// it has another id, a name in the same event, or a name and arguments when this call's are
// complete. So calls are told apart when a server numbers all of them 0 and sends no ids.
func (c *call) precedes(w *wireCall, args string, chunk int) bool {
	name := w.Function.Name
	switch {
	case w.ID != "" && c.wireID != "" && w.ID != c.wireID:
		return true
	case name == "":
		return false
	case c.chunk == chunk:
		return true
	case c.shape.complete():
		return args != ""
	}
	return w.Index == nil && w.ID == "" && len(c.args) > 0 && name != c.Name
}

// repeatedBy reports whether a piece of a later event repeats the whole call: with the same id, or
// without ids under the same number.
func (c *call) repeatedBy(w *wireCall, args string) bool {
	return (w.ID != "" || w.Index != nil) && w.ID == c.wireID && w.Function.Name == c.Name && args == string(c.args) &&
		(w.Index == nil || *w.Index == c.at)
}

func (cs *calls) add(w *wireCall) *call {
	c := &call{at: -1, wireID: w.ID}
	if w.ID != "" {
		cs.byID[w.ID] = c
	}
	cs.list, cs.pending = append(cs.list, c), append(cs.pending, c)
	return c
}

// rename adds a piece of the name. Some servers repeat the name, or repeat it with more added.
func (c *call) rename(piece string) {
	if strings.HasPrefix(piece, c.Name) {
		c.Name = piece
	} else {
		c.Name += piece
	}
}

// startCalls starts the calls up to one, or all for nil, because their names are complete when
// anything else begins.
func (d *decoder) startCalls(upTo *call) error {
	for len(d.calls.pending) > 0 {
		c := d.calls.pending[0]
		if c.Name == "" {
			return errors.New("a tool call without a name")
		}
		d.calls.pending = d.calls.pending[1:]
		d.start(c)
		if c == upTo {
			break
		}
	}
	return nil
}

func (d *decoder) start(c *call) {
	d.endText()
	c.ID = c.wireID
	for c.ID == "" || d.calls.ids[c.ID] { // results are paired by it
		c.ID = d.calls.newID()
	}
	d.calls.ids[c.ID] = true
	c.Free = d.calls.free[c.Name]
	c.Start = llm.EventCallStart
	d.Begin(&c.Block)
	if !c.Free {
		d.emitArgs(c, string(c.args))
	}
}

// emitArgs streams a piece of a call's arguments.
func (d *decoder) emitArgs(c *call, piece string) {
	if piece != "" {
		d.Emit(llm.StreamEvent{Type: llm.EventCallDelta, Block: c.Index, Delta: piece})
	}
}

// endCalls ends all calls. A call without arguments gets an empty object, unless the response was
// cut off, perhaps before they came.
func (d *decoder) endCalls() error {
	if err := d.startCalls(nil); err != nil {
		return err
	}
	for _, c := range d.calls.list {
		args := string(c.args)
		switch {
		case c.Free:
			args, c.Free = unwrap(args)
			d.emitArgs(c, args)
		case args == "" && api.FinishReason(d.stop, true) == llm.FinishToolCalls:
			args = "{}"
			d.emitArgs(c, args)
		}
		c.Text.Add(args)
		d.Close(&c.Block)
	}
	return nil
}

// freeForm returns the names of the tools that are offered as a function with one string parameter.
func freeForm(tools []llm.ToolDefinition) map[string]bool {
	free := map[string]bool{}
	for _, t := range tools {
		free[t.Name] = isFree(&t)
	}
	return free
}

func isFree(t *llm.ToolDefinition) bool { return t.Grammar != nil && len(t.Parameters) == 0 }

// freeParameter names the only parameter of a free-form tool.
const freeParameter = "input"

// unwrap returns the text of a free-form call from its arguments. Models also write the text
// itself. Incomplete JSON is not taken for text: it stays as it is, and the call is an ordinary one
// with broken arguments.
func unwrap(args string) (text string, free bool) {
	var w struct {
		Input *string `json:"input"`
	}
	switch {
	case json.Unmarshal([]byte(args), &w) == nil && w.Input != nil:
		return *w.Input, true
	case json.Unmarshal([]byte(args), &text) == nil && text != "":
		return text, true
	case strings.HasPrefix(strings.TrimSpace(args), "{"):
		return args, false
	}
	return args, true
}

// wrap returns a free-form call's text as the arguments of the function.
func wrap(text string) string {
	b := []byte(`{"` + freeParameter + `":`)
	return string(append(api.AppendString(b, text), '}'))
}

// jsonShape follows a JSON text that comes in pieces, only to see where it is complete.
type jsonShape struct {
	depth                    int
	begun, inString, escaped bool
}

func (s *jsonShape) read(text string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString, s.begun = true, true
		case c == '{' || c == '[':
			s.depth++
			s.begun = true
		case c == '}' || c == ']':
			s.depth--
		}
	}
}

func (s *jsonShape) complete() bool { return s.begun && s.depth <= 0 && !s.inString }
