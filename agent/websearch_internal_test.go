package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// A request that may search the web claims the price of the most searches, and a budget without
// that much refuses it.
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
	none, renewal := *req, *req // which run no tools, or have no room for it
	none.ToolChoice.Mode, renewal.Caller.Purpose = llm.ToolNone, PurposeRenewal
	for _, req := range []*llm.Request{&none, &renewal} {
		if claim := claimOf(req, 1000); math.Abs(claim.USD()-0.002) > 1e-9 {
			t.Errorf("a request that cannot search claims $%v", claim.USD())
		}
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
	for searches, want := range map[int]int{3: 20_000, 0: 100_000} {
		var s State
		s.noteAnswer(answerRecord{Usage: llm.Usage{Input: 20_000, CacheWrite: 20_000}}, time.Time{})
		s.noteAnswer(answerRecord{Usage: llm.Usage{Input: 100_000, CacheRead: 90_000, Searches: searches}}, time.Time{})
		if got := s.answered.usage.Input; got != want { // by which renewals and lifetimes are chosen, too
			t.Errorf("%d searches: the cache is taken for one of %d tokens, want %d", searches, got, want)
		}
		cold := s.answered.cold(&s, llm.Usage{Input: 30_000, CacheRead: 20_000}, nil, time.Time{})
		if (cold == nil) != (searches > 0) {
			t.Errorf("%d searches: the next request is cold: %v", searches, cold)
		}
		if cold = s.answered.cold(&s, llm.Usage{Input: 30_000}, nil, time.Time{}); cold == nil {
			t.Errorf("%d searches: a request that finds nothing is not cold", searches)
		}
	}
}

// What a failed attempt has shown has the order and the numbers of the live events in the journal,
// too.
func TestV7_OrderOfABrokenAttempt(t *testing.T) {
	fault := faultRecord{Fault: Fault{Discarded: []string{"a", "b"}, Searches: []llm.WebSearch{{Query: "x"}}},
		Shown: shown{Step: 3, Texts: [][2]int64{{4, 6}, {8, 9}}, Searches: []int64{7}}}
	var got []int64
	for _, ev := range preceding(fault, &State{}) {
		got = append(got, ev.seq)
	}
	if want := []int64{3, 4, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
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

// What was searched for and which pages an answer cites is in the summary's transcript, and in old
// turns that are read again: the text does not name the pages.
func TestV7_SearchesInSummaries(t *testing.T) {
	turn := Turn{Kind: TurnAssistant, Message: llm.Message{Parts: llm.Parts{llm.Opaque{Data: "{}"},
		llm.Opaque{Data: "{}", Search: &llm.WebSearch{Query: "go news"}},
		llm.Text{Text: "It has news.", Sources: []llm.Source{{URL: "https://go.dev/x", Title: "Go"}}}}}}
	want := "[searched for go news]\n%sIt has news.\n[source] Go · https://go.dev/x\n"
	if got := conversation.Text(turn.Message.Parts); got != fmt.Sprintf(want, "") {
		t.Errorf("the turn is told as %q", got)
	}
	if got := transcript("", []Turn{turn}, 1000); got != fmt.Sprintf(want, "[assistant] ") {
		t.Errorf("the transcript is %q", got)
	}
}

// What the cache had before a compaction says nothing about what it has after it.
func TestV7_CompactionsForgetTheCache(t *testing.T) {
	s := new(State)
	s.noteAnswer(answerRecord{Usage: llm.Usage{Input: 14_000, CacheWrite: 13_000}}, time.Now())
	s.noteAnswer(answerRecord{Usage: llm.Usage{Input: 30_000, Searches: 1}}, time.Now())
	if got := s.answered.usage.CacheWrite; got != 13_000 {
		t.Errorf("in the same epoch %d tokens are known to be cached", got)
	}
	s.compacted++
	s.noteAnswer(answerRecord{Usage: llm.Usage{Input: 30_000, Searches: 1}}, time.Now())
	if got := s.answered.usage; got != (llm.Usage{}) {
		t.Errorf("after a compaction %+v are known to be cached", got)
	}
}
