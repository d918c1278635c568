package llm

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// HostedWebSearch is the [ToolDefinition].Hosted of a search of the web.
const HostedWebSearch = "web_search"

// MaxSearches is the most searches that a response may make, where the vendor's API has a limit for
// it (Anthropic, OpenAI).
const MaxSearches = 8

// WebSearch holds what a vendor says of one search of the web that it made for the model. All of it
// comes from the web or from the model.
type WebSearch struct {
	// Query is what was searched for; several are separated by "; ". It is empty if the vendor does
	// not say it.
	Query string `json:"query,omitempty"`
	// Page is the URL of a page that was opened, or in which Query was searched for.
	Page string `json:"page,omitempty"`
	// Hits are the pages that were found, as far as the vendor names them.
	Hits []Source `json:"hits,omitempty"`
	// Error is the vendor's code of a search that failed, such as max_uses_exceeded.
	Error string `json:"error,omitempty"`
}

// Source names a page on the web.
type Source struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// What is kept of the pages of a search, or of those that a text cites.
const (
	maxSources     = 50
	maxSourceURL   = 2048 // bytes; browsers take hardly more
	maxSourceTitle = 300  // bytes
)

// AddSource adds a page to a list, each URL once. A page without a URL, or with one that is longer
// than 2,048 bytes, is not added, and nothing is added to a list of 50. Titles are cut at 300 bytes.
func AddSource(list []Source, s Source) []Source {
	if s.URL == "" || len(s.URL) > maxSourceURL || len(list) >= maxSources ||
		slices.ContainsFunc(list, func(has Source) bool { return has.URL == s.URL }) {
		return list
	}
	if len(s.Title) > maxSourceTitle {
		cut := maxSourceTitle
		for !utf8.RuneStart(s.Title[cut]) {
			cut--
		}
		s.Title = strings.Clone(s.Title[:cut]) + "..."
	}
	return append(list, s)
}
