package llm

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// HostedWebSearch is the value of [ToolDefinition].Hosted for a web search.
const HostedWebSearch = "web_search"

// MaxSearches is the limit of web searches in a response that is sent to vendors whose API has such
// a limit (Anthropic, OpenAI).
const MaxSearches = 8

// WebSearch holds what a vendor reports of one web search that it made for the model. All of it
// comes from the web or from the model.
type WebSearch struct {
	// Query is what was searched for; several queries are separated by "; ". It is empty if the
	// vendor does not report it.
	Query string `json:"query,omitempty"`
	// Page is the URL of a page that was opened, or in which Query was searched for.
	Page string `json:"page,omitempty"`
	// Hits are the pages that were found, as far as the vendor names them.
	Hits []Source `json:"hits,omitempty"`
	// Error is the vendor's code of a search that failed, such as max_uses_exceeded.
	Error string `json:"error,omitempty"`
}

// String returns in one line what was searched for and how many pages were found. Texts from the
// web are unchanged except for their white space.
func (s *WebSearch) String() string {
	query, page := oneLine(s.Query), oneLine(s.Page)
	what := "searched the web"
	switch {
	case page != "" && query != "":
		what = fmt.Sprintf("searched for %s in %s", query, page)
	case page != "":
		what = "opened " + page
	case query != "":
		what = "searched for " + query
	}
	switch n := len(s.Hits); {
	case s.Error != "":
		what += ": " + oneLine(s.Error)
	case n == 1:
		what += " · 1 page"
	case n > 1:
		what += fmt.Sprintf(" · %d pages", n)
	}
	return what
}

// Source names a page on the web.
type Source struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// String returns the title, if there is one, and the URL in one line. Both are unchanged except for
// their white space.
func (s Source) String() string {
	url := oneLine(s.URL)
	if title := oneLine(s.Title); title != "" {
		return title + " · " + url
	}
	return url
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// What is kept of the pages of a search, or of those that a text cites.
const (
	maxSources     = 50
	maxSourceURL   = 2048 // bytes; browsers take hardly more
	maxSourceTitle = 300  // bytes
	maxSearchText  = 2048 // bytes, of each other text of a search
)

// CutSearch cuts a query, or another text of a [WebSearch], at 2,048 bytes.
func CutSearch(s string) string { return cut(s, maxSearchText) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.Clone(s[:most]) + "..."
}

// AddSource adds a page to a list, each URL once. A page without a URL, or with one that is longer
// than 2,048 bytes, is not added, and nothing is added to a list of 50. Titles are cut at 300
// bytes.
func AddSource(list []Source, s Source) []Source {
	if s.URL == "" || len(s.URL) > maxSourceURL || len(list) >= maxSources ||
		slices.ContainsFunc(list, func(has Source) bool { return has.URL == s.URL }) {
		return list
	}
	s.Title = cut(s.Title, maxSourceTitle)
	return append(list, s)
}
