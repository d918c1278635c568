package natsfleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/seed"
)

// taskModel is what should have become of the tasks of a tenant.
type taskModel struct {
	tasks map[string]*taskOfModel
	limit int
}

type taskOfModel struct {
	state    fleet.State
	attempt  int
	canceled bool
	claim    fleet.Claim // the last one
	holds    bool
}

// claimed returns how many tasks are claimed, and whether another one is due.
func (m *taskModel) claimed() (n int, due bool) {
	for _, t := range m.tasks {
		if t.holds {
			n++
		}
		due = due || t.state == fleet.Queued
	}
	return n, due && n < m.limit
}

// ends is what a model does when a claim ends with a state.
func (t *taskOfModel) ends(s fleet.State) {
	if t.state, t.holds = s, false; t.canceled && !s.Final() {
		t.state = fleet.Canceled
	}
}

// modelChecks bounds the runs of random calls unless -rapid.checks says more.
const modelChecks = 25

var modelRestarts = flag.Bool("p3.restarts", false, "restart the server in the middle of random calls, too")

// Random calls of two machines do what the contract says, one after the other, also with a restart
// in between.
func TestP3_RandomCalls(t *testing.T) {
	t.Parallel()
	h := listening(t, nil, one(2, 0))
	open := func() *tasks {
		e, err := Open(t.Context(), h.server.URL(), OpenOptions{Token: testToken})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() }) // at the end
		s, err := e.Open(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		return s.Tasks.(*tasks)
	}
	machines := []*tasks{open(), open()}
	ids, runs := []string{"a", "b.b", "c", "d"}, 0
	seed.Check(t, func(r *rapid.T) {
		if runs++; runs > modelChecks &&
			flag.Lookup("rapid.checks").Value.String() == flag.Lookup("rapid.checks").DefValue {
			return
		}
		m := &taskModel{map[string]*taskOfModel{}, 2}
		defer clean(t, machines[0], m)
		machine := func() *tasks { return machines[rapid.IntRange(0, 1).Draw(r, "machine")] }
		some := func() (string, *taskOfModel) { id := rapid.SampledFrom(ids).Draw(r, "id"); return id, m.tasks[id] }
		actions := map[string]func(*rapid.T){
			"submit": func(r *rapid.T) {
				id, known := some()
				s, isNew, err := machine().Submit(t.Context(), fleet.Task{ID: id})
				if err != nil || isNew != (known == nil) {
					r.Fatalf("submit %s: new %v, %v", id, isNew, err)
				}
				if known == nil {
					m.tasks[id] = &taskOfModel{state: s.State}
				}
			},
			"cancel": func(r *rapid.T) {
				id, known := some()
				err := machine().Cancel(t.Context(), id)
				if (known == nil) != errors.Is(err, fs.ErrNotExist) || known != nil && err != nil {
					r.Fatalf("cancel %s: %v", id, err)
				}
				if known == nil || known.state.Final() {
					return
				}
				if known.canceled = true; !known.holds {
					known.state = fleet.Canceled
				}
			},
			"claim": func(r *rapid.T) { m.claim(t, r, machine()) },
			"end": func(r *rapid.T) {
				id, known := some()
				if known == nil || known.claim == nil {
					return
				}
				state := rapid.SampledFrom([]fleet.State{fleet.Running, fleet.Queued, fleet.Done, fleet.Failed}).Draw(r,
					"state")
				held := known.holds
				err := known.write(t.Context(), state)
				if same := !held && state != fleet.Running && known.claim.Status().State == state; held && err != nil ||
					!held && !same && !errors.Is(err, fleet.ErrLost) {
					r.Fatalf("%s ends as %s, held %v: %v", id, state, held, err)
				}
				if held && state != fleet.Running {
					known.ends(state)
				}
			},
			"extend": func(r *rapid.T) {
				id, known := some()
				if known == nil || known.claim == nil {
					return
				}
				if err := known.claim.Extend(t.Context()); known.holds != (err == nil) || known.holds &&
					known.claim.Canceled() != known.canceled {
					r.Fatalf("extend %s, held %v, canceled %v: %v, %v", id, known.holds, known.canceled, err,
						known.claim.Canceled())
				}
			},
			"remove": func(r *rapid.T) {
				id, known := some()
				err := machine().Remove(t.Context(), id)
				if final := known == nil || known.state.Final(); final != (err == nil) {
					r.Fatalf("remove %s: %v", id, err)
				}
				if err == nil {
					delete(m.tasks, id)
				}
			},
			"list": func(r *rapid.T) { m.check(t, r, machine()) },
		}
		if *modelRestarts {
			actions["restart"] = func(*rapid.T) { h.stop(); h.start() }
		}
		r.Repeat(actions)
		m.check(t, r, machine())
	})
}

// write ends a claim with a state, or updates it.
func (t *taskOfModel) write(ctx context.Context, state fleet.State) error {
	s := with(t.claim.Status(), state)
	switch {
	case state == fleet.Running:
		return t.claim.Update(ctx, s)
	case state.Final():
		return t.claim.Finish(ctx, s)
	}
	return t.claim.Return(ctx, s)
}

// claim claims a task, if one is due.
func (m *taskModel) claim(t *testing.T, r *rapid.T, tasks *tasks) {
	_, due := m.claimed()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	if !due {
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	}
	defer cancel()
	c, err := tasks.Claim(ctx, "w", time.Hour)
	if due != (err == nil) {
		r.Fatalf("claim, due %v: %v", due, err)
	}
	if err != nil {
		return
	}
	known := m.tasks[c.Task().ID]
	if known == nil || known.state != fleet.Queued {
		r.Fatalf("claimed %s, which is %+v", c.Task().ID, known)
	}
	known.state, known.claim, known.holds = fleet.Running, c, true
	if known.attempt++; c.Status().Attempt != known.attempt || len(c.Status().Deaths) > 0 {
		r.Fatalf("claimed %+v, attempt %d", c.Status(), known.attempt)
	}
}

// check compares the list of tasks with the model.
func (m *taskModel) check(t *testing.T, r *rapid.T, tasks *tasks) {
	want, got := map[string]string{}, map[string]string{}
	for id, k := range m.tasks {
		want[id] = fmt.Sprint(k.state, k.attempt)
	}
	for s, err := range tasks.List(t.Context()) {
		if err != nil {
			r.Fatal(err)
		}
		got[s.ID] = fmt.Sprint(s.State, s.Attempt)
	}
	if !maps.Equal(want, got) {
		r.Fatalf("there are %v, want %v", got, want)
	}
}

// clean removes all tasks.
func clean(t *testing.T, tasks *tasks, m *taskModel) {
	ids := slices.Sorted(maps.Keys(m.tasks))
	for _, id := range ids {
		if k := m.tasks[id]; k.holds {
			if err := k.write(t.Context(), fleet.Done); err != nil {
				t.Error(err)
			}
		}
		if err := tasks.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if err := tasks.Remove(t.Context(), ids...); err != nil {
		t.Error(err)
	}
}

var queueTasks = flag.Int("p4.tasks", 60, "tasks of which many claimers die")

// Many claimers on several machines, of which some die and some come back too late, finish every
// task once, and hold no more than the limit, while the server starts again in the middle.
func TestP4_EveryTaskOnce(t *testing.T) {
	t.Parallel()
	const limit, hold = 5, time.Second
	h := listening(t, nil, one(limit, 0))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var held highest
	var finished, deaths atomic.Int64
	var machines []*tasks
	var last *space
	for range 3 {
		e, err := Open(ctx, h.server.URL(), OpenOptions{Token: testToken})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		s, err := e.Open(ctx, "one")
		if err != nil {
			t.Fatal(err)
		}
		last = inside(e, "one")
		machines = append(machines, s.Tasks.(*tasks))
	}
	for i := range *queueTasks {
		submit(t, machines[i%3], fmt.Sprintf("t%d", i))
	}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for n := i; finished.Load() < int64(*queueTasks); n++ {
				one, end := context.WithTimeout(ctx, 5*time.Second)
				c, err := machines[i%3].Claim(one, fmt.Sprint("w", i), hold)
				end()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					if ctx.Err() != nil {
						return
					}
					continue
				}
				if n%7 == 0 { // it dies
					deaths.Add(1)
					continue
				}
				held.enter()
				if err := c.Extend(ctx); err != nil && !errors.Is(err, fleet.ErrLost) {
					t.Logf("extend: %v", err)
				}
				held.leave()
				switch err := c.Finish(ctx, with(c.Status(), fleet.Done)); {
				case err == nil:
					if finished.Add(1) == int64(*queueTasks/2) {
						h.stop()
						h.start()
					}
				case !errors.Is(err, fleet.ErrLost):
					t.Errorf("finish: %v", err)
				}
			}
		})
	}
	all.Wait()
	done, dead := 0, 0
	for s, err := range machines[0].List(ctx) {
		if err != nil || s.State != fleet.Done {
			t.Errorf("%+v, %v", s, err)
		}
		done++
		dead += len(s.Deaths)
	}
	if done != *queueTasks || finished.Load() != int64(done) || held.most.Load() > limit ||
		int64(dead) < deaths.Load() {
		t.Errorf("%d tasks are done, finished %d times, %d were held at once, %d deaths of %d", done, finished.Load(),
			held.most.Load(), dead, deaths.Load())
	}
	if info, err := last.queue.stream.Info(ctx); err != nil || info.State.Msgs != 0 {
		t.Errorf("left in the queue: %+v, %v", info, err)
	}
}
