package fleet_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// lateJournals are journals whose records come after live pieces.
type lateJournals struct {
	journal.Store
	records <-chan struct{} // closed when records may come
}

func (j lateJournals) Follow(ctx context.Context, id string, from int64) iter.Seq2[journal.Record, error] {
	select {
	case <-j.records:
	case <-ctx.Done():
	}
	return j.Store.Follow(ctx, id, from)
}

type lateBus struct {
	fleet.Bus
	listens func() // called when somebody listens
}

func (b lateBus) Listen(ctx context.Context, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for data, err := range b.Bus.Listen(ctx, id) {
			if data == nil && err == nil {
				b.listens()
			}
			if !yield(data, err) {
				return
			}
		}
	}
}

// A live piece comes behind the facts that were in the journal before it, also where these arrive
// later than the piece.
func TestP2_LivePiecesComeBehindFacts(t *testing.T) {
	t.Parallel()
	h := newHeld(1)
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return h.answer(r, []fakellm.Turn{f.effect("one"), {Text: "All of this is done now."}})
	}, fakellm.Options{Words: 1})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	w := f.worker("w1")
	s := *f.space(fleet.DefaultTenant)
	s.Journals, s.Bus = lateJournals{s.Journals, h.came}, lateBus{s.Bus, sync.OnceFunc(func() { f.start(w) })}
	client := fleet.NewClient(&s)
	letGo := sync.OnceFunc(func() { close(h.letGo) })
	defer letGo()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	var newest int64 // of the live pieces
	for u, err := range client.Watch(ctx, "t1", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Event == nil {
			continue
		}
		e, err := agent.UnmarshalEvent(u.Event)
		if err != nil {
			t.Fatal(err)
		}
		if u.N == 0 {
			newest = e.Head().Seq
			if start, ok := e.(*agent.StepStart); ok && start.Step == 2 {
				letGo()
			}
			continue
		}
		switch e.(type) {
		case *agent.SessionStart, *agent.UserInput, *agent.ToolCallEnd, *agent.StepEnd: // the others may come live, too
			if e.Head().Seq < newest {
				t.Errorf("%s, event %d, comes behind the live event %d", e.Head().Kind, e.Head().Seq, newest)
			}
		}
	}
	if newest == 0 {
		t.Error("no live pieces")
	}
}
