package agent

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// A request that may search the web claims the price of the most searches, and a budget without that
// much refuses it.
func TestV7_SearchesAreReserved(t *testing.T) {
	req := &llm.Request{MaxTokens: 1000, Tools: []llm.ToolDefinition{{Name: "web_search", Hosted: llm.HostedWebSearch}},
		Facts: &llm.Model{WebSearch: 0.01, Prices: []llm.Price{{Input: 1, Output: 1}}}}
	claim := claimOf(req, 1000)
	if want := 0.002 + llm.MaxSearches*0.01; math.Abs(claim.USD()-want) > 1e-9 {
		t.Errorf("it claims $%v, want %v", claim.USD(), want)
	}
	var over *OverBudget
	if _, err := NewLedger(Budget{USD: 0.05}).Reserve(t.Context(), claim); !errors.As(err, &over) {
		t.Errorf("a budget of less than the searches: %v", err)
	}
	if output, err := NewLedger(Budget{USD: 0.2}).Reserve(t.Context(), claim); err != nil || output != 1000 {
		t.Errorf("a budget with enough: %d, %v", output, err)
	}
	req.Tools = nil
	if claim := claimOf(req, 1000); math.Abs(claim.USD()-0.002) > 1e-9 {
		t.Errorf("without a search it claims $%v", claim.USD())
	}
}

// The count of an answer with searches is a sum of several rounds. It neither fills the window nor
// makes the cache look cold.
func TestV7_CountsOfSearches(t *testing.T) {
	c := Context{Counted: 1000}
	c.Add(llm.Message{Parts: llm.Parts{llm.Opaque{Data: strings.Repeat("x", 400)}}})
	c.measure(llm.Usage{Input: 100_000, Output: 10, Searches: 3})
	if c.Tokens() != 1100 {
		t.Errorf("the context has %d tokens, want the estimate 1100", c.Tokens())
	}
	c.measure(llm.Usage{Input: 1200, Output: 10})
	if c.Tokens() != 1210 {
		t.Errorf("the context has %d tokens, want the count 1210", c.Tokens())
	}
	a := answered{usage: llm.Usage{Input: 100_000, CacheRead: 90_000, Searches: 3}, kept: shortCache}
	next := llm.Usage{Input: 30_000, CacheRead: 20_000}
	if cold := a.cold(&State{}, next, nil, time.Time{}); cold != nil {
		t.Errorf("a request after searches is cold: %v", cold)
	}
	if a.usage.Searches = 0; a.cold(&State{}, next, nil, time.Time{}) == nil {
		t.Error("without searches it would not be cold: the test shows nothing")
	}
}

// The searches of an attempt that breaks off are billed, also those of a side call, which has no
// events.
func TestV7_SearchesOfABrokenAttempt(t *testing.T) {
	for _, s := range []*llm.WebSearch{{Query: "x"}, {Error: "max_uses_exceeded"}, {Page: "https://x.test"}} {
		var a attemptStream
		a.take(llm.StreamEvent{Type: llm.EventSearch, Search: s})
		want := 0
		if s.Query != "" {
			want = 1
		}
		if got := a.estimate(10).Searches; got != want {
			t.Errorf("%+v: %d searches", s, got)
		}
	}
}
