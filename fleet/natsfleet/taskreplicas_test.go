package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
)

// The leaders of the streams die in the middle: what was acknowledged stays, every task is finished
// once, slots and ledgers hold.
func TestP7_TasksWhoseLeadersDie(t *testing.T) {
	t.Parallel()
	servers := serveReplicas(t, replicaConfigs(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	open := func() fleet.Engine {
		e, err := Open(ctx, urls(servers), OpenOptions{Token: operatorToken})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() }) // at the end
		return e
	}
	engines := []fleet.Engine{open(), open()}
	var machines []*tasks
	var last *space
	for _, e := range engines {
		s, err := e.Open(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		last = inside(e, "a")
		machines = append(machines, s.Tasks.(*tasks))
	}
	lease, err := engines[0].Leases().Acquire(ctx, fleet.WorkerInfo{Name: "w"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	const n = 16
	for i := range n {
		submit(t, machines[i%2], fmt.Sprintf("t%d", i))
	}
	stream, err := last.account.js.Stream(ctx, "tasks")
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	var finished atomic.Int64
	kill := sync.OnceFunc(func() {
		for _, s := range servers {
			if s.server.Name() == info.Cluster.Leader {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	budget := agent.Budget{Tokens: 10 * n}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			l := engines[i%2].Ledger("s", budget)
			for finished.Load() < n && ctx.Err() == nil {
				one, end := context.WithTimeout(ctx, 3*time.Second)
				c, err := machines[i%2].Claim(one, fmt.Sprint("w", i), 10*time.Second)
				end()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("claim: %v", err)
					}
					continue
				}
				if err := c.Finish(ctx, with(c.Status(), fleet.Done)); err != nil {
					if !errors.Is(err, fleet.ErrLost) { // on a busy machine the claim may have ended
						t.Errorf("finish: %v", err)
					}
					continue
				}
				call := callOf(c.Task().ID, 1, 4, 6)
				if _, err := l.Reserve(ctx, call); err != nil {
					t.Errorf("reserve: %v", err)
				}
				if err := l.Settle(ctx, call, spent(10, 0)); err != nil {
					t.Errorf("settle: %v", err)
				}
				if finished.Add(1) == n/2 {
					kill()
				}
			}
		})
	}
	all.Wait()
	done := 0
	for s, err := range machines[1].List(ctx) {
		if err != nil || s.State != fleet.Done || s.Attempt != 1 || len(s.Deaths) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
		done++
	}
	if done != n || finished.Load() != n {
		t.Errorf("%d tasks are done, finished %d times", done, finished.Load())
	}
	overBudget(t, engines[1].Ledger("s", budget), callOf("x", 1, 1, 1), agent.ReasonBudgetTokens)
	if err := lease.Renew(ctx, fleet.WorkerInfo{}); err != nil {
		t.Errorf("the lease: %v", err)
	}
}
