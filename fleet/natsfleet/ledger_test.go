package natsfleet

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
)

// callOf returns the claim of a session's step.
func callOf(session string, step, input, output int) agent.Claim {
	return agent.Claim{Caller: llm.Caller{Session: session, Step: step, Attempt: 1}, Input: input, Output: output,
		Least: 1, InputUSD: 0.5, OutputUSD: 1}
}

func spent(tokens int, usd float64) agent.Spent {
	return agent.Spent{Usage: llm.Usage{Input: tokens}, USD: usd}
}

func reserve(t *testing.T, l agent.Ledger, c agent.Claim) agent.Claim {
	t.Helper()
	output, err := l.Reserve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.Output = output
	return c
}

func overBudget(t *testing.T, l agent.Ledger, c agent.Claim, limit agent.Reason) {
	t.Helper()
	over := (*agent.OverBudget)(nil)
	if output, err := l.Reserve(t.Context(), c); !errors.As(err, &over) || over.Limit != limit {
		t.Errorf("it grants %d, %v", output, err)
	}
}

var ledgerSessions = flag.Int("p6.sessions", 30, "sessions that share a ledger")

// Sessions on several machines share a budget, some are killed: it is never overspent, and used up
// nearly whole.
func TestP6_LedgerOfManySessions(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	const machines = 4
	budget := agent.Budget{Tokens: 200 * *ledgerSessions}
	var took atomic.Int64
	var wg sync.WaitGroup
	began, n := time.Now(), seed.Number(t)
	var calls atomic.Int64
	for m := range machines {
		e := h.engine()
		for i := m; i < *ledgerSessions; i += machines {
			wg.Go(func() { calls.Add(spend(t, e, budget, fmt.Sprint("s", i), n, &took)) })
		}
	}
	wg.Wait()
	t.Logf("%d sessions on %d machines: %d calls of the ledger in %v", *ledgerSessions, machines, calls.Load(),
		time.Since(began).Round(time.Millisecond))
	if n := took.Load(); n > int64(budget.Tokens) || n < int64(budget.Tokens)-100 {
		t.Errorf("%d tokens of %d", n, budget.Tokens)
	}
}

// spend makes model calls until the budget is over, and returns how often it called the ledger.
func spend(t *testing.T, e fleet.Engine, budget agent.Budget, session string, seed uint64,
	took *atomic.Int64) (calls int64) {
	l, r := e.Ledger("s", budget), rand.New(rand.NewPCG(seed, uint64(len(session))))
	for step := 1; ; step++ {
		c := callOf(session, step, 10, 10+r.IntN(40))
		calls++
		output, err := l.Reserve(t.Context(), c)
		if over := (*agent.OverBudget)(nil); errors.As(err, &over) {
			return calls
		} else if err != nil {
			t.Error(err)
			return calls
		}
		c.Output = output
		if r.IntN(8) == 0 { // killed: its claim counts whole
			took.Add(int64(c.Tokens()))
			continue
		}
		used := r.IntN(c.Tokens() + 1)
		took.Add(int64(used))
		calls++
		if err := l.Settle(t.Context(), c, spent(used, 0)); err != nil {
			t.Error(err)
			return calls
		}
	}
}
