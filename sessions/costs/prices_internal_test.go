package costs

import (
	"math"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// The price of searches is no price of the prompt's parts.
func TestV7_SearchesAreNoPrompt(t *testing.T) {
	model := llm.Model{WebSearch: 0.01, Prices: []llm.Price{{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}}}
	s := &Sum{facts: func(string, string) (llm.Model, bool) { return model, true }}
	u := llm.Usage{Input: 10_000, CacheRead: 5_000, CacheWrite: 4_000, Output: 100}
	usd, _ := model.Cost(u)
	want := s.prices(Spent{Usage: u, USD: usd}, agent.ModelName{})
	u.Searches = 3
	usd, _ = model.Cost(u)
	got := s.prices(Spent{Usage: u, USD: usd}, agent.ModelName{})
	if math.Abs(got.write-want.write) > 1e-12 || math.Abs(got.fresh-want.fresh) > 1e-12 {
		t.Errorf("%+v with searches, %+v without", got, want)
	}
}
