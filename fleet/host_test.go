package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
)

// TestP4_HostsThatAreWrong has hosts whose tasks can never begin.
func TestP4_HostsThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]func(next fleet.Host) fleet.Host{
		"not called Job.Attach": func(fleet.Host) fleet.Host {
			return func(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
				s, err := agent.New(ctx, agent.Options{Client: &llm.Client{Providers: []llm.Provider{nothing{}}},
					Model: "m", Env: j.Workspace.Env(), System: "x", Journal: j.Journal})
				return fleet.Hosted{Session: s}, err
			}
		},
		"opened no session": func(fleet.Host) fleet.Host {
			return func(context.Context, *fleet.Job) (fleet.Hosted, error) { return fleet.Hosted{}, nil }
		},
		"a bug": func(fleet.Host) fleet.Host {
			return func(context.Context, *fleet.Job) (fleet.Hosted, error) { panic("a bug") }
		},
		"attached in vain": func(next fleet.Host) fleet.Host {
			return func(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
				j.Attach(&agent.Options{Env: j.Workspace.Env()})
				return fleet.Hosted{}, &fleet.PermanentError{Err: errors.New("attached in vain")}
			}
		},
		"runs none": func(next fleet.Host) fleet.Host { return next }, // the task has checks
	} {
		f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
		w := f.worker("w1")
		w.Host = wrong(w.Host)
		f.start(w)
		task := fleet.Task{ID: "t1", Prompt: "Do it."}
		if name == "runs none" {
			task.Agent.Checks = []string{"true"}
		}
		f.submit(task)
		if s := f.wait("t1"); s.State != fleet.Failed || !strings.Contains(s.Reason, name) || s.Attempt != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		if n := len(f.model.Requests()); n > 0 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// nothing is a provider that is never asked.
type nothing struct{ llm.Provider }

func (nothing) Name() string { return "nothing" }

// TestP2_InterruptedWhileItIsVerified interrupts a task whose session has come to its end, and
// whose checks then fail: it is not done.
func TestP2_InterruptedWhileItIsVerified(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	verifies, goOn := make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(verifies) })
	w := f.worker("w1")
	next := w.Host
	w.Host = func(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
		hosted, err := next(ctx, j)
		hosted.Verify = func(context.Context, *agent.Result) error {
			begun()
			<-goOn
			return errors.New("make test failed")
		}
		return hosted, err
	}
	f.start(w)
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	<-verifies
	if err := f.client().Interrupt(t.Context(), "t1"); err != nil {
		t.Error(err)
	}
	close(goOn)
	if s := f.wait("t1"); s.State != fleet.Failed || s.Reason != "make test failed" {
		t.Errorf("status: %+v", s)
	}
}

// TestP4_StoreOfAJob opens the session through the job's store, as hosts do that open journals
// themselves.
func TestP4_StoreOfAJob(t *testing.T) {
	t.Parallel()
	h := newHeld(1)
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return h.answer(r, []fakellm.Turn{f.effect("one"), f.effect("two"), {Text: "Done."}})
	}, fakellm.Options{})
	through := func(w *fleet.Worker, problems chan<- string) {
		next := w.Host
		w.Host = func(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
			entries, err := j.Store.List(ctx)
			if err != nil || len(entries) != 1 || entries[0].ID != "t1" {
				problems <- "the list"
			}
			_, err = j.Store.Create(ctx, "t1")
			if j.Resumes != errors.Is(err, fs.ErrExist) {
				problems <- "creating the session"
			}
			if j.Journal, err = j.Store.Open(ctx, "t1"); err != nil {
				problems <- "opening the session"
			}
			if _, err := j.Store.Open(ctx, "other"); !errors.Is(err, fs.ErrNotExist) {
				problems <- "opening another one"
			}
			return next(ctx, j)
		}
	}
	problems := make(chan string, 20)
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	w1 := f.worker("w1")
	through(w1, problems)
	stop := f.start(w1)
	<-h.came
	close(h.letGo)
	if err := stop(); err != nil {
		t.Error(err)
	}
	w2 := f.worker("w2")
	through(w2, problems)
	f.start(w2)
	if s := f.wait("t1"); s.State != fleet.Done {
		t.Errorf("status: %+v", s)
	}
	select {
	case p := <-problems:
		t.Error(p)
	default:
	}
}

// TestP4_AnswerThatDoesNotFit answers a question with a form wrongly at first.
func TestP4_AnswerThatDoesNotFit(t *testing.T) {
	t.Parallel()
	count := tool.New(llm.ToolDefinition{Name: "count", Description: "Asks for a number."},
		func(ctx context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
			_, err := c.Session.Ask(ctx, tool.Question{Text: "How many?",
				Form: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
			return tool.Result{}, err
		})
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{{Name: "count"}}},
		fakellm.Turn{Text: "Done."}), fakellm.Options{})
	f.start(f.worker("w1", func(_ *fleet.Worker, o *agent.Options) {
		o.Questions, o.Tools = &agent.Questions{}, append(o.Tools, count)
	}))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	var ids []string
	for _, answer := range []fleet.Answer{{Text: "many"}, {Value: json.RawMessage(`{"n":3}`)}} {
		f.until("the ask", func() bool { return len(f.asked("t1")) == 1 })
		ask := f.asked("t1")[0]
		ids = append(ids, ask.ID)
		if wrong := strings.Contains(ask.Text, "did not fit"); wrong != (len(ids) == 2) ||
			ask.Kind != fleet.AskQuestion {
			t.Errorf("ask %d: %+v", len(ids), ask)
		}
		if err := f.client().Answer(t.Context(), "t1", ask.ID, answer); err != nil {
			t.Fatal(err)
		}
	}
	if s := f.wait("t1"); s.State != fleet.Done || ids[0] == ids[1] {
		t.Errorf("status: %+v, asks %v", s, ids)
	}
	if results := f.results("t1"); len(results) != 1 || !strings.Contains(results[0], `"n":3`) {
		t.Errorf("results: %q", results)
	}
}

// TestP4_WorkerOfTheSameName has two workers with one name: the second one does not run while the
// first one lives.
func TestP4_WorkerOfTheSameName(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(), fakellm.Options{})
	patient := func(w *fleet.Worker, _ *agent.Options) { w.TTL = 2 * time.Second }
	f.start(f.worker("w1", patient))
	f.until("the lease", func() bool {
		workers, err := f.engine.Leases().List(t.Context())
		return err == nil && len(workers) == 1
	})
	if err := f.worker("w1", patient).Run(t.Context()); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("the second worker: %v", err)
	}
	if err := f.worker("w2",
		func(w *fleet.Worker, _ *agent.Options) { w.Tenants = []string{"nobody"} }).Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `no tenant "nobody"`) {
		t.Errorf("a worker of an unknown tenant: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.worker("w3").Run(ended); err != nil {
		t.Errorf("a worker whose context has ended: %v", err)
	}
}
