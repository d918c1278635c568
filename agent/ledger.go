package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// Ledger keeps a budget that more than one session spends, such as a fleet's; see [Options]. Each attempt of a model call, also of a
// compaction, reserves the most that it can take before it is sent, and is settled when it is over: so nothing is spent that was not there.
// Methods may be called concurrently by several sessions. They are code of the host: a session does not wait for them longer than
// Options.Grace once its input is to end.
//
// A session has one claim at a time, and so has each of its subagents, which are sessions with an id of their own. A Reserve of a session
// whose last claim was not settled therefore says that the process which held it was killed, or that its Settle has failed. What that
// attempt took nobody knows; a ledger that must not be overspent counts all of the claim. Of a session that is never resumed the claim
// stays: a ledger may count it likewise after the longest time that an attempt can last.
type Ledger interface {
	// Reserve holds what an attempt may take. It may wait until others have settled what they hold. It returns how many tokens the answer may
	// have: Claim.Output, or fewer where the budget is short of them, but not fewer than Claim.Least.
	//
	// With an error nothing is held and the attempt is not made. An [OverBudget] says that the budget does not have it, which ends the
	// input at that limit. With any other error the model call fails, and is tried again if it is an [llm.Error] that says so.
	Reserve(ctx context.Context, c Claim) (output int, err error)
	// Settle puts what an attempt took in the place of its claim, which is that of Reserve with the granted Output. Its context does not end
	// with the input. An error is a WARNING; the claim then stays, like that of a process that was killed.
	Settle(ctx context.Context, c Claim, took Spent) error
}

// Claim is the most that an attempt of a model call may take.
type Claim struct {
	// Caller says whose attempt it is. Session alone tells claims that are held at the same time from each other.
	Caller   llm.Caller `json:"caller"`
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Input    int        `json:"input"`  // tokens of the request, estimated
	Output   int        `json:"output"` // the most tokens that the answer may have
	Least    int        `json:"least"`  // with fewer than these the call is not worth making
	// InputUSD and OutputUSD are the most that one token costs, in US dollars. Both are zero if the prices are not known.
	InputUSD  float64 `json:"input_usd,omitempty"`
	OutputUSD float64 `json:"output_usd,omitempty"`
}

// Tokens returns the tokens that are claimed.
func (c Claim) Tokens() int { return c.Input + c.Output }

// USD returns the US dollars that are claimed.
func (c Claim) USD() float64 { return float64(c.Input)*c.InputUSD + float64(c.Output)*c.OutputUSD }

// Spent holds the usage and the cost of an attempt: as the provider says, or as estimated where it may have been billed and nobody says it. It is zero if the
// attempt was not billed.
type Spent struct {
	Usage llm.Usage `json:"usage"`
	USD   float64   `json:"usd,omitempty"` // zero if the prices are not known
}

// OverBudget is the error of a Ledger that a budget does not have a call any more.
type OverBudget struct {
	Limit Reason  // BudgetTokens or BudgetUSD
	Value float64 // of the limit, as TURN_LIMIT says it
}

// Error says which budget it is.
func (e *OverBudget) Error() string {
	return fmt.Sprintf("agent: the budget does not have it (%s of %v)", e.Limit, e.Value)
}

// NewLedger returns a ledger in memory, for the sessions of one process that share a budget. Budget.Time is no business of a ledger's.
func NewLedger(b Budget) Ledger { return &memoryLedger{budget: b} }

// memoryLedger sums what one tree of agents or several have used and reserved.
type memoryLedger struct {
	budget Budget

	mu     sync.Mutex
	tokens int
	usd    float64
}

// Reserve never waits.
func (l *memoryLedger) Reserve(_ context.Context, c Claim) (output int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.budget.Tokens; b > 0 {
		if c.Output = min(c.Output, b-l.tokens-c.Input); c.Output < c.Least {
			return 0, &OverBudget{BudgetTokens, float64(b)}
		}
	}
	if b := l.budget.USD; b > 0 && (c.InputUSD > 0 || c.OutputUSD > 0) {
		left := b - l.usd - float64(c.Input)*c.InputUSD
		if c.OutputUSD > 0 {
			c.Output = min(c.Output, int(left/c.OutputUSD))
		}
		if left < 0 || c.Output < c.Least {
			return 0, &OverBudget{BudgetUSD, b}
		}
	}
	l.tokens += c.Tokens()
	l.usd += c.USD()
	return c.Output, nil
}

// Settle never fails.
func (l *memoryLedger) Settle(_ context.Context, c Claim, took Spent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += took.Usage.Input + took.Usage.Output - c.Tokens()
	l.usd += took.USD - c.USD()
	return nil
}

// claimOf returns the largest call that a request can become.
func claimOf(req *llm.Request, input int) Claim {
	most, price := mostOutput(req), llm.Price{}
	if dearest, known := dearest(req.Facts); known {
		price = dearest
	}
	return Claim{Caller: req.Caller, Provider: req.Provider, Model: req.Model, Input: input, Output: most, Least: min(leastAnswer, most),
		InputUSD: price.Input, OutputUSD: price.Output}
}

// reservation holds an attempt's claims on the session's own budget and on the host's ledger.
type reservation struct{ own, shared Claim }

// reserve holds the largest call that a request can become, which it makes smaller where a budget is short of it.
func (s *Session) reserve(ctx context.Context, req *llm.Request, input int) (r reservation, err error) {
	r.own = claimOf(req, input)
	most := r.own.Output
	if r.own.Output, err = s.ledger.Reserve(ctx, r.own); err != nil {
		return r, err
	}
	granted := r.own.Output
	if s.shared != nil {
		if r.shared, err = s.reserveShared(ctx, r.own); err != nil {
			_ = s.ledger.Settle(ctx, r.own, Spent{}) // in memory, where nothing fails
			return r, err
		}
		granted = r.shared.Output
	}
	if granted < most {
		req.MaxTokens = granted
	}
	return r, nil
}

// reserveShared asks the host's ledger, and returns what it grants.
func (s *Session) reserveShared(ctx context.Context, c Claim) (Claim, error) {
	output, err := host(ctx, s, "Options.Ledger", s.grace, func() (int, error) { return s.shared.Reserve(ctx, c) })
	granted := c
	granted.Output = min(c.Output, output)
	var over *OverBudget
	switch {
	case err == nil && output < c.Least:
		s.settleShared(ctx, granted, Spent{})
		err = fmt.Errorf("the ledger grants %d tokens of an answer that needs %d", output, c.Least)
	case isHostError(err):
		s.giveUp(err)
	case errors.As(err, &over):
		if over.Limit != BudgetTokens && over.Limit != BudgetUSD {
			err = fmt.Errorf("the ledger refuses the call for an unknown limit, %q", over.Limit)
		}
	case err != nil:
		s.warnOfStuck(err)
		err = fmt.Errorf("the ledger cannot be asked: %w", err)
	}
	return granted, err
}

// settle puts what an attempt took in the place of what it held.
func (s *Session) settle(ctx context.Context, r reservation, took Spent) {
	_ = s.ledger.Settle(ctx, r.own, took) // in memory, where nothing fails
	if s.shared != nil {
		s.settleShared(ctx, r.shared, took)
	}
}

func (s *Session) settleShared(ctx context.Context, c Claim, took Spent) {
	unhurried := context.WithoutCancel(ctx)
	err := s.call(ctx, "Options.Ledger", s.grace, func() error { return s.shared.Settle(unhurried, c, took) })
	switch {
	case isHostError(err):
		s.giveUp(err)
	case err != nil:
		s.events.emit(&Warning{Code: "ledger_failed", Text: fmt.Sprintf("What a model call took could not be told to the ledger, where its claim stays: %v", err)})
	}
}

// withinBudget makes an attempt of a model call if the budget has it: it reserves what the attempt may take, and settles what it took. An
// answer of which nobody says what it took counts against the budget as estimated.
func (s *Session) withinBudget(ctx context.Context, req *llm.Request, input int, a *attemptStream, attempt func() (*llm.Response, error)) (
	resp *llm.Response, used llm.Usage, cost float64, err error) {
	held, err := s.reserve(ctx, req, input)
	if err != nil {
		return nil, used, 0, err
	}
	resp, err = attempt()
	used = a.used(resp, err, input)
	cost, _ = req.Facts.Cost(used)
	took := Spent{Usage: used, USD: cost}
	if err == nil && used == (llm.Usage{}) {
		took.Usage = a.estimate(input)
		took.USD, _ = req.Facts.Cost(took.Usage)
	}
	s.settle(ctx, held, took)
	return resp, used, cost, err
}
