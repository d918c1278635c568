package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// searching holds what a response says of its searches of the web.
type searching struct {
	asked   map[string][]string // the queries of the calls, by their ids
	count   int                 // of the queries of all calls
	queries []string            // of the grounding
	sources []llm.Source
}

// wireInvocation is a part that tells of a tool that the API has run.
type wireInvocation struct {
	Call *struct {
		ID   string `json:"id"`
		Type string `json:"toolType"`
		Args struct {
			Query   string   `json:"query"`
			Queries []string `json:"queries"`
		} `json:"args"`
	} `json:"toolCall"`
	Response *struct {
		ID   string `json:"id"`
		Type string `json:"toolType"`
	} `json:"toolResponse"`
}

// isInvocation reports whether a part tells of a tool that the API has run. Models of another
// generation do not know such parts.
func isInvocation(raw []byte) bool {
	var w wireInvocation
	return json.Unmarshal(raw, &w) == nil && (w.Call != nil || w.Response != nil)
}

// isWebSearch reports whether a tool that the API has run is its search of the web.
func isWebSearch(toolType string) bool { return strings.EqualFold(toolType, "google_search_web") }

// searched keeps the queries of a call, and streams a search that has ended.
func (d *decoder) searched(b *block) {
	var w wireInvocation
	if json.Unmarshal([]byte(b.whole), &w) != nil {
		return
	}
	switch s := &d.search; {
	case w.Call != nil && isWebSearch(w.Call.Type):
		queries := w.Call.Args.Queries
		if w.Call.Args.Query != "" {
			queries = append(queries, w.Call.Args.Query)
		}
		if s.asked == nil {
			s.asked = map[string][]string{}
		}
		s.asked[w.Call.ID] = queries
		s.count += max(len(queries), 1)
	case w.Response != nil && isWebSearch(w.Response.Type):
		b.search = &llm.WebSearch{Query: strings.Join(s.asked[w.Response.ID], "; ")}
		d.emit(llm.StreamEvent{Type: llm.EventSearch, Block: len(d.blocks) - 1, Search: b.search})
	}
}

// billed returns how many searches are billed: one for each query.
func (s *searching) billed() int {
	if len(s.queries) > 0 {
		return len(s.queries)
	}
	return s.count
}

// ground takes over what a chunk says of the searches. A later chunk may repeat it. What has another
// form is ignored, because the response stands without it.
func (d *decoder) ground(raw *json.RawMessage) {
	var w struct {
		Queries []string `json:"webSearchQueries"`
		Chunks  []struct {
			Web struct{ URI, Title string }
		} `json:"groundingChunks"`
	}
	if raw == nil || json.Unmarshal(*raw, &w) != nil {
		return
	}
	d.Count(len(*raw))
	for _, q := range w.Queries {
		if q != "" && !slices.Contains(d.search.queries, q) {
			d.search.queries = append(d.search.queries, q)
		}
	}
	for _, c := range w.Chunks {
		d.search.sources = llm.AddSource(d.search.sources, llm.Source{URL: c.Web.URI, Title: c.Web.Title})
	}
}

// cite adds the sources to the last text, and a search that no part has told of.
func (d *decoder) cite() {
	for _, b := range slices.Backward(d.blocks) {
		if b.kind == textBlock {
			b.sources = d.search.sources
			break
		}
	}
	if len(d.search.queries) == 0 || d.search.count > 0 {
		return
	}
	b := &block{kind: opaqueBlock, search: &llm.WebSearch{Query: strings.Join(d.search.queries, "; ")}}
	d.begin(b)
	d.emit(llm.StreamEvent{Type: llm.EventSearch, Block: len(d.blocks) - 1, Search: b.search})
}
