package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"
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
	if _, known := s.facts(m.Provider, m.Model).HighestPrice(false); b.USD > 0 && b.Tokens == 0 && !known {
		return &UnpricedError{m.Provider, m.Model}
	}
	return nil
}
