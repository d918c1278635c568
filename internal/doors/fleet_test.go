package doors_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// task is a task that a fleet's queue delivers at least once.
type task struct{ id, session, text string }

// leases records which worker may work on a session. In a real fleet they expire; here the tests
// revoke them.
type leases struct {
	mu     sync.Mutex
	holder map[string]*worker
}

func (l *leases) give(session string, w *worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder[session] = w
}

func (l *leases) held(session string, w *worker) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder[session] == w
}

// worker is a sketch of a worker of module fleet. Workers share a store that fences, leases and a
// budget.
type worker struct {
	store   journal.Store
	leases  *leases
	options agent.Options // of every session
	events  []agent.Event
}

// notYet is an error that says when a task that waits for a model is to be delivered again.
type notYet struct{ until time.Time }

func (e notYet) Error() string { return "again at " + e.until.String() }

// work takes steps of a session until it is at rest, the lease is lost or the worker is told to
// stop.
func (w *worker) work(ctx context.Context, t task, stop <-chan struct{}) (*agent.Result, error) {
	s, err := w.open(ctx, t.session)
	if err != nil {
		return nil, err
	}
	if err := s.Begin(ctx, t.text, agent.Key(t.id)); err != nil {
		return nil, errors.Join(err, s.Release(ctx))
	}
	for {
		select {
		case <-stop:
			return nil, s.Release(ctx)
		default:
		}
		step, err := s.Advance(ctx)
		switch {
		case err != nil || step.Act == agent.ActRest:
			result := s.Result()
			return result, errors.Join(err, s.Release(ctx))
		case step.Act == agent.ActWait:
			return nil, errors.Join(notYet{step.Until}, s.Release(ctx))
		}
	}
}

// open takes a session over from its previous worker, or starts it.
func (w *worker) open(ctx context.Context, id string) (*agent.Session, error) {
	log, err := w.store.Open(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		log, err = w.store.Create(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	o := w.options
	o.ID, o.Journal, o.Middleware = id, log, []tool.Middleware{w.fence}
	o.OnEvent = func(ev agent.Event) { w.events = append(w.events, ev) }
	start := agent.New
	if log.Len() > 0 {
		start = agent.Resume
	}
	session, err := start(ctx, o)
	if err != nil {
		err = errors.Join(err, log.Close())
	}
	return session, err
}

// fence leaves calls open for the next worker when the lease is lost.
func (w *worker) fence(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if !w.leases.held(call.SessionID, w) {
			return tool.Result{}, fmt.Errorf("the lease of %s is lost: %w", call.SessionID, tool.ErrNotBegun)
		}
		return next(ctx, call)
	}
}

// endEvents returns the events of a worker that report an end.
func (w *worker) endEvents() (kinds []string) {
	for _, ev := range w.events {
		switch ev.(type) {
		case *agent.Error, *agent.ProcessingEnd, *agent.SessionEnd, *agent.Warning:
			kinds = append(kinds, string(ev.Head().Kind))
		}
	}
	return kinds
}

// newWorkers returns two workers whose model follows a script. Their sessions have a tool that must
// run once.
func newWorkers(t *testing.T, b agent.Budget, steps ...llmtest.Step) (one, two *worker, h *host, ran *int) {
	t.Helper()
	h, ran = newHost(t, env.LocalOptions{}, steps...), new(int)
	pay := tool.New(llm.ToolDefinition{Name: "pay", Description: "Pays."}, func(context.Context, *tool.Call,
		struct{}) (tool.Result, error) {
		*ran++
		return tool.Text("paid"), nil
	})
	store, shared := journal.NewMemoryStore(true), &leases{holder: map[string]*worker{}}
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{h.model}}, Profile: coder(), Env: h.env,
		System: "You are a sketch.", Tools: []tool.Tool{pay}, Ledger: agent.NewLedger(b)}
	t.Cleanup(func() {
		entries, err := store.List(context.Background())
		if err != nil {
			t.Error(err)
		}
		for _, entry := range entries {
			replay(t, store, entry.ID)
		}
	})
	return &worker{store: store, leases: shared, options: o}, &worker{store: store, leases: shared, options: o}, h, ran
}

var errand = task{id: "task-1", session: "s", text: "pay the bill"}

// A worker that is cut off while its model answers ends silently, and the other one finishes the
// task. So does a worker that notices the lost lease itself, and one that is told to stop. The
// model's calls run once.
func TestJ_FleetTaskChangesWorkers(t *testing.T) {
	pay := llmtest.Calls(llmtest.Call("pay", nil))
	for name, c := range map[string]struct {
		first llmtest.Step // the answer of the first worker's model, after which the worker has lost the session
		stop  bool         // because it is told to stop
		want  error
	}{
		"taken over":    {llmtest.Text("late"), false, agent.ErrTakenOver},
		"lease lost":    {pay, false, agent.ErrReleased},
		"told to stop":  {pay, true, nil},
		"call too late": {pay, false, agent.ErrTakenOver},
	} {
		t.Run(name, func(t *testing.T) {
			started, answer, stop := make(chan struct{}), make(chan struct{}), make(chan struct{})
			one, two, h, ran := newWorkers(t, agent.Budget{}, llmtest.Gate(started, answer, c.first))
			one.leases.give("s", one)
			ended := make(chan error)
			go func() { _, err := one.work(t.Context(), errand, stop); ended <- err }()
			<-started
			one.leases.give("s", two)
			second := func() {
				if result, err := two.work(t.Context(), errand, nil); err != nil || result.Text != "paid it" {
					t.Errorf("the second worker: %+v, %v", result, err)
				}
			}
			overtakes := errors.Is(c.want, agent.ErrTakenOver)
			if overtakes {
				h.model.Then(pay, llmtest.Text("paid it"))
				second()
			}
			if c.stop {
				close(stop)
			}
			close(answer)
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("the first worker: %v, want %v", err, c.want)
			}
			if !overtakes {
				h.model.Then(llmtest.Text("paid it"))
				second()
			}
			if len(one.endEvents()) > 0 || !slices.Equal(two.endEvents(), []string{"PROCESSING_END"}) || *ran != 1 {
				t.Errorf("the workers claim %q and %q, and have paid %d times", one.endEvents(), two.endEvents(), *ran)
			}
		})
	}
}

// A task that is delivered twice runs once: the second delivery finds its result.
func TestJ_FleetTaskTwice(t *testing.T) {
	one, two, h, ran := newWorkers(t, agent.Budget{}, llmtest.Calls(llmtest.Call("pay", nil)), llmtest.Text("paid it"))
	for _, w := range []*worker{one, two, one} {
		w.leases.give("s", w)
		if result, err := w.work(t.Context(), errand, nil); err != nil || result.Text != "paid it" {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if *ran != 1 || len(h.model.Requests()) != 2 {
		t.Errorf("paid %d times, with %d requests", *ran, len(h.model.Requests()))
	}
}

// A task that waits for the next attempt of a model call does not occupy a worker.
func TestJ_FleetTaskWaits(t *testing.T) {
	one, two, h, _ := newWorkers(t, agent.Budget{}, llmtest.Error(&llm.Error{Kind: llm.ErrOverloaded}),
		llmtest.Text("paid it"))
	now := time.Now()
	one.options.Now = func() time.Time { return now }
	two.options.Now = one.options.Now
	var again notYet
	for _, w := range []*worker{one, two} {
		w.leases.give("s", w)
		if _, err := w.work(t.Context(), errand, nil); !errors.As(err, &again) || !again.until.After(now) {
			t.Errorf("the worker: %v", err)
		}
	}
	now = again.until
	if result, err := two.work(t.Context(), errand, nil); err != nil || result.Text != "paid it" ||
		h.model.Left() != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// Workers share a budget.
func TestJ_FleetBudget(t *testing.T) {
	costly := llmtest.Respond(llm.Response{Message: llm.Assistant("done"), Usage: llm.Usage{Input: 9_000, Output: 500}})
	one, two, h, _ := newWorkers(t, agent.Budget{Tokens: 10_000}, costly, costly)
	for i, w := range []*worker{one, two} {
		session := fmt.Sprint("s", i)
		w.leases.give(session, w)
		result, err := w.work(t.Context(), task{session, session, strings.Repeat("words ", 100)}, nil)
		if want := []agent.Reason{agent.ReasonCompleted, agent.ReasonBudgetTokens}[i]; err != nil ||
			result.Reason != want {
			t.Errorf("worker %d: %+v, %v; want %s", i, result, err, want)
		}
	}
	if h.model.Left() != 1 {
		t.Errorf("%d answers are left", h.model.Left())
	}
}
