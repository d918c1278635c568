package llm

import (
	"cmp"
	"slices"
)

// Model describes a model. Zero values are unknown.
type Model struct {
	ID       string   `json:"id"`
	Provider string   `json:"provider"`
	Name     string   `json:"name,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
	// Window is the number of tokens that fit into a request and its response together, or a
	// smaller number above which every token costs more. In that case MaxWindow is the number that
	// fits.
	Window    int      `json:"context_window,omitempty"`
	MaxWindow int      `json:"max_window,omitempty"`
	MaxOutput int      `json:"max_output,omitempty"` // tokens
	Input     []string `json:"input,omitempty"`      // modalities: text, image, audio, document
	Reasoning bool     `json:"reasoning,omitempty"`
	// Efforts lists the reasoning efforts that the model supports, lowest first. An empty list that
	// is not nil means that it supports none.
	Efforts []string `json:"efforts,omitzero"`
	// LoadsTools reports that the vendor keeps deferred tools from the model and loads those that a
	// result refers to.
	LoadsTools bool `json:"loads_tools,omitempty"`
	// Quirks are demands of the model on the form of a request.
	Quirks []Quirk `json:"quirks,omitempty"`
	// Prices lists the prices by the size of the input; the first one has no lower bound. Empty
	// means unknown.
	Prices []Price `json:"prices,omitempty"`
	// WebSearch is the price in US dollars of one web search that the vendor runs, besides its
	// tokens. 0 means that the model has no web search that can be used together with other tools.
	WebSearch float64 `json:"web_search,omitempty"`
}

// Price holds prices in US dollars per million tokens, for requests with more than Above input
// tokens.
type Price struct {
	Above  int     `json:"above,omitempty"`
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CacheRead and CacheWrite are the prices of input that came from the cache and that was added
	// to it. 0 means the price of other input.
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
}

// LongWrite is the price of a cache write that is kept for the longer time, divided by that of
// another cache write: Anthropic's prices are 2 and 1.25 times that of other input.
const LongWrite = 2 / 1.25

// Lookup returns what is known of a provider's model.
type Lookup func(provider, model string) (Model, bool)

// Cost returns the price of a request's usage in US dollars and reports whether all prices are
// known. If only the price of web searches is unknown, it returns the price of everything else.
func (m *Model) Cost(u Usage) (float64, bool) {
	if m == nil || len(m.Prices) == 0 {
		return 0, false
	}
	price := m.Prices[0]
	for _, p := range m.Prices[1:] {
		if u.Input > p.Above {
			price = p
		}
	}
	fresh := float64(max(u.Input-u.CacheRead-u.CacheWrite, 0))
	read, write := cmp.Or(price.CacheRead, price.Input), cmp.Or(price.CacheWrite, price.Input)
	written := float64(u.CacheWrite-u.CacheWriteLong) + float64(u.CacheWriteLong)*LongWrite
	tokens := fresh*price.Input + float64(u.CacheRead)*read + written*write + float64(u.Output)*price.Output
	return tokens/1e6 + float64(u.Searches)*m.WebSearch, u.Searches == 0 || m.WebSearch > 0
}

// Takes reports whether the model accepts an input modality. A model without known modalities is
// assumed to accept all.
func (m *Model) Takes(modality string) bool {
	return m == nil || len(m.Input) == 0 || slices.Contains(m.Input, modality)
}

// HighestPrice returns the highest prices of one token in US dollars and reports whether they are
// known. long means that cache writes are kept for the longer time.
func (m *Model) HighestPrice(long bool) (price Price, known bool) {
	if m == nil || len(m.Prices) == 0 {
		return price, false
	}
	write := 1.0
	if long {
		write = LongWrite
	}
	for _, p := range m.Prices {
		price.Input = max(price.Input, p.Input/1e6, p.CacheWrite/1e6*write)
		price.Output = max(price.Output, p.Output/1e6)
	}
	return price, true
}
