package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// The wire types of a web search. The tool's is the version that searches only: later ones
// filter what they find by programs, which run in a container of the vendor.
const (
	webSearchTool = "web_search_20250305"
	serverCall    = "server_tool_use"
	searchResult  = "web_search_tool_result"
	searchName    = "web_search"
)

func appendWebSearch(b []byte) []byte {
	b = append(b, `{"type":"`+webSearchTool+`","name":"`+searchName+`","max_uses":`...)
	return append(strconv.AppendInt(b, llm.MaxSearches, 10), '}')
}

// noteSearch keeps the query of a search that has been written.
func (d *decoder) noteSearch(b *block) {
	var call struct {
		Type, ID, Name string
		Input          struct{ Query string }
	}
	if json.Unmarshal(b.raw, &call) != nil || call.Type != serverCall || call.Name != searchName {
		return
	}
	d.searches[call.ID] = call.Input.Query
}

// searched streams the result of a search. If the search began in the response before, which was a
// pause, its query is not known.
func (d *decoder) searched(b *block) {
	var result struct {
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"` // hits, or an error
	}
	if json.Unmarshal(b.raw, &result) != nil {
		return
	}
	b.Search = &llm.WebSearch{Query: llm.CutSearch(d.searches[result.ToolUseID])}
	delete(d.searches, result.ToolUseID)
	var hits []struct{ URL, Title string }
	var failure struct {
		Code string `json:"error_code"`
	}
	if json.Unmarshal(result.Content, &hits) == nil {
		for _, hit := range hits {
			b.Search.Hits = llm.AddSource(b.Search.Hits, llm.Source{URL: hit.URL, Title: hit.Title})
		}
	} else if json.Unmarshal(result.Content, &failure) == nil {
		b.Search.Error = llm.CutSearch(cmp.Or(failure.Code, "unavailable"))
	}
	d.Emit(llm.StreamEvent{Type: llm.EventSearch, Block: b.Index, Search: b.Search})
}

// isUnanswered reports whether a block is a search without a result in a response that the API does
// not go on with.
func (d *decoder) isUnanswered(b *block) bool {
	switch d.Response.Finish.Reason {
	case llm.FinishPause, llm.FinishToolCalls:
		return false
	}
	_, asked := d.searches[b.ID]
	return asked && b.Start == 0
}

// A span is one of the wire blocks from which a text was joined: an answer with citations has a
// block for each sentence that cites something.
type span struct {
	end       int // in the text
	citations []json.RawMessage
}

// joins reports whether a text block goes on with the text before it.
func (d *decoder) joins(w *wireBlock) bool {
	if !d.joining || len(d.blocks) == 0 {
		return false
	}
	last := d.blocks[len(d.blocks)-1]
	if last.Start != llm.EventTextStart || last.open || !last.Open {
		return false
	}
	return !api.IsNull(w.Citations) || last.hasCitations()
}

// join goes on with the last text.
func (d *decoder) join(index int, w *wireBlock) error {
	b := d.blocks[len(d.blocks)-1]
	b.index, b.open, d.byIndex[index] = index, true, b
	b.beginSpan(w.Citations)
	d.CountBlock(w.ID, w.Name)
	d.Count(len(w.Citations))
	if w.Text == "" {
		return nil
	}
	return d.delta(delta{index, textDelta, w.Text}, nil)
}

// endText streams the end of the last text, unless it is open or has ended.
func (d *decoder) endText() {
	if len(d.blocks) == 0 {
		return
	}
	if b := d.blocks[len(d.blocks)-1]; b.Start == llm.EventTextStart && !b.open {
		d.Close(&b.Block)
	}
}

// beginSpan begins a span, with the citations that the wire block began with.
func (b *block) beginSpan(citations json.RawMessage) {
	var list []json.RawMessage
	_ = json.Unmarshal(citations, &list) // anything but a list has none
	b.spans = append(b.spans, span{citations: list})
}

// addCitation adds the citation of a delta to the last span. Deltas of other types are ignored.
func (b *block) addCitation(raw json.RawMessage) error {
	var w struct{ Citation json.RawMessage }
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("malformed citation: %w", err)
	}
	if last := &b.spans[len(b.spans)-1]; !api.IsNull(w.Citation) {
		last.citations = append(last.citations, w.Citation)
	}
	return nil
}

// hasCitations reports whether the text has citations.
func (b *block) hasCitations() bool {
	for _, s := range b.spans {
		if len(s.citations) > 0 {
			return true
		}
	}
	return false
}

// A signedSpan is an element of the signature of a text that cites: how many of its bytes are a
// wire block, and that block's citations, as they came.
type signedSpan struct {
	Bytes     int               `json:"n"`
	Citations []json.RawMessage `json:"citations,omitempty"`
}

// cite sets the sources of a text, and the signature, which holds what has to be sent back.
func (b *block) cite() {
	if !b.hasCitations() {
		return
	}
	sig := []byte("[")
	from := 0
	for i, s := range b.spans {
		if i > 0 {
			sig = append(sig, ',')
		}
		if i == len(b.spans)-1 {
			s.end = b.Text.Len() // it may be open
		}
		sig = append(sig, `{"n":`+strconv.Itoa(s.end-from)...)
		from = s.end
		if len(s.citations) > 0 {
			sig = append(appendList(append(sig, `,"citations":`...), s.citations), '}')
		} else {
			sig = append(sig, '}')
		}
		for _, raw := range s.citations {
			var at struct{ URL, Title string }
			if json.Unmarshal(raw, &at) == nil {
				b.Sources = llm.AddSource(b.Sources, llm.Source{URL: at.URL, Title: at.Title})
			}
		}
	}
	b.Signature = string(append(sig, ']'))
}

// appendList writes a list of values as they are.
func appendList(b []byte, values []json.RawMessage) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// addCited writes a text that cites as the blocks that it came in. It returns false if the
// signature does not belong to the text, for instance because it came in another format that the
// provider speaks, too.
func (c *conversation) addCited(t llm.Text) bool {
	var spans []signedSpan
	if json.Unmarshal([]byte(t.Signature), &spans) != nil {
		return false
	}
	all := 0
	for _, s := range spans {
		if s.Bytes < 0 || s.Bytes > len(t.Text)-all {
			return false
		}
		all += s.Bytes
	}
	if all != len(t.Text) {
		return false
	}
	rest := t.Text
	for _, s := range spans {
		text := rest[:s.Bytes]
		rest = rest[s.Bytes:]
		if blank(text) { // which the API refuses
			continue
		}
		c.block(wireAssistant)
		c.messages = appendText(c.messages, text)
		if len(s.Citations) > 0 {
			c.messages = append(c.messages[:len(c.messages)-1], `,"citations":`...)
			c.messages = append(appendList(c.messages, s.Citations), '}')
		}
		c.markable()
	}
	return true
}
