package openaichat

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// details collects OpenRouter's reasoning_details, which other servers imitate: reasoning in the
// form in which its vendor signed or encrypted it. Text comes in pieces; consecutive pieces of a
// block are joined, as they must be sent back.
type details struct {
	list []*detail
	// signed reports that they contain more than the text in the thinking blocks.
	signed bool
}

// wireDetail is an entry of reasoning_details.
type wireDetail struct {
	Type      string `json:"type"` // reasoning.text, reasoning.summary, reasoning.encrypted
	Text      string `json:"text"`
	Summary   string `json:"summary"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
	ID        string `json:"id"`
	Format    string `json:"format"`
	Index     *int   `json:"index"`
}

// detail is an entry that is being received. raw is set for an entry that came as a whole.
type detail struct {
	wireDetail
	text []byte
	raw  json.RawMessage
}

// add adds a chunk's entries and returns their readable text.
func (ds *details) add(d *decoder, entries []json.RawMessage) string {
	var text strings.Builder
	for _, raw := range entries {
		var w wireDetail
		if json.Unmarshal(raw, &w) != nil {
			continue // not an entry, and nothing to join it with
		}
		piece := w.Text
		if w.Type == "reasoning.summary" {
			piece = w.Summary
		}
		text.WriteString(piece)
		ds.signed = ds.signed || w.Signature != "" || w.Data != ""
		if w.Type != "reasoning.text" && w.Type != "reasoning.summary" {
			ds.list = append(ds.list, &detail{raw: append(json.RawMessage(nil), raw...)})
			d.CountBlock("", string(raw))
			continue
		}
		last := ds.last()
		if last == nil || !last.goesOn(&w) {
			last = &detail{wireDetail: w}
			ds.list = append(ds.list, last)
			d.CountBlock(w.ID, w.Format)
		}
		last.text = append(last.text, piece...)
		last.Signature = w.Signature
		d.Count(len(w.Signature))
		last.Format = cmp.Or(last.Format, w.Format)
	}
	return text.String()
}

func (ds *details) last() *detail {
	if len(ds.list) == 0 {
		return nil
	}
	return ds.list[len(ds.list)-1]
}

// goesOn reports whether an entry continues this one. A signature ends a block.
func (x *detail) goesOn(w *wireDetail) bool {
	sameIndex := (x.Index == nil) == (w.Index == nil) && (x.Index == nil || *x.Index == *w.Index)
	return x.raw == nil && x.Type == w.Type && x.ID == w.ID && sameIndex && x.Signature == ""
}

// opaqueDetails is the Data of an [llm.Opaque] with a response's details: the message's member as
// it is sent back.
type opaqueDetails struct {
	Details json.RawMessage `json:"reasoning_details"`
}

// part returns what must be sent back. It returns false if the thinking parts contain everything.
func (ds *details) part(provider string) (o llm.Opaque, ok bool) {
	if !ds.signed {
		return llm.Opaque{}, false
	}
	b := []byte(`{"reasoning_details":[`)
	for i, x := range ds.list {
		if i > 0 {
			b = append(b, ',')
		}
		b = x.append(b)
	}
	return llm.Opaque{Provider: provider, Data: string(append(b, `]}`...))}, true
}

func (x *detail) append(b []byte) []byte {
	if x.raw != nil {
		return append(b, x.raw...)
	}
	return appendDetail(b, x.wireDetail, string(x.text))
}

func appendDetail(b []byte, w wireDetail, text string) []byte {
	b = api.AppendMember(b, `{"type":`, w.Type)
	member := "text"
	if w.Type == "reasoning.summary" {
		member = "summary"
	}
	for _, m := range []struct{ name, value string }{{member, text}, {"signature", w.Signature}, {"id", w.ID},
		{"format", w.Format}} {
		if m.value != "" {
			b = append(append(append(b, `,"`...), m.name...), `":`...)
			b = api.AppendString(b, m.value)
		}
	}
	if w.Index != nil {
		b = append(b, `,"index":`...)
		b = strconv.AppendInt(b, int64(*w.Index), 10)
	}
	return append(b, '}')
}
