package memfleet

import (
	"context"
	"time"

	"github.com/attractor-go/attractor/agent"
)

// claimLife is longer than an attempt of a model call lasts. Nobody waits for a claim that is
// older: its session was killed.
const claimLife = 10 * time.Minute

// ledgerTable holds what was spent, and what may be.
type ledgerTable struct {
	monitor
	accounts map[string]*account // by scope
}

// account holds what one scope has spent and claimed.
type account struct {
	tokens int
	usd    float64
	claims map[string]held // by session
}

// held is a claim that is not settled.
type held struct {
	agent.Claim
	since time.Time
}

// ledger implements [agent.Ledger].
type ledger struct {
	e *Engine
	*ledgerTable
	scope  string
	budget agent.Budget
}

// account returns the account of the scope. The caller holds the lock.
func (l ledger) account() *account {
	a := l.accounts[l.scope]
	if a == nil {
		a = &account{claims: map[string]held{}}
		l.accounts[l.scope] = a
	}
	return a
}

// spend moves a claim to what was spent.
func (a *account) spend(session string, tokens int, usd float64) {
	delete(a.claims, session)
	a.tokens += tokens
	a.usd += usd
}

// Reserve implements [agent.Ledger]. It waits while the budget would have what is asked for if the
// claims of others were settled for less.
func (l ledger) Reserve(ctx context.Context, c agent.Claim) (output int, err error) {
	ctx, done := l.e.within(ctx)
	defer done()
	l.Lock()
	defer l.Unlock()
	a := l.account()
	if lost, ok := a.claims[c.Caller.Session]; ok { // its holder was killed; nobody knows what it took
		a.spend(c.Caller.Session, lost.Tokens(), lost.USD())
	}
	for {
		if err := ended(ctx); err != nil {
			return 0, err
		}
		claimed, at := a.claimed(time.Now())
		if output, err = l.budget.Grant(c, a.tokens+claimed.tokens, a.usd+claimed.usd); err == nil {
			c.Output = output
			a.claims[c.Caller.Session] = held{c, time.Now()}
			return output, nil
		}
		if _, never := l.budget.Grant(c, a.tokens, a.usd); never != nil {
			return 0, err
		}
		if err := l.wait(ctx, at); err != nil {
			return 0, err
		}
	}
}

// claimed returns the sum of the claims, and when the oldest one will be too old. It moves those
// that are to what was spent.
func (a *account) claimed(now time.Time) (sum account, at time.Time) {
	for session, c := range a.claims {
		if now.Sub(c.since) >= claimLife {
			a.spend(session, c.Tokens(), c.USD())
			continue
		}
		sum.tokens += c.Tokens()
		sum.usd += c.USD()
		at = sooner(at, c.since.Add(claimLife))
	}
	return sum, at
}

// Settle implements [agent.Ledger]. A claim that is not held any more was settled, or counted as
// lost; it does nothing then.
func (l ledger) Settle(ctx context.Context, c agent.Claim, took agent.Spent) error {
	if err := l.e.check(ctx); err != nil {
		return err
	}
	l.Lock()
	defer l.Unlock()
	a := l.account()
	if h, ok := a.claims[c.Caller.Session]; !ok || h.Claim != c {
		return nil
	}
	a.spend(c.Caller.Session, took.Usage.Input+took.Usage.Output, took.USD)
	l.changed()
	return nil
}
