package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Budget limits what a session and its subagents may use together (requirement A18). Zero means no limit. It is checked before a
// model call, with the largest possible call reserved; time also ends what is running.
type Budget struct {
	Tokens int           `json:"tokens,omitempty"` // input and output
	USD    float64       `json:"usd,omitempty"`    // by the prices of the client's Models
	Time   time.Duration `json:"time,omitempty"`   // of processing, all inputs together
}

var errBudgetTime = errors.New("agent: the time budget is used up")

// leastAnswer is how many tokens an answer must be able to have for a call to be worth making.
const leastAnswer = 512

// ledger is what a tree of agents has used and reserved. It is safe for concurrent use.
type ledger struct {
	budget Budget

	mu     sync.Mutex
	tokens int
	usd    float64
}

// claim is a part of a budget that a running call holds.
type claim struct {
	tokens int
	usd    float64
}

// reserve claims the largest call that a request can become, which it makes smaller where the budget is short of it. A reason says
// that the budget does not have a call any more.
func (l *ledger) reserve(req *llm.Request, input int) (claim, Reason) {
	if l.budget.Tokens == 0 && l.budget.USD == 0 {
		return claim{}, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	most := mostOutput(req)
	output := most
	if b := l.budget.Tokens; b > 0 {
		if output = min(output, b-l.tokens-input); output < min(leastAnswer, most) {
			return claim{}, BudgetTokens
		}
	}
	price, known := dearest(req.Facts)
	if b := l.budget.USD; b > 0 && known {
		left := b - l.usd - float64(input)*price.Input
		if price.Output > 0 {
			output = min(output, int(left/price.Output))
		}
		if left < 0 || output < min(leastAnswer, most) {
			return claim{}, BudgetUSD
		}
	}
	if output < most {
		req.MaxTokens = output
	}
	c := claim{tokens: input + output, usd: float64(input)*price.Input + float64(output)*price.Output}
	l.tokens += c.tokens
	l.usd += c.usd
	return c, ""
}

// settle puts what a call took in the place of what it had claimed.
func (l *ledger) settle(c claim, u llm.Usage, usd float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += u.Input + u.Output - c.tokens
	l.usd += usd - c.usd
}

// settleAttempt puts what an attempt took in the place of its claim, and returns that with its cost. An answer of which nobody says what it
// took counts against the budget as estimated.
func (s *Session) settleAttempt(c claim, req *llm.Request, used, estimate llm.Usage, err error) (llm.Usage, float64) {
	cost, _ := req.Facts.Cost(used)
	charged, price := used, cost
	if err == nil && used == (llm.Usage{}) {
		charged = estimate
		price, _ = req.Facts.Cost(estimate)
	}
	s.ledger.settle(c, charged, price)
	return used, cost
}

// value returns the limit that a reason names.
func (b *Budget) value(r Reason) float64 {
	switch r {
	case BudgetTokens:
		return float64(b.Tokens)
	case BudgetUSD:
		return b.USD
	case BudgetTime:
		return b.Time.Seconds()
	}
	return 0
}

// stop returns the record that the open input is to end.
func (s *State) stop(reason Reason) stopRecord {
	return stopRecord{Reason: reason, Value: s.Policy.Budget.value(reason)}
}

// stop commits that the open input is to end.
func (s *Session) stop(reason Reason) error {
	return s.update(context.Background(), func() ([]record, error) { return []record{s.state.stop(reason)}, nil })
}

// unknownOutput is how much an unknown model may write without being told a limit; llm/anthropic sends the same number.
const unknownOutput = 4096

func mostOutput(req *llm.Request) int {
	switch {
	case req.MaxTokens > 0:
		return req.MaxTokens
	case req.Facts != nil && req.Facts.MaxOutput > 0:
		return req.Facts.MaxOutput
	}
	return unknownOutput
}

// dearest returns what a token costs at most, in US dollars.
func dearest(m *llm.Model) (price llm.Price, known bool) {
	if m == nil || len(m.Prices) == 0 {
		return price, false
	}
	for _, p := range m.Prices {
		price.Input = max(price.Input, p.Input/1e6, p.CacheWrite/1e6)
		price.Output = max(price.Output, p.Output/1e6)
	}
	return price, true
}

// affordable reports a budget that could not be kept with a model, or with the one that writes summaries.
func (s *Session) affordable(p *Policy, provider string, facts *llm.Model) error {
	if c := p.Compaction; c.Model != "" {
		if err := checkBudget(p.Budget, s.facts(first(c.Provider, provider), c.Model)); err != nil {
			return fmt.Errorf("%w (of compactions)", err)
		}
	}
	return checkBudget(p.Budget, facts)
}

// checkBudget reports a budget that could not be kept.
func checkBudget(b Budget, facts *llm.Model) error {
	if b.Tokens < 0 || b.USD < 0 || b.Time < 0 {
		return errors.New("agent: a budget cannot be negative")
	}
	if _, known := dearest(facts); b.USD > 0 && b.Tokens == 0 && !known {
		return errors.New("agent: the budget is in US dollars and the model's prices are not known; give a budget of tokens too, or prices " +
			"in the client's Models")
	}
	return nil
}
