package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// webSearchCall is the item type of a web search, and foundPages asks for what it has found.
const (
	webSearchCall = "web_search_call"
	foundPages    = "web_search_call.action.sources"
)

// searched streams a web search that has ended, and counts it if the vendor bills it: "Search
// actions incur a tool call cost", those that open a page or look into it do not.
func (d *decoder) searched(it *item) {
	var call struct {
		Type, Status string
		Action       struct {
			Type, Query, URL, Pattern string
			Queries                   []string
			Sources                   []struct{ URL, Title string }
		}
	}
	if json.Unmarshal(it.raw, &call) != nil || call.Type != webSearchCall {
		return
	}
	switch call.Status {
	case "in_progress", "searching", "incomplete": // as the output of a response that was cut off has it
		it.open = true
		return
	}
	a, b := &call.Action, it.blocks[0]
	b.Search = &llm.WebSearch{Query: llm.CutSearch(cmp.Or(strings.Join(a.Queries, "; "), a.Query, a.Pattern)),
		Page: llm.CutSearch(a.URL)}
	if call.Status == "failed" {
		b.Search.Error = call.Status
	}
	for _, s := range a.Sources {
		b.Search.Hits = llm.AddSource(b.Search.Hits, llm.Source{URL: s.URL, Title: s.Title})
	}
	if a.Type == "search" {
		d.billed++
	}
	d.Emit(llm.StreamEvent{Type: llm.EventSearch, Block: b.Index, Search: b.Search})
}

// isCutOff reports whether the item is a web search that was cut off.
func (it *item) isCutOff() bool {
	var head wireHead
	return it.kind == opaqueItem && it.open && json.Unmarshal(it.raw, &head) == nil && head.Type == webSearchCall
}

// addSources adds the pages that the annotations of a text name.
func (b *block) addSources(annotations json.RawMessage) {
	var list []struct{ Type, URL, Title string }
	if json.Unmarshal(annotations, &list) != nil {
		return // without any, or in a form of another server
	}
	for _, a := range list {
		if a.Type == "url_citation" {
			b.Sources = llm.AddSource(b.Sources, llm.Source{URL: a.URL, Title: a.Title})
		}
	}
}
