package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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

// Ledgers holds the books of all scopes. What a scope has spent is one record, which is written by
// compare and swap.
type Ledgers struct {
	records table
	mu      sync.Mutex
	books   map[string]*book // by scope
}

// NewLedgers returns ledgers. Their keys are ledger.SCOPE.
func NewLedgers(t Table) *Ledgers { return &Ledgers{records: table{t}, books: map[string]*book{}} }

// Open returns the ledger of a scope.
func (l *Ledgers) Open(scope string, budget agent.Budget) agent.Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[scope]
	if b == nil {
		b = &book{records: l.records, key: ledgerPrefix + digest(scope), turn: make(chan struct{}, 1)}
		l.books[scope] = b
	}
	return &ledger{b, budget}
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

// book is the record of a scope as this process changes it, one change after the other, so that the
// sessions of one process do not contend.
type book struct {
	records table
	key     string
	turn    chan struct{} // held by whoever makes a change
}

// do makes a change, which may be tried several times; the last one counts. Once it has begun, it
// does not end with its context: a claim that is made must not be forgotten. It ends after a
// bounded time, in which it also waits for the changes before it.
func (b *book) do(begin context.Context, apply func(*bookRecord)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(begin), 2*callTime)
	defer cancel()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-begin.Done():
		return begin.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	return Update(ctx, b.records, b.key, func(now Record) (any, time.Duration, error) {
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

// ledger implements [agent.Ledger].
type ledger struct {
	*book
	budget agent.Budget
}

// Reserve implements [agent.Ledger]. It waits while the budget would have what is asked for if the
// claims of others were settled for less.
func (l *ledger) Reserve(ctx context.Context, c agent.Claim) (output int, err error) {
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
func (l *ledger) reserve(ctx context.Context, call string, c agent.Claim,
	seen map[string]time.Time) (output int, waits bool, err error) {
	var refused error
	if err = ctx.Err(); err == nil {
		err = l.do(ctx, func(r *bookRecord) { output, waits, refused = l.claim(r, call, c, seen) })
	}
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
func (l *ledger) claim(r *bookRecord, call string, c agent.Claim,
	seen map[string]time.Time) (output int, waits bool, refused error) {
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
func (l *ledger) Settle(ctx context.Context, c agent.Claim, took agent.Spent) error {
	return l.do(context.WithoutCancel(ctx), func(r *bookRecord) {
		if held, ok := r.Claims[c.Caller.Session]; ok && held.Attempt == attemptOf(c) && held.Tokens == c.Tokens() {
			r.spend(c.Caller.Session, took.Usage.Input+took.Usage.Output, took.USD)
		}
	})
}
