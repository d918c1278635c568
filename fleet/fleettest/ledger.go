package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/llm"
)

var ledgerChecks = []check{
	{name: "P6_LedgerHolds", run: ledgerHolds},
	{name: "P6_LedgerOfManySessions", run: ledgerOfManySessions},
	{name: "P6_LedgerOfTheDead", run: ledgerOfTheDead},
	{name: "P6_LedgerScopes", run: ledgerScopes},
}

// price is that of a token. Sums of it are exact.
const price = 1.0 / 1024

// budgets are two that suffice for as many tokens.
func budgets(tokens int) map[string]agent.Budget {
	return map[string]agent.Budget{"tokens": {Tokens: tokens}, "usd": {USD: float64(tokens) * price}}
}

// reservation is what a session asks for.
func reservation(session string, input, output, least int) agent.Claim {
	return agent.Claim{Caller: llm.Caller{Session: session}, Provider: "p", Model: "m", Input: input, Output: output,
		Least: least, InputUSD: price, OutputUSD: price}
}

// reserve reserves something that the budget has, and returns the claim as granted.
func (t *tester) reserve(l agent.Ledger, c agent.Claim) agent.Claim {
	t.Helper()
	output, err := l.Reserve(t.ctx, c)
	t.ok(err)
	if output < c.Least || output > c.Output {
		t.Errorf("granted %d tokens of an answer, want %d to %d", output, c.Least, c.Output)
	}
	c.Output = output
	return c
}

// grants checks how many tokens of an answer a session gets at most, and returns its claim.
func (t *tester) grants(l agent.Ledger, session string, want int) agent.Claim {
	t.Helper()
	c := t.reserve(l, reservation(session, 0, 100_000, 1))
	if c.Output != want {
		t.Errorf("the ledger grants %s an answer of %d tokens, want %d", session, c.Output, want)
	}
	return c
}

// settle settles a claim.
func (t *tester) settle(l agent.Ledger, c agent.Claim, tokens int) {
	t.Helper()
	if err := l.Settle(t.ctx, c,
		agent.Spent{Usage: llm.Usage{Input: tokens}, USD: float64(tokens) * price}); err != nil {
		t.Error(err)
	}
}

// ledgerHolds checks that nobody gets what others have claimed and not settled, that what they
// settle for less is free, and that a claim is settled once.
func ledgerHolds(t *tester) {
	a, b := t.engine(), t.engine()
	for scope, budget := range budgets(1000) {
		here, there := a.Ledger(scope, budget), b.Ledger(scope, budget)
		first := t.reserve(here, reservation("first", 100, 400, 10))
		second := t.grants(there, "second", 500)
		if output, err := here.Reserve(t.short(), reservation("third", 0, 10, 1)); err == nil {
			t.Errorf("%s: where all is claimed a claim gets %d", scope, output)
		}
		for range 2 {
			t.settle(there, second, 200)
		}
		third := t.grants(here, "third", 300)
		t.settle(here, first, 500)
		t.settle(here, third, 900) // more than was claimed
		_, err := there.Reserve(t.ctx, reservation("s", 0, 10, 1))
		if over := (*agent.OverBudget)(nil); !errors.As(err, &over) {
			t.Errorf("%s: Reserve of what nobody has = %v, want OverBudget", scope, err)
		}
		ended, end := context.WithCancel(t.ctx)
		end()
		_, err = here.Reserve(ended, reservation("s", 0, 10, 1))
		t.refused(err, "Reserve after the end of its context")
	}
}

// ledgerOfManySessions lets sessions on two engines spend a budget until it has no more for them.
func ledgerOfManySessions(t *tester) {
	engines := []fleet.Engine{t.engine(), t.engine()}
	for scope, budget := range budgets(10_000) {
		var spent, held atomic.Int64
		t.in(12, func(i int) {
			l := engines[i%2].Ledger(scope, budget)
			for n := 0; ; n++ {
				c := reservation(fmt.Sprint("session", i), 100, 400, 50)
				output, err := l.Reserve(t.ctx, c)
				if over := (*agent.OverBudget)(nil); errors.As(err, &over) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				c.Output = output
				held.Add(int64(c.Tokens()))
				if all := spent.Load() + held.Load(); all > 10_000 {
					t.Errorf("%s: %d tokens are spent and held, of 10,000", scope, all)
				}
				took := c.Tokens() * (n%4 + 1) / 4
				held.Add(int64(-c.Tokens())) // before it is spent: for a moment there is less than there is
				spent.Add(int64(took))
				t.settle(l, c, took)
			}
		})
		// What is left when the last session gave up does not suffice for a call, besides what
		// others held then.
		if n := spent.Load(); n > 10_000 || n < 4_000 {
			t.Errorf("%s: %d tokens of 10,000 were spent", scope, n)
		}
	}
}

// ledgerOfTheDead checks that a claim of a killed process counts whole, also if its next owner
// makes the same model call again.
func ledgerOfTheDead(t *tester) {
	for i, again := range []agent.Claim{reservation("s", 100, 400, 10), reservation("s", 101, 399, 10)} {
		budget, scope := agent.Budget{Tokens: 1500}, fmt.Sprint(i)
		a, b := t.engine(), t.engine()
		lost := t.reserve(a.Ledger(scope, budget), reservation("s", 100, 400, 10))
		t.ok(a.Close())
		l := b.Ledger(scope, budget)
		c := t.reserve(l, again)
		if c != lost {
			t.settle(l, lost, 0) // by a process that was thought dead: too late
		}
		t.settle(l, c, 100)
		t.grants(l, "other", 900)
	}
}

// ledgerScopes checks that what was spent in a scope counts there, whatever the budget, and nowhere
// else.
func ledgerScopes(t *tester) {
	a, b := t.engine(), t.engine()
	free := a.Ledger("one", agent.Budget{})
	t.settle(free, t.reserve(free, reservation("s", 300, 200, 1)), 500)
	budget := agent.Budget{Tokens: 600}
	t.grants(b.Ledger("one", budget), "s", 100)
	for _, scope := range []string{"two", "one.two", "one/two", "ONE", "o ne*>", "ö"} {
		t.grants(b.Ledger(scope, budget), "s", 600)
	}
}
