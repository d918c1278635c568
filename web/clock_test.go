package web_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/web"
)

// timed runs a session in a bubble of its own. Its model answers with the steps, each with the
// usage that prices need.
func timed(t *testing.T, do func(t *testing.T, s *agent.Session),
	steps func(s **agent.Session) []llmtest.Step) (o web.Overview) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		log := new(journal.Memory)
		var s *agent.Session
		s, err = agent.New(t.Context(), agent.Options{Journal: log, Env: local, OutputDir: t.TempDir(),
			Client:  &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", steps(&s)...)}},
			Policy:  agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}},
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		do(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o = traceOf(t, log, nil).Overview(1)
	})
	return o
}

// after is a step of a model that takes some time.
func after(seconds time.Duration, do func(ctx context.Context), text string) llmtest.Step {
	return llmtest.Func(func(ctx context.Context, _ *llm.Request) llmtest.Step {
		if do != nil {
			do(ctx)
		}
		select {
		case <-time.After(seconds * time.Second):
		case <-ctx.Done():
		}
		return llmtest.Respond(llm.Response{Usage: llm.Usage{Input: 100, Output: 10},
			Message: llm.Message{Parts: llm.Parts{llm.Text{Text: text}}}})
	})
}

// A model call takes the time from its request to its answer, whatever the host writes in the
// journal meanwhile.
func TestN5_TimeOfModelCallsWithRecordsAmongThem(t *testing.T) {
	o := timed(t, func(t *testing.T, s *agent.Session) {
		if _, err := s.Submit(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}, func(s **agent.Session) []llmtest.Step {
		steer := func(ctx context.Context) {
			time.Sleep(15 * time.Second)
			if err := (*s).Steer(ctx, "mind the gap"); err != nil {
				t.Error(err)
			}
		}
		return []llmtest.Step{after(5, steer, "one"), after(7, nil, "two")}
	})
	if want := (web.Times{Total: 27_000, Model: 27_000}); o.Time != want ||
		!slices.Equal(o.Steps.Model, []int64{20_000, 7_000}) || !slices.Equal(o.Steps.Waiting, []int64{0, 0}) {
		t.Errorf("the times are %+v, those of the steps %v and %v, want %+v", o.Time, o.Steps.Model, o.Steps.Waiting,
			want)
	}
}

// The time of a model call that an interrupt ends is that of a model.
func TestN5_TimeOfInterruptedModelCalls(t *testing.T) {
	o := timed(t, func(t *testing.T, s *agent.Session) {
		go func() {
			time.Sleep(25 * time.Second)
			s.Interrupt()
		}()
		if result, err := s.Submit(t.Context(), "go"); err != nil && !errors.Is(err, context.Canceled) ||
			result.Reason != agent.ReasonInterrupted {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
	}, func(**agent.Session) []llmtest.Step { return []llmtest.Step{after(1000, nil, "never")} })
	if want := (web.Times{Total: 25_000, Model: 25_000}); o.Time != want {
		t.Errorf("the times are %+v, want %+v", o.Time, want)
	}
}

// The time of a compaction in the middle of an input is that of a model, and belongs to the step
// behind it.
func TestN5_TimeOfCompactions(t *testing.T) {
	o := timed(t, func(t *testing.T, s *agent.Session) {
		compacted := make(chan error, 1)
		go func() {
			time.Sleep(time.Second) // the model is being asked
			compacted <- s.Compact(t.Context())
		}()
		if _, err := s.Submit(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if err := <-compacted; err != nil {
			t.Fatal(err)
		}
	}, func(**agent.Session) []llmtest.Step {
		call := llmtest.Respond(llm.Response{Usage: llm.Usage{Input: 100, Output: 10},
			Message: llm.Message{Parts: llm.Parts{shell("true")}}})
		return []llmtest.Step{llmtest.Func(func(context.Context,
			*llm.Request) llmtest.Step {
			time.Sleep(2 * time.Second)
			return call
		}), after(30, nil, "a summary"), after(5, nil, "done")}
	})
	if want := (web.Times{Total: 37_000, Model: 37_000}); o.Counts.Compactions != 1 || o.Time != want ||
		!slices.Equal(o.Steps.Model, []int64{2_000, 35_000}) {
		t.Errorf("the counts are %+v, the times %+v, those of the steps %v, want %+v", o.Counts, o.Time, o.Steps.Model,
			want)
	}
}

// An input whose process was killed took the time in which a process worked on it.
func TestN5_TimeOfResumedInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		store := journal.NewMemoryStore(false)
		options := func(log journal.Log, steps ...llmtest.Step) agent.Options {
			return agent.Options{ID: "s", Journal: log, Env: local, OutputDir: t.TempDir(),
				Client:  &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", steps...)}},
				Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"}}
		}
		log, err := store.Create(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		call := llmtest.Respond(llm.Response{Message: llm.Message{Parts: llm.Parts{shell("true")}}})
		s, err := agent.New(t.Context(),
			options(log, llmtest.Func(func(context.Context,
				*llm.Request) llmtest.Step {
				time.Sleep(3 * time.Second)
				return call
			}), llmtest.Hang()))
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { _, err := s.Submit(t.Context(), "go"); over <- err }()
		time.Sleep(4 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // at once
		if err := s.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-over; !errors.Is(err, agent.ErrReleased) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if log, err = store.Open(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if s, err = agent.Resume(t.Context(), options(log, after(7, nil, "done"))); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		read, err := store.Read(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		trace := traceOf(t, read, nil)
		rows := trace.Rows(0, 100)
		end := slices.IndexFunc(rows, func(r web.Row) bool { return r.Kind == web.RowEnd })
		if at := trace.Overview(1).Time; rows[end].MS != 10_000 || at.Model != 10_000 || at.Idle != 3_601_000 {
			t.Errorf("the input took %d ms; the times are %+v", rows[end].MS, at)
		}
	})
}
