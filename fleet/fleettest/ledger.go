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
	{name: "P6_LedgerTokens", run: ledgerTokens},
	{name: "P6_LedgerUSD", run: ledgerUSD},
	{name: "P6_LedgerOfTheDead", run: ledgerOfTheDead},
	{name: "P6_LedgerScopes", run: ledgerScopes},
	{name: "P6_LedgerSettles", run: ledgerSettles},
}

// reservation is what a session asks for.
func reservation(session string, input, output, least int) agent.Claim {
	return agent.Claim{Caller: llm.Caller{Session: session}, Provider: "p", Model: "m", Input: input, Output: output,
		Least: least}
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

// settle settles a claim.
func (t *tester) settle(l agent.Ledger, c agent.Claim, tokens int, usd float64) {
	t.Helper()
	t.ok(l.Settle(t.ctx, c, agent.Spent{Usage: llm.Usage{Input: tokens}, USD: usd}))
}

// over checks that the budget does not have it.
func (t *tester) over(l agent.Ledger, c agent.Claim, want agent.OverBudget) {
	t.Helper()
	_, err := l.Reserve(t.ctx, c)
	var over *agent.OverBudget
	if !errors.As(err, &over) || *over != want {
		t.Errorf("Reserve = %v, want %v", err, &want)
	}
}

// ledgerHolds checks that nobody gets what others have claimed and not settled, and that what they
// settle for less is free.
func ledgerHolds(t *tester) {
	a, b := t.engine(), t.engine()
	const price = 1.0 / 1024 // sums of it are exact
	for scope, budget := range map[string]agent.Budget{"tokens": {Tokens: 1000}, "usd": {USD: 1000 * price}} {
		priced := func(c agent.Claim) agent.Claim {
			c.InputUSD, c.OutputUSD = price, price
			return c
		}
		first := t.reserve(a.Ledger(scope, budget), priced(reservation("first", 100, 400, 10)))
		second := t.reserve(b.Ledger(scope, budget), priced(reservation("second", 100, 5000, 10)))
		if first.Output != 400 || second.Output != 400 {
			t.Errorf("%s: of 1,000 two claims with 100 of input get %d and %d, want 400 each", scope, first.Output,
				second.Output)
		}
		if output, err := a.Ledger(scope, budget).Reserve(t.short(),
			priced(reservation("third", 0, 10, 1))); err == nil {
			t.Errorf("%s: where all is claimed a claim gets %d", scope, output)
		}
		t.settle(b.Ledger(scope, budget), second, 200, 200*price)
		if c := t.reserve(a.Ledger(scope, budget), priced(reservation("third", 0, 5000, 1))); c.Output != 300 {
			t.Errorf("%s: of 1,000, 500 claimed and 200 spent, a claim gets %d", scope, c.Output)
		}
	}
}

// spends lets sessions on two engines spend a budget until it has no more for them, and returns
// what they have spent.
func (t *tester) spends(budget agent.Budget, price float64) (tokens int) {
	engines := []fleet.Engine{t.engine(), t.engine()}
	var spent, held atomic.Int64
	t.in(12, func(i int) {
		l := engines[i%2].Ledger("s", budget)
		for n := 0; ; n++ {
			c := reservation(fmt.Sprint("session", i), 100, 400, 50)
			c.InputUSD, c.OutputUSD = price, price
			output, err := l.Reserve(t.ctx, c)
			var over *agent.OverBudget
			if errors.As(err, &over) {
				return
			} else if err != nil {
				t.Error(err)
				return
			}
			c.Output = output
			held.Add(int64(c.Tokens()))
			if all := spent.Load() + held.Load(); all > 10_000 {
				t.Errorf("%d tokens are spent and held, of 10,000", all)
			}
			took := c.Tokens() * (n%4 + 1) / 4
			held.Add(int64(-c.Tokens())) // before it is spent: for a moment there is less than there is
			spent.Add(int64(took))
			if err := l.Settle(t.ctx, c, agent.Spent{Usage: llm.Usage{Input: 1, Output: took - 1},
				USD: float64(took) * price}); err != nil {
				t.Error(err)
			}
		}
	})
	return int(spent.Load())
}

func ledgerTokens(t *tester) {
	spent := t.spends(agent.Budget{Tokens: 10_000}, 0)
	// What is left when the last session gave up does not suffice for a call, besides what others
	// held then.
	if spent > 10_000 || spent < 4_000 {
		t.Errorf("%d tokens of 10,000 were spent", spent)
	}
	l := t.engine().Ledger("s", agent.Budget{Tokens: 10_000})
	if left := 10_000 - spent; left >= 150 {
		c := t.reserve(l, reservation("last", 100, left, 50))
		if c.Tokens() != left {
			t.Errorf("of %d tokens that are left a claim gets %d", left, c.Tokens())
		}
		t.settle(l, c, left, 0)
	}
	t.over(l, reservation("last", 100, 400, 50), agent.OverBudget{Limit: agent.ReasonBudgetTokens, Value: 10_000})
}

func ledgerUSD(t *tester) {
	const price = 1.0 / 1024 // sums of it are exact
	spent := t.spends(agent.Budget{USD: 10_000 * price}, price)
	if spent > 10_000 || spent < 4_000 {
		t.Errorf("%d tokens for a budget of 10,000 were spent", spent)
	}
	l := t.engine().Ledger("s", agent.Budget{USD: 10_000 * price})
	c := reservation("dear", 100, 400, 50)
	c.InputUSD, c.OutputUSD = 100*price, price
	t.over(l, c, agent.OverBudget{Limit: agent.ReasonBudgetUSD, Value: 10_000 * price})
	t.reserve(l, reservation("of unknown price", 100, 400, 400))
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
			t.settle(l, lost, 0, 0) // by a process that was thought dead: too late
		}
		t.settle(l, c, 100, 0)
		if got := t.reserve(l, reservation("other", 100, 5000, 10)); got.Output != 800 {
			t.Errorf("after a lost claim of 500 of 1,500 tokens, and 100 spent, an answer gets %d, want 800",
				got.Output)
		}
	}
}

func ledgerScopes(t *tester) {
	a, b := t.engine(), t.engine()
	free := a.Ledger("one", agent.Budget{})
	c := t.reserve(free, reservation("s", 300, 200, 1))
	t.settle(free, c, 500, 0)
	if got := t.reserve(b.Ledger("one", agent.Budget{Tokens: 600}), reservation("s", 0, 200, 1)); got.Output != 100 {
		t.Errorf("a budget of 600 of which 500 were spent grants %d", got.Output)
	}
	for _, scope := range []string{"two", "one.two", "one/two", "ONE", "o ne*>", "ö"} {
		if got := t.reserve(b.Ledger(scope, agent.Budget{Tokens: 600}),
			reservation("s", 0, 600, 1)); got.Output != 600 {
			t.Errorf("scope %q has %d of 600", scope, got.Output)
		}
	}
}

func ledgerSettles(t *tester) {
	budget := agent.Budget{Tokens: 1000}
	l := t.engine().Ledger("s", budget)
	c := t.reserve(l, reservation("s", 100, 400, 10))
	t.settle(l, c, 300, 0)
	t.settle(l, c, 300, 0) // its answer was lost on the way
	c = t.reserve(l, reservation("s", 100, 5000, 10))
	if c.Output != 600 {
		t.Errorf("after a claim that was settled twice for 300 of 1,000 an answer gets %d, want 600", c.Output)
	}
	t.settle(l, c, 900, 0) // more than was claimed
	t.over(l, reservation("s", 0, 10, 1), agent.OverBudget{Limit: agent.ReasonBudgetTokens, Value: 1000})
	ended, end := context.WithCancel(t.ctx)
	end()
	_, err := l.Reserve(ended, reservation("s", 0, 10, 1))
	t.refused(err, "Reserve after the end of its context")
}
