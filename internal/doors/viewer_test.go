package doors_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool/coding"
)

// viewer is a sketch of package web: it shows a session that runs in another process. Past events
// come from the journal as it is written. Live events come from the host, possibly late, twice or
// not at all. The event numbers put the two together.
type viewer struct {
	facts   []agent.Event
	lines   []string
	flowing []*agent.AssistantTextDelta // of the unfinished text
	ended   int64                       // number of the last end of a text
}

// followed is a journal that is read while it grows.
type followed struct {
	store journal.Store
	id    string
}

func (f followed) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return f.store.Follow(ctx, f.id, from)
}

// watch shows each view of a session until ctx ends.
func watch(ctx context.Context, store journal.Store, id string, live <-chan agent.Event,
	show func(view string, facts []agent.Event)) error {
	facts, over := make(chan agent.Event), make(chan error, 1)
	go func() {
		over <- agent.Project(ctx, followed{store, id}, func(ev agent.Event) {
			select {
			case facts <- ev:
			case <-ctx.Done():
			}
		})
	}()
	var v viewer
	for {
		select {
		case ev := <-facts:
			v.fact(ev)
		case ev := <-live:
			if delta, ok := ev.(*agent.AssistantTextDelta); ok && delta.Seq > v.ended {
				v.flowing = append(v.flowing, delta)
			}
		case err := <-over:
			return err
		}
		show(v.view(), v.facts)
	}
}

// fact adds an event from the journal. The end of a text replaces its deltas.
func (v *viewer) fact(ev agent.Event) {
	v.facts = append(v.facts, ev)
	switch ev := ev.(type) {
	case *agent.UserInput:
		v.lines = append(v.lines, "> "+ev.Text)
	case *agent.AssistantTextEnd:
		v.ended = ev.Seq
		v.flowing = slices.DeleteFunc(v.flowing, func(d *agent.AssistantTextDelta) bool { return d.Seq <= ev.Seq })
		v.lines = append(v.lines, ev.Text)
	case *agent.ToolCallEnd:
		v.lines = append(v.lines, ev.Name+": "+strings.TrimSpace(ev.Output))
	}
}

func (v *viewer) view() string {
	var b strings.Builder
	for _, line := range v.lines {
		b.WriteString(line + "\n")
	}
	for _, delta := range v.flowing {
		b.WriteString(delta.Text)
	}
	return b.String()
}

// pausedStep returns a step that pauses after its first piece of text.
func pausedStep(step llmtest.Step, paused chan<- struct{}, on <-chan struct{}) llmtest.Step {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			first := true
			for ev, err := range step(ctx, req) {
				if !yield(ev, err) {
					return
				}
				if ev.Type == llm.EventTextDelta && first {
					first = false
					close(paused)
					<-on
				}
			}
		}
	}
}

// A viewer in another process shows a text while it arrives, and each event once, with the live
// numbers.
func TestJ_Viewer(t *testing.T) {
	paused, on := make(chan struct{}), make(chan struct{})
	h := newHost(t, env.LocalOptions{},
		pausedStep(llmtest.Answer(llm.Text{Text: "I will look at the file and say what it has."}, shell("echo hi")),
			paused, on), llmtest.Text("It says hi."))
	live := make(chan agent.Event)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := h.options(t, "watched")
	o.OnEvent = func(ev agent.Event) {
		h.on(ev)
		select {
		case live <- ev:
		case <-ctx.Done():
		}
	}
	views, watched := make(chan string, 1000), make(chan error)
	var facts []agent.Event
	var last string
	go func() {
		watched <- watch(ctx, journal.NewDir(h.journals), "watched", live, func(view string, all []agent.Event) {
			views <- view
			last, facts = view, all
		})
	}()
	s := h.start(t, o)
	until := func(what string, is func(view string) bool) {
		t.Helper()
		for {
			select {
			case view := <-views:
				if is(view) {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("the viewer never shows %s", what)
			}
		}
	}
	ended := make(chan error)
	go func() { _, err := s.Submit(t.Context(), "go"); ended <- err }()
	<-paused
	until("the beginning of a text", func(view string) bool {
		rest, ok := strings.CutPrefix(view, "> go\n")
		return ok && rest != "" && !strings.Contains(rest, "\n")
	})
	close(on)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	const whole = "> go\nI will look at the file and say what it has.\nshell: hi\nIt says hi.\n"
	until("the whole session", func(view string) bool { return view == whole })
	live <- only[*agent.AssistantTextDelta](h)[0] // again, and late
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-watched; !errors.Is(err, context.Canceled) {
		t.Errorf("the viewer ended with %v", err)
	}
	if last != whole {
		t.Errorf("in the end the viewer shows %q", last)
	}
	seen := map[int64]agent.Event{}
	for _, ev := range only[agent.Event](h) {
		seen[ev.Head().Seq] = ev
	}
	for _, ev := range facts {
		if was := seen[ev.Head().Seq]; was == nil || was.Head().Kind != ev.Head().Kind {
			t.Errorf("the viewer saw %s, the host %s", mustJSON(ev), mustJSON(was))
		}
	}
}

// A viewer in another process shows the whole output, of which the model saw only a part.
func TestJ_ViewerOfWholeOutputs(t *testing.T) {
	h := newHost(t, env.LocalOptions{}, llmtest.Calls(shell("seq 100000")), llmtest.Text("done"))
	o := h.options(t, "long")
	o.KeepOutputs = 1 << 20
	o.Profile.Tools = append(o.Profile.Tools, coding.ReadOutput())
	s := h.start(t, o)
	submit(t, s, "count", agent.ReasonCompleted)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := journal.NewDir(h.journals).Read(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	var whole []byte
	err = agent.Project(t.Context(), log, func(ev agent.Event) {
		if end, ok := ev.(*agent.ToolCallEnd); ok {
			var blob io.ReadCloser
			if blob, err = log.Blob(t.Context(), end.OutputBlob); err == nil {
				whole, err = io.ReadAll(blob)
				err = errors.Join(err, blob.Close())
			}
			if err != nil {
				t.Errorf("the output %q: %v", end.OutputBlob, err)
			}
		}
	})
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Fields(string(whole)); len(lines) != 100_000 || lines[99_999] != "100000" {
		t.Errorf("the viewer sees %d lines", len(lines))
	}
}
