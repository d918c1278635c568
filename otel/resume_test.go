package otel_test

import (
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/otel/internal/receiver"
)

// A resumed session has the same id in its spans, and a compaction is a model call of its own.
func TestN6_ResumedAndCompacted(t *testing.T) {
	l := newLab(t, fakellm.Options{}, fakellm.Turn{Text: "One."}, fakellm.Turn{Text: "Two."},
		fakellm.Turn{Text: "Three."}, fakellm.Turn{Text: "Four."})
	store := journal.NewDir(t.TempDir())
	plain := l.Options
	plain.ID = "one-session"
	for _, resumed := range []bool{false, true} {
		o := plain
		var err error
		open := agent.New
		if resumed {
			open = agent.Resume
			o.Journal, err = store.Open(t.Context(), "one-session")
		} else {
			o.Journal, err = store.Create(t.Context(), "one-session")
		}
		if err != nil {
			t.Fatal(err)
		}
		otel.Instrument(&o, otel.Options{Tracers: l.tracers, Meters: l.meters})
		s, err := open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.Submit(t.Context(), "go on"); err != nil {
				t.Fatal(err)
			}
		}
		if resumed {
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	l.flush()
	inputs, compactions := 0, 0
	for _, s := range l.receiver.Spans() {
		a := receiver.Attributes(s.Attributes)
		if a["gen_ai.conversation.id"] != "one-session" {
			t.Errorf("%s has the session %q", s.Name, a["gen_ai.conversation.id"])
		}
		switch {
		case s.Name == "invoke_agent attractor":
			if inputs++; (a["attractor.session.resumed"] == "true") != (inputs > 2) {
				t.Errorf("input %d: %v", inputs, a)
			}
		case a["attractor.purpose"] == "compaction":
			compactions++
		}
	}
	if inputs != 4 || compactions != 1 {
		t.Errorf("there are %d inputs and %d compactions:\n%s", inputs, compactions, l.receiver.Tree(stable()))
	}
}
