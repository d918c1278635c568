package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// searchState holds what a response reports of its web searches.
type searchState struct {
	asked   map[string]string // the queries of the calls, by their ids
	count   int               // of the queries of all calls
	queries []string          // of the grounding
	sources []llm.Source
}

// maxQueries is the most queries that are counted of a response: many more than a model has.
const maxQueries = 100

// wireInvocation is a part about a tool that the API has run.
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

// invocation returns the id of a part about a tool that the API has run, and whether it is the
// response. ok is false for other parts.
func invocation(data string) (id string, isResponse, ok bool) {
	var w wireInvocation
	switch {
	case json.Unmarshal([]byte(data), &w) != nil:
	case w.Call != nil:
		return w.Call.ID, false, true
	case w.Response != nil:
		return w.Response.ID, true, true
	}
	return "", false, false
}

// wholeInvocations returns the ids of the calls that have their responses in the same message. A
// call without its response is not sent back.
func wholeInvocations(parts llm.Parts) map[string]bool {
	whole := map[string]bool{}
	for _, part := range parts {
		if o, ok := part.(llm.Opaque); ok {
			if id, isResponse, ok := invocation(o.Data); ok {
				_, called := whole[id]
				whole[id] = isResponse && called || whole[id]
			}
		}
	}
	return whole
}

// isWebSearch reports whether a tool that the API has run is its web search.
func isWebSearch(toolType string) bool { return strings.EqualFold(toolType, "google_search_web") }

// searched keeps the queries of a call, and streams a search that has ended.
func (d *decoder) searched(b *api.Block) {
	var w wireInvocation
	if json.Unmarshal([]byte(b.Data), &w) != nil {
		return
	}
	switch s := &d.search; {
	case w.Call != nil && isWebSearch(w.Call.Type):
		queries := w.Call.Args.Queries
		if w.Call.Args.Query != "" {
			queries = append(queries, w.Call.Args.Query)
		}
		s.asked[w.Call.ID] = llm.CutSearch(strings.Join(queries, "; "))
		s.count += max(len(queries), 1)
	case w.Response != nil && isWebSearch(w.Response.Type):
		b.Search = &llm.WebSearch{Query: s.asked[w.Response.ID]}
		delete(s.asked, w.Response.ID)
		d.Emit(llm.StreamEvent{Type: llm.EventSearch, Block: b.Index, Search: b.Search})
	}
}

// billed returns how many searches are billed: one for each query, but at most 100.
func (s *searchState) billed() int {
	if len(s.queries) > 0 {
		return len(s.queries)
	}
	return min(s.count, maxQueries)
}

// addGrounding adds what a chunk reports of the searches. A later chunk may repeat it. Data of
// another form is ignored, because the response is complete without it.
func (d *decoder) addGrounding(raw *json.RawMessage) {
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
		if q = llm.CutSearch(q); q != "" && len(d.search.queries) < maxQueries && !slices.Contains(d.search.queries,
			q) {
			d.search.queries = append(d.search.queries, q)
		}
	}
	for _, c := range w.Chunks {
		d.search.sources = llm.AddSource(d.search.sources, llm.Source{URL: c.Web.URI, Title: c.Web.Title})
	}
}

// addSources adds the sources to the last text, and a search that no part has reported.
func (d *decoder) addSources() {
	for _, b := range slices.Backward(d.Blocks) {
		if b.Start == llm.EventTextStart {
			b.Sources = d.search.sources
			break
		}
	}
	if len(d.search.queries) == 0 || d.search.count > 0 {
		return
	}
	b := &api.Block{Search: &llm.WebSearch{Query: llm.CutSearch(strings.Join(d.search.queries, "; "))}}
	d.begin(b)
	d.Emit(llm.StreamEvent{Type: llm.EventSearch, Block: b.Index, Search: b.Search})
}
