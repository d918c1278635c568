package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// A Ledger keeps a budget that several sessions share, such as that of a fleet; see [Options]. Each
// attempt of a model call, also for a compaction, reserves the most that it can take before it is
// sent, and settles what it took when it is over. So the budget is never overspent. Sessions may
// call the methods concurrently. Once its input is to end, a session waits for them no longer than
// Options.Grace.
//
// A session holds one claim at a time, and so does each of its subagents, which are sessions with
// ids of their own. If Reserve is called for a session whose last claim was not settled, then the
// process that held the claim was killed, or its Settle failed. Nobody knows what that attempt
// took; a ledger that must not be overspent counts the whole claim. The claim of a session that is
// never resumed stays; a ledger may count it in the same way after the longest time that an attempt
// can last.
type Ledger interface {
	// Reserve holds what an attempt may take, and may wait until others have settled. It returns
	// how many tokens the answer may have: Claim.Output, or fewer if the budget has fewer, but at
	// least Claim.Least.
	//
	// If it returns an error, nothing is held and the attempt is not made. An [OverBudget] ends the
	// input at that limit. With any other error the model call fails; it is tried again if the
	// error is an [llm.Error] that may be retried.
	Reserve(ctx context.Context, c Claim) (output int, err error)
	// Settle replaces a claim by what its attempt took. The claim is the one given to Reserve, with
	// the granted Output. The context does not end with the input. An error becomes a WARNING, and
	// the claim stays, like that of a process that was killed.
	Settle(ctx context.Context, c Claim, took Spent) error
}

// Claim holds the most that an attempt of a model call may take.
type Claim struct {
	// Caller says whose attempt it is. Its Session is enough to tell claims apart that are held at
	// the same time.
	Caller   llm.Caller `json:"caller"`
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Input    int        `json:"input"`  // tokens of the request, estimated
	Output   int        `json:"output"` // most tokens of the answer
	Least    int        `json:"least"`  // fewest tokens of the answer for which the call is worth making
	// InputUSD and OutputUSD are the highest prices of one token, in US dollars. Both are zero if
	// the prices are not known.
	InputUSD  float64 `json:"input_usd,omitempty"`
	OutputUSD float64 `json:"output_usd,omitempty"`
	// SearchesUSD is the price of the most searches of the web that the vendor may run, in US
	// dollars.
	SearchesUSD float64 `json:"searches_usd,omitempty"`
}

// Tokens returns the claimed tokens.
func (c Claim) Tokens() int { return c.Input + c.Output }

// USD returns the claimed US dollars.
func (c Claim) USD() float64 {
	return float64(c.Input)*c.InputUSD + float64(c.Output)*c.OutputUSD + c.SearchesUSD
}

// Spent holds the usage and the cost of an attempt, estimated if the provider may have billed it
// without saying so. It is zero if the attempt was not billed.
type Spent struct {
	Usage llm.Usage `json:"usage"`
	USD   float64   `json:"usd,omitempty"` // zero if the prices are not known
}

// OverBudget is the error with which a Ledger refuses a call that the budget does not allow.
type OverBudget struct {
	Limit Reason  // ReasonBudgetTokens or ReasonBudgetUSD
	Value float64 // the limit's, as in TURN_LIMIT
}

// Error names the budget.
func (e *OverBudget) Error() string {
	return fmt.Sprintf("agent: the budget does not have it (%s of %v)", e.Limit, e.Value)
}

// least says what an attempt with this claim takes at the least, for a person whose budget has
// less.
func (c Claim) least() string {
	c.Output = c.Least
	usd := ""
	if c.USD() > 0 {
		usd = fmt.Sprintf(", or $%.4f", c.USD())
	}
	return fmt.Sprintf("The next call of %s needs at least %d tokens%s: about %d for the request and %d for an "+
		"answer. The budget has less left.", c.Model, c.Tokens(), usd, c.Input, c.Output)
}

// NewLedger returns a ledger in memory, for sessions of one process that share a budget. It ignores
// Budget.Time.
func NewLedger(b Budget) Ledger { return &memoryLedger{budget: func() Budget { return b }} }

// A memoryLedger sums what its sessions have spent and reserved.
type memoryLedger struct {
	budget func() Budget // of now; called without the lock

	mu     sync.Mutex
	tokens int
	usd    float64
}

// Reserve implements [Ledger]. It never waits.
func (l *memoryLedger) Reserve(_ context.Context, c Claim) (output int, err error) {
	budget := l.budget()
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Output, err = budget.Grant(c, l.tokens, l.usd); err != nil {
		return 0, err
	}
	l.tokens += c.Tokens()
	l.usd += c.USD()
	return c.Output, nil
}

// Grant returns how many tokens the answer of an attempt may have: what the budget has after tokens
// and usd, which are spent or claimed already, at most Claim.Output. The error is an [OverBudget]
// if that is less than Claim.Least. It is the rule of [NewLedger], for other ledgers.
func (b Budget) Grant(c Claim, tokens int, usd float64) (output int, err error) {
	output = c.Output
	if b.Tokens > 0 {
		if output = min(output, b.Tokens-tokens-c.Input); output < c.Least {
			return 0, &OverBudget{ReasonBudgetTokens, float64(b.Tokens)}
		}
	}
	if b.USD > 0 && (c.InputUSD > 0 || c.OutputUSD > 0) {
		left := b.USD - usd - float64(c.Input)*c.InputUSD - c.SearchesUSD
		// more might not fit into an int
		if affordable := left / c.OutputUSD; c.OutputUSD > 0 && affordable < float64(output) {
			output = int(affordable)
		}
		if left < 0 || output < c.Least {
			return 0, &OverBudget{ReasonBudgetUSD, b.USD}
		}
	}
	return output, nil
}

// Settle implements [Ledger]. It never fails.
func (l *memoryLedger) Settle(_ context.Context, c Claim, took Spent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += took.Usage.Input + took.Usage.Output - c.Tokens()
	l.usd += took.USD - c.USD()
	return nil
}

// claimOf returns the most that an attempt with this request can take. Input is its estimated size
// in tokens.
func claimOf(req *llm.Request, input int) Claim {
	most, price := req.MostOutput(), llm.Price{}
	if dearest, known := req.Facts.HighestPrice(req.CacheLong); known {
		price = dearest
	}
	searches := req.MostSearchesUSD()
	if req.Caller.Purpose == PurposeRenewal { // which runs none
		searches = 0
	}
	return Claim{Caller: req.Caller, Provider: req.Provider, Model: req.Model, Input: input, Output: most,
		Least: min(leastAnswer, most), InputUSD: price.Input, OutputUSD: price.Output, SearchesUSD: searches}
}

// A reservation holds an attempt's claims, in the session's own ledger and in the host's.
type reservation struct{ own, shared Claim }

// reserve reserves the most that an attempt can take, and lowers the request's MaxTokens if a
// budget allows only that.
func (s *Session) reserve(ctx context.Context, req *llm.Request, input int) (r reservation, err error) {
	r.own = claimOf(req, input)
	most := r.own.Output
	if r.own.Output, err = s.ledger.Reserve(ctx, r.own); err != nil {
		return r, err
	}
	granted := r.own.Output
	if s.shared != nil {
		if r.shared, err = s.reserveShared(ctx, r.own); err != nil {
			_ = s.ledger.Settle(ctx, r.own, Spent{}) // in memory, it cannot fail
			return r, err
		}
		granted = r.shared.Output
	}
	if granted < most {
		req.MaxTokens = granted
	}
	return r, nil
}

// reserveShared reserves a claim in the host's ledger and returns it as granted.
func (s *Session) reserveShared(ctx context.Context, c Claim) (Claim, error) {
	output, err := host(ctx, s, "Options.Ledger", s.limits.Grace,
		func() (int, error) { return s.shared.Reserve(ctx, c) })
	granted := c
	granted.Output = min(c.Output, output)
	var over *OverBudget
	switch {
	case err == nil && output < c.Least:
		s.settleShared(ctx, granted, Spent{})
		err = fmt.Errorf("the ledger grants %d tokens of an answer that needs %d", output, c.Least)
	case isHostError(err):
		s.breakDown(err)
	case errors.As(err, &over):
		if over.Limit != ReasonBudgetTokens && over.Limit != ReasonBudgetUSD {
			err = fmt.Errorf("the ledger refuses the call for an unknown limit, %q", over.Limit)
		}
	case err != nil:
		s.warnOfStuck(err)
		err = fmt.Errorf("the ledger cannot be asked: %w", err)
	}
	return granted, err
}

// settle replaces a reservation by what the attempt took.
func (s *Session) settle(ctx context.Context, r reservation, took Spent) {
	_ = s.ledger.Settle(ctx, r.own, took) // in memory, it cannot fail
	if s.shared != nil {
		s.settleShared(ctx, r.shared, took)
	}
}

func (s *Session) settleShared(ctx context.Context, c Claim, took Spent) {
	unhurried := context.WithoutCancel(ctx)
	err := s.hostErr(ctx, "Options.Ledger", s.limits.Grace, func() error { return s.shared.Settle(unhurried, c, took) })
	switch {
	case isHostError(err):
		s.breakDown(err)
	case err != nil:
		s.warn("ledger_failed", "What a model call took could not be told to the ledger, where its claim stays: %v",
			err)
	}
}

// withinBudget makes an attempt of a model call between reserve and settle. An answer without usage
// counts as estimated.
func (s *Session) withinBudget(ctx context.Context, req *llm.Request, input int, a *attemptStream,
	attempt func() (*llm.Response, error)) (
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
	return fmt.Sprintf("agent: the budget is in US dollars, which cannot be counted, because the prices are not "+
		"known of the model %q of %s: give a budget of tokens, too, or the prices", e.Model, e.Provider)
}

// checkBudget returns an error for a budget that cannot be kept, because nobody knows what the
// model costs.
func (s *Session) checkBudget(b Budget, m ModelName) error {
	if _, known := s.facts(m.Provider, m.Model).HighestPrice(false); b.USD > 0 && b.Tokens == 0 && !known {
		return &UnpricedError{m.Provider, m.Model}
	}
	return nil
}
