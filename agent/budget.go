package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Budget limits what a session and its subagents may use together. Zero means no limit. It is
// checked before each model call, with the most that the call can take reserved. The end of Time
// also ends what is running.
type Budget struct {
	Tokens int           `json:"tokens,omitempty"` // input and output
	USD    float64       `json:"usd,omitempty"`    // by the prices of the client's Models
	Time   time.Duration `json:"time,omitempty"`   // of processing, all inputs together
}

var errBudgetTime = errors.New("agent: the time budget is used up")

// leastAnswer is the fewest tokens of an answer for which a call is worth making.
const leastAnswer = 512

// value returns the limit of the budget that a reason names.
func (b *Budget) value(r Reason) float64 {
	switch r {
	case ReasonBudgetTokens:
		return float64(b.Tokens)
	case ReasonBudgetUSD:
		return b.USD
	case ReasonBudgetTime:
		return b.Time.Seconds()
	}
	return 0
}

// stop returns the record that makes the open input end for a reason.
func (s *State) stop(reason Reason) stopRecord {
	return stopRecord{Reason: reason, Value: s.Policy.Budget.value(reason)}
}

// unknownOutput is the number of tokens that an unknown model may write without a limit.
// llm/anthropic sends the same number.
const unknownOutput = 4096

// maxOutput returns the most tokens that the answer to a request can have.
func maxOutput(req *llm.Request) int {
	switch {
	case req.MaxTokens > 0:
		return req.MaxTokens
	case req.Facts != nil && req.Facts.MaxOutput > 0:
		return req.Facts.MaxOutput
	}
	return unknownOutput
}

// highestPrices returns the highest prices of a model's tokens, in US dollars, if the cache keeps
// what is written for the longer time or not.
func highestPrices(m *llm.Model, long bool) (price llm.Price, known bool) {
	if m == nil || len(m.Prices) == 0 {
		return price, false
	}
	write := 1.0
	if long {
		write = llm.LongWrite
	}
	for _, p := range m.Prices {
		price.Input = max(price.Input, p.Input/1e6, p.CacheWrite/1e6*write)
		price.Output = max(price.Output, p.Output/1e6)
	}
	return price, true
}

// affordable returns an error for a budget that cannot be kept with a model, or with the one that
// writes summaries, which is one of the chosen provider's unless the policy says otherwise.
func (s *Session) affordable(p *Policy, chosen string, m ModelName) error {
	if c := p.Compaction; c.Model != "" {
		if err := s.checkBudget(p.Budget, ModelName{cmp.Or(c.Provider, chosen), c.Model}); err != nil {
			return fmt.Errorf("%w (of compactions)", err)
		}
	}
	return s.checkBudget(p.Budget, m)
}

// UnpricedError says that a budget in US dollars cannot be counted, because the prices of a model
// are not in the client's Models, and that no budget of tokens is beside it.
type UnpricedError struct{ Provider, Model string }

// Error implements error.
func (e *UnpricedError) Error() string {
	return fmt.Sprintf("agent: the budget is in US dollars, which cannot be counted, because the prices are not known of the model %q of %s: "+
		"give a budget of tokens, too, or the prices", e.Model, e.Provider)
}

// checkBudget returns an error for a budget that cannot be kept, because nobody knows what the
// model costs.
func (s *Session) checkBudget(b Budget, m ModelName) error {
	if _, known := highestPrices(s.facts(m.Provider, m.Model), false); b.USD > 0 && b.Tokens == 0 && !known {
		return &UnpricedError{m.Provider, m.Model}
	}
	return nil
}
