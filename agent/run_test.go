package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// taken ranges over a run and returns the kinds of its events, without deltas, and its error.
func taken(t *testing.T, events iter.Seq2[agent.Event, error]) (kinds []string, err error) {
	t.Helper()
	for ev, failed := range events {
		switch {
		case err != nil:
			t.Errorf("something comes after the error %v", err)
		case failed != nil && ev != nil:
			t.Errorf("an event beside the error %v", failed)
		case failed != nil:
			err = failed
		case !isDelta(ev):
			kinds = append(kinds, string(ev.Head().Kind))
		}
	}
	return kinds, err
}

func isDelta(ev agent.Event) bool {
	switch ev.(type) {
	case *agent.AssistantTextDelta, *agent.ThinkingDelta, *agent.ToolCallOutputDelta:
		return true
	}
	return false
}

// Each Run has the events of its own input and its follow-ups, and ends without the end of the
// session.
func TestQ2_RunYieldsTheEventsOfOneInput(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: []llmtest.Step{
		llmtest.Calls(call("work")), llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("more"),
		llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no key"))}})
	since := func(n int) (kinds []string) {
		for _, ev := range h.events[n:] {
			if !isDelta(ev) {
				kinds = append(kinds, string(ev.Head().Kind))
			}
		}
		return kinds
	}
	for _, task := range []string{"first", "second"} {
		n := len(h.events)
		if task == "second" {
			if err := h.FollowUp(t.Context(), "and more"); err != nil {
				t.Fatal(err)
			}
		}
		kinds, err := taken(t, h.Run(t.Context(), task))
		if diff := gocmp.Diff(since(n), kinds); err != nil || diff != "" {
			t.Errorf("%s: %v, -OnEvent +Run:\n%s", task, err, diff)
		}
		if kinds[len(kinds)-1] != "PROCESSING_END" {
			t.Errorf("%s: the last event is not the end: %s", task, kinds)
		}
	}
	if h.Result().Text != "more" {
		t.Errorf("the result is %+v", h.Result())
	}
	kinds, err := taken(t, h.Run(t.Context(), "third"))
	if !errors.Is(err, llm.ErrAuthentication) || kinds[len(kinds)-1] != "SESSION_END" {
		t.Errorf("%v after %s", err, kinds)
	}
	if kinds, err := taken(t, h.Run(t.Context(), "fourth")); !errors.Is(err, agent.ErrClosed) || len(kinds) > 0 {
		t.Errorf("in a closed session: %v, %s", err, kinds)
	}
}

// A loop that is left, by break or by a panic, has interrupted its input, and the session goes on.
// The suite finds goroutines that are left.
func TestQ2_LeavingARunInterruptsIt(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.HangAfter(llm.Text{Text: "I begin"}),
		llmtest.HangAfter(llm.Text{Text: "again"}), llmtest.Text("done")}})
	leave := func(how func()) {
		for ev, err := range h.Run(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if _, begun := ev.(*agent.AssistantTextDelta); begun {
				if how != nil {
					how()
				}
				break
			}
		}
	}
	leave(nil)
	if r := h.Result(); r == nil || r.Reason != agent.ReasonInterrupted || h.Status() != agent.StatusIdle {
		t.Errorf("%+v, %s", r, h.Status())
	}
	func() {
		defer func() {
			if p := recover(); fmt.Sprint(p) != "of the loop" {
				t.Errorf("panic %v", p)
			}
		}()
		leave(func() { panic("of the loop") })
	}()
	h.submit(t, "once more", agent.ReasonCompleted)
}

// The end of the context is an error, after the events of the interrupted input.
func TestQ2_TheEndOfARunsContext(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.HangAfter(llm.Text{Text: "I begin"})}})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	kinds, last := []string{}, error(nil)
	enough := errors.New("enough")
	for ev, err := range h.Run(ctx, "go") {
		if err != nil {
			last = err
			continue
		}
		kinds = append(kinds, string(ev.Head().Kind))
		if _, begun := ev.(*agent.AssistantTextDelta); begun {
			cancel(enough)
		}
	}
	if last != enough || kinds[len(kinds)-1] != "PROCESSING_END" {
		t.Errorf("%v after %s", last, kinds)
	}
}

// A second run beside the first gets no events. A loop that does not go on holds up nobody, and one
// may close the session.
func TestQ2_ASlowRunAndASecondOne(t *testing.T) {
	ended, going := make(chan struct{}), make(chan struct{})
	h := open(t, setup{tools: []tool.Tool{echo("work")}, options: agent.Options{OnEvent: func(ev agent.Event) {
		if _, is := ev.(*agent.ProcessingEnd); is {
			close(ended)
		}
	}}, steps: []llmtest.Step{llmtest.Gate(nil, going, llmtest.Calls(call("work"))), llmtest.Text("one two three")}})
	first := true
	text := ""
	for ev, err := range h.Run(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if first {
			first = false
			if kinds, err := taken(t, h.Run(t.Context(), "beside it")); len(kinds) > 0 ||
				!errors.Is(err, agent.ErrBusy) {
				t.Errorf("a second run: %v, %s", err, kinds)
			}
			close(going)
			<-ended // while nobody takes events
		}
		switch e := ev.(type) {
		case *agent.AssistantTextDelta:
			text += e.Text
		case *agent.ProcessingEnd:
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if text != "one two three" {
		t.Errorf("text %q", text)
	}
}
