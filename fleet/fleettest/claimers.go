package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// claimerChecks are about many who claim at once, some of whom die, and about how many tasks may
// run.
var claimerChecks = []check{
	{name: "P4_ClaimersAtOnce", run: claimersAtOnce},
	{name: "P4_ClaimersThatDie", run: claimersThatDie},
	{name: "P6_Limit", run: limits, options: limited(2, 0)},
	{name: "P6_LimitAtOnce", run: limitsAtOnce, options: limited(2, 0)},
	{name: "P6_LimitOfDeadWorkers", run: limitOfDeadWorkers, options: limited(1, 0)},
	{name: "P6_PausedTasksAreBeyondTheLimit", run: pausedBeyondLimit, options: limited(1, 0)},
}

// claimers runs claimers on three engines until n tasks are final. Work gets each claim, and
// reports whether it has finished the task.
func (t *tester) claimers(each, n int, hold time.Duration, work func(s fleet.Space, c fleet.Claim) bool) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	var done atomic.Int32
	spaces := []fleet.Space{t.own(), t.own(), t.own()}
	t.in(3*each, func(i int) {
		for {
			c, err := spaces[i%3].Tasks().Claim(ctx, fmt.Sprint("w", i), hold)
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			if work(spaces[i%3], c) && int(done.Add(1)) == n {
				cancel()
			}
		}
	})
	if int(done.Load()) != n || t.ctx.Err() != nil {
		t.Errorf("%d of %d tasks were finished", done.Load(), n)
	}
}

// counter counts by id.
type counter struct {
	sync.Mutex
	n map[string]int
}

func (c *counter) add(id string) {
	c.Lock()
	defer c.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[id]++
}

func claimersAtOnce(t *tester) {
	const n = 60
	s := t.own()
	for i := range n {
		t.submit(s, fmt.Sprint(i))
	}
	var claims counter
	t.claimers(3, n, long, func(_ fleet.Space, c fleet.Claim) bool {
		claims.add(c.Task().ID)
		t.finish(c, fleet.Done)
		return true
	})
	for i := range n {
		if id := fmt.Sprint(i); claims.n[id] != 1 || t.status(s, id).Attempt != 1 {
			t.Errorf("task %s was claimed %d times, by its status %d times", id, claims.n[id], t.status(s, id).Attempt)
		}
	}
}

// claimersThatDie checks that tasks whose claimers die are done once, and that each death is
// counted.
func claimersThatDie(t *tester) {
	const n = 12
	s := t.own()
	for i := range n {
		t.submit(s, fmt.Sprint(i))
	}
	var claims, finished counter
	t.claimers(2, n, 10*t.Unit, func(_ fleet.Space, c fleet.Claim) bool {
		claims.add(c.Task().ID)
		status := c.Status()
		if status.Attempt < 3 {
			return false
		}
		status.State = fleet.Done
		err := c.Finish(t.ctx, status)
		if err == nil {
			finished.add(c.Task().ID)
		} else if !errors.Is(err, fleet.ErrLost) {
			t.Error(err)
		}
		return err == nil
	})
	for i := range n {
		id := fmt.Sprint(i)
		status := t.status(s, id)
		if finished.n[id] != 1 || status.State != fleet.Done || status.Attempt != claims.n[id] ||
			len(status.Deaths) != status.Attempt-1 {
			t.Errorf("task %s was claimed %d times and finished %d times: %+v", id, claims.n[id], finished.n[id],
				status)
		}
	}
}

func limits(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "1", "2", "3", "4", "5")
	first, second := t.claim(a, "w"), t.claim(b, "w")
	t.nothingDue(a)
	t.nothingDue(b)
	t.finish(first, fleet.Done)
	third := t.claim(b, "w")
	t.nothingDue(a)
	t.giveBack(second, fleet.Queued, time.Time{})
	fourth := t.claim(a, "w")
	t.nothingDue(b)
	t.finish(third, fleet.Failed)
	t.finish(fourth, fleet.Done)
	t.finish(t.claim(a, "w"), fleet.Done)
	t.finish(t.claim(b, "w"), fleet.Done)
	t.nothingDue(a)
}

func limitsAtOnce(t *tester) {
	const n = 24
	s := t.own()
	for i := range n {
		t.submit(s, fmt.Sprint(i))
	}
	var running, most atomic.Int32
	t.claimers(2, n, long, func(_ fleet.Space, c fleet.Claim) bool {
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		t.ok(c.Extend(t.ctx))
		running.Add(-1)
		t.finish(c, fleet.Done)
		return true
	})
	if most.Load() > 2 {
		t.Errorf("%d tasks ran at once, want 2 at most", most.Load())
	}
}

func limitOfDeadWorkers(t *tester) {
	s := t.own()
	t.submit(s, "1", "2")
	t.claimFor(s, "dead", 6*t.Unit)
	for range 2 {
		t.finish(t.claim(s, "next"), fleet.Done)
	}
	t.nothingDue(s)
}

func pausedBeyondLimit(t *tester) {
	s := t.own()
	t.submit(s, "1", "2", "3")
	for range 2 {
		t.giveBack(t.claim(s, "w"), fleet.Paused, time.Now().Add(long))
	}
	t.finish(t.claim(s, "w"), fleet.Done)
	t.nothingDue(s)
}
