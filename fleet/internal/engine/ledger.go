package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/agent"
)

const (
	ledgerPrefix = "ledger."
	// claimLife is longer than an attempt of a model call lasts. Reserve does not wait for an older
	// claim: its session was killed.
	claimLife = 10 * time.Minute
	// claimMemory is how long an unsettled claim is remembered. After that it counts as spent.
	claimMemory = 24 * time.Hour
)

// Ledger is a scope's ledger. What the scope has spent is one record, which is written by compare and
// swap. It implements [agent.Ledger].
type Ledger struct {
	records table
	key     string
	budget  agent.Budget
}

// NewLedger returns the ledger of a scope. Its key is ledger.SCOPE.
func NewLedger(t Table, scope string, budget agent.Budget) *Ledger {
	return &Ledger{table{t}, ledgerPrefix + digest(scope), budget}
}

// bookRecord holds what one scope has spent and what is claimed.
type bookRecord struct {
	Tokens int                  `json:"tokens"`
	USD    float64              `json:"usd"`
	Claims map[string]bookClaim `json:"claims,omitempty"` // by session
}

// bookClaim is a claim that is not settled.
type bookClaim struct {
	Call    string    `json:"call"`    // of Reserve: the same again is that one, repeated because its answer was lost
	Attempt string    `json:"attempt"` // tells Settle which claim is meant
	Tokens  int       `json:"tokens"`
	USD     float64   `json:"usd,omitempty"`
	At      time.Time `json:"at"`
}

// attemptOf names the attempt of a claim. What is granted does not belong to it.
func attemptOf(c agent.Claim) string {
	return fmt.Sprintf("%d.%d.%s.%d", c.Caller.Step, c.Caller.Attempt, c.Caller.Purpose, c.Input)
}

// spend replaces a session's claim by what it took.
func (r *bookRecord) spend(session string, tokens int, usd float64) {
	delete(r.Claims, session)
	r.Tokens += tokens
	r.USD += usd
}

// lose counts a claim as spent, because nobody knows what its attempt took.
func (r *bookRecord) lose(session string) {
	if c, ok := r.Claims[session]; ok {
		r.spend(session, c.Tokens, c.USD)
	}
}

// do makes a change, which may be tried several times; the last one counts. It does not end with its
// context: a claim that is made must not be forgotten. It ends after a bounded time.
func (l *Ledger) do(ctx context.Context, apply func(*bookRecord)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*callTime)
	defer cancel()
	return Update(ctx, l.records, l.key, func(now Record) (any, time.Duration, error) {
		r := bookRecord{Claims: map[string]bookClaim{}}
		if now.Seq > 0 {
			if err := json.Unmarshal(now.Data, &r); err != nil {
				return nil, 0, err
			}
		}
		for session, c := range r.Claims {
			if time.Since(c.At) > claimMemory {
				r.lose(session)
			}
		}
		apply(&r)
		return r, 0, nil
	})
}

// Reserve implements [agent.Ledger]. It waits while the budget would have what is asked for if the
// claims of others were settled for less.
func (l *Ledger) Reserve(ctx context.Context, c agent.Claim) (output int, err error) {
	call := rand.Text()
	seen := map[string]time.Time{} // when a claim was first in the way, by this machine's clock
	for err := range l.records.Changes(ctx, l.key) {
		if err != nil {
			return 0, err
		}
		if output, waits, err := l.reserve(ctx, call, c, seen); !waits {
			return output, err
		}
	}
	return 0, ctx.Err()
}

// reserve makes a claim, or returns why it cannot, and whether that may change.
func (l *Ledger) reserve(ctx context.Context, call string, c agent.Claim, seen map[string]time.Time) (output int,
	waits bool, err error) {
	var refused error
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	err = l.do(ctx, func(r *bookRecord) { output, waits, refused = l.claim(r, call, c, seen) })
	if err != nil {
		return 0, false, err
	}
	if refused == nil && ctx.Err() != nil { // nobody will make the attempt
		c.Output = output
		return 0, false, errors.Join(ctx.Err(), l.Settle(ctx, c, agent.Spent{}))
	}
	return output, waits, refused
}

// claim adds a claim to the record, or returns why it may not, and whether that may change.
func (l *Ledger) claim(r *bookRecord, call string, c agent.Claim, seen map[string]time.Time) (output int, waits bool,
	refused error) {
	session, attempt := c.Caller.Session, attemptOf(c)
	if r.Claims[session].Call == call {
		delete(r.Claims, session)
	}
	r.lose(session) // its holder was killed
	all, lost := bookClaim{Tokens: r.Tokens, USD: r.USD}, bookClaim{Tokens: r.Tokens, USD: r.USD}
	for of, held := range r.Claims {
		key := of + " " + held.Attempt
		if seen[key].IsZero() {
			seen[key] = time.Now()
		}
		all.Tokens, all.USD = all.Tokens+held.Tokens, all.USD+held.USD
		if time.Since(seen[key]) >= claimLife {
			lost.Tokens, lost.USD = lost.Tokens+held.Tokens, lost.USD+held.USD
		}
	}
	if output, refused = l.budget.Grant(c, all.Tokens, all.USD); refused != nil {
		_, never := l.budget.Grant(c, lost.Tokens, lost.USD)
		return 0, never == nil, refused
	}
	c.Output = output
	r.Claims[session] = bookClaim{call, attempt, c.Tokens(), c.USD(), time.Now().UTC()}
	return output, false, nil
}

// Settle implements [agent.Ledger]. A claim that is not held any more was settled, or counted as
// lost; it does nothing then. It is made also if its context has ended.
func (l *Ledger) Settle(ctx context.Context, c agent.Claim, took agent.Spent) error {
	return l.do(ctx, func(r *bookRecord) {
		if held, ok := r.Claims[c.Caller.Session]; ok && held.Attempt == attemptOf(c) && held.Tokens == c.Tokens() {
			r.spend(c.Caller.Session, took.Usage.Input+took.Usage.Output, took.USD)
		}
	})
}
