package permit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// inbox is an Inbox whose asks a test receives.
type inbox struct {
	*permit.Inbox
	events chan any // a permit.Ask or an ending
}

// ending is the end of an ask.
type ending struct {
	id  string
	how permit.End
}

func newInbox() *inbox {
	events := make(chan any, 1000)
	return &inbox{permit.NewInbox(func(ask permit.Ask) { events <- ask },
		func(id string, how permit.End) { events <- ending{id, how} }), events}
}

// next returns the next event, which is an ask.
func (b *inbox) next(t *testing.T) permit.Ask {
	t.Helper()
	ask, ok := (<-b.events).(permit.Ask)
	if !ok {
		t.Fatal("not an ask")
	}
	return ask
}

// asked returns the id of the next event, which is an ask.
func (b *inbox) asked(t *testing.T) string {
	t.Helper()
	return b.next(t).ID
}

// ended checks that the next event is the end of an ask.
func (b *inbox) ended(t *testing.T, id string, want permit.End) {
	t.Helper()
	if ev := <-b.events; ev != (ending{id, want}) {
		t.Errorf("%#v, want the end of %s: %s", ev, id, want)
	}
}

// errorSays checks that an error says all of the words.
func errorSays(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error is %v, want one that says %q", err, word)
		}
	}
}

// A call goes through the real gate to an answer by id, and runs. A second answer is an error.
func TestN2_ApprovalsById(t *testing.T) {
	g, b := newGate(t, `{"permissions":{}}`), newInbox()
	g.Gate.Ask = b.Approve
	result := make(chan string)
	go func() { result <- g.call("write_file", map[string]any{"file_path": "a.txt", "content": "x"}) }()
	ev := b.next(t)
	if c := ev.Approval; c.Call.Name != "write_file" || c.Access.Effect != tool.Writes || !strings.Contains(c.Call.Args,
		`"file_path":"a.txt"`) || c.Call.ID != "1" {
		t.Errorf("%+v", ev)
	}
	if open := b.Open(); len(open) != 1 || open[0] != ev {
		t.Errorf("open: %v", open)
	}
	errorSays(t, b.Decide("none", permit.Answer{Verdict: tool.Allow}), "there is no ask", "none")
	errorSays(t, b.Reply(ev.ID, tool.Answer{Text: "yes"}), "about a tool call")
	errorSays(t, b.Decide(ev.ID, permit.Answer{Verdict: tool.Ask}), "allows or denies")
	if err := b.Decide(ev.ID, permit.Answer{Verdict: tool.Allow}); err != nil {
		t.Fatal(err)
	}
	if said := <-result; strings.Contains(said, "Error") {
		t.Error(said)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "a.txt")); err != nil {
		t.Error(err)
	}
	b.ended(t, ev.ID, permit.EndAnswered)
	errorSays(t, b.Decide(ev.ID, permit.Answer{}), ev.ID, "answered already")

	go func() { result <- g.shell("touch b.txt") }()
	ev = b.next(t)
	if ev.Approval.Access.Command != "touch b.txt" || len(ev.Approval.Allow) == 0 {
		t.Errorf("%+v", ev)
	}
	if err := b.Decide(ev.ID, permit.Answer{Verdict: tool.Deny, Reason: "not here"}); err != nil {
		t.Error(err)
	}
	if said := <-result; !strings.Contains(said, "not here") {
		t.Error(said)
	}
}

// What is edited is judged again, and arguments that do not fit are asked about once more, with the
// problem.
func TestN2_EditedArguments(t *testing.T) {
	g, b := newGate(t, `{"permissions":{}}`), newInbox()
	g.Gate.Ask = b.Approve
	result := make(chan string)
	go func() { result <- g.call("write_file", map[string]any{"file_path": "a.txt", "content": "x"}) }()
	id := b.asked(t)
	if err := b.Decide(id, permit.Answer{Verdict: tool.Allow, Args: `{"file_path":1}`}); err != nil {
		t.Fatal(err)
	}
	b.ended(t, id, permit.EndAnswered)
	again := b.next(t)
	if again.Approval.Problem == "" || again.ID == id {
		t.Errorf("%+v", again)
	}
	b.Close("the client has gone")
	if said := <-result; !strings.Contains(said, "nobody is there to give it (the client has gone)") {
		t.Error(said)
	}
}

// Every ask ends after the limit that was set when it began, as denied, and not a moment before.
func TestN2_AskLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		b.SetLimit(5 * time.Minute)
		began := time.Now()
		answer := make(chan permit.Answer)
		go func() {
			a, err := b.Approve(t.Context(), permit.Question{})
			if err != nil {
				t.Error(err)
			}
			answer <- a
		}()
		id := b.asked(t)
		b.SetLimit(0)
		a := <-answer
		if waited := time.Since(began); waited != 5*time.Minute || a.Verdict != tool.Deny ||
			!strings.Contains(a.Reason, "nobody answered the question about it within 5m0s") {
			t.Errorf("after %s: %+v", waited, a)
		}
		b.ended(t, id, permit.EndTimedOut)
		errorSays(t, b.Decide(id, permit.Answer{Verdict: tool.Allow}), id, "timed out", "too late")

		b.SetLimit(time.Minute)
		_, err := b.Question(t.Context(), tool.Question{Text: "which?"})
		errorSays(t, err, "nobody answered within 1m0s")
		b.ended(t, b.asked(t), permit.EndTimedOut)

		b.SetLimit(0)
		go func() {
			a, err := b.Approve(t.Context(), permit.Question{})
			if err != nil {
				t.Error(err)
			}
			answer <- a
		}()
		id = b.asked(t)
		time.Sleep(1000 * time.Hour)
		if err := b.Decide(id, permit.Answer{Verdict: tool.Allow}); err != nil {
			t.Error(err)
		}
		if a := <-answer; a.Verdict != tool.Allow {
			t.Errorf("%+v", a)
		}
	})
}

// An interrupt cancels the ask at once: an answer that comes right behind it is too late.
func TestN2_CancelledAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("interrupted")
		failed := make(chan error, 2)
		go func() {
			_, err := b.Approve(ctx, permit.Question{})
			failed <- err
		}()
		id := b.asked(t)
		cancel(stop)
		errorSays(t, b.Decide(id, permit.Answer{Verdict: tool.Allow}), id, "was cancelled")
		if err := <-failed; !errors.Is(err, stop) {
			t.Error(err)
		}
		b.ended(t, id, permit.EndCancelled)

		go func() {
			_, err := b.Question(t.Context(), tool.Question{Text: "which?"})
			failed <- err
		}()
		id = b.asked(t)
		b.Close("it left")
		b.Close("it left twice")
		if err := <-failed; !errors.Is(err, tool.ErrNobody) {
			t.Error(err)
		}
		b.ended(t, id, permit.EndCancelled)
		a, err := b.Approve(t.Context(), permit.Question{})
		if err != nil || a.Verdict != tool.Deny || !strings.Contains(a.Reason, "(it left)") {
			t.Errorf("%+v, %v", a, err)
		}
		if len(b.events) != 0 || len(b.Open()) != 0 {
			t.Error("after Close there are asks")
		}
	})
}

// Of many answers to one ask exactly one counts, and it is the one that arrives.
func TestN2_OneAnswerWins(t *testing.T) {
	b := newInbox()
	var asking sync.WaitGroup
	for n := range 50 {
		asking.Go(func() {
			asked := make(chan tool.Answer)
			go func() {
				a, err := b.Question(t.Context(), tool.Question{Text: fmt.Sprint(n)})
				if err != nil {
					t.Error(err)
				}
				asked <- a
			}()
			var id string
			for ev := range b.events {
				if ask, ok := ev.(permit.Ask); ok {
					id = ask.ID
					break
				}
			}
			var answering sync.WaitGroup
			var winner atomic.Int64
			for m := range 8 {
				answering.Go(func() {
					if b.Reply(id, tool.Answer{Text: id + " " + fmt.Sprint(m)}) == nil {
						winner.Add(1)
					}
				})
			}
			answering.Wait()
			if winner.Load() != 1 {
				t.Errorf("%d answers won", winner.Load())
			}
			if a := <-asked; a.Text == "" {
				t.Error("no answer arrived")
			}
		})
	}
	asking.Wait()
	if open := b.Open(); len(open) != 0 {
		t.Errorf("%d asks are open", len(open))
	}
}

// An ask about a call without rules to remember refuses to remember any.
func TestN2_WhatCannotBeRemembered(t *testing.T) {
	b := newInbox()
	answer := make(chan permit.Answer)
	go func() {
		q := permit.Question{}
		q.Call = llm.ToolCall{Name: "apply_patch", Args: "*** Begin Patch"}
		a, err := b.Approve(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		answer <- a
	}()
	ev := b.next(t)
	errorSays(t, b.Decide(ev.ID, permit.Answer{Verdict: tool.Allow, Remember: true}), "nothing to remember")
	if err := b.Decide(ev.ID, permit.Answer{Verdict: tool.Allow}); err != nil { // it goes on waiting
		t.Error(err)
	}
	if a := <-answer; a.Verdict != tool.Allow || a.Remember {
		t.Errorf("%+v", a)
	}
}

// besides makes a person whose answers a test gives, and who is asked beside an inbox.
type besides struct {
	asked   chan string // the name of the tool, or the question
	answers chan error  // nil allows, or answers "typed"
	gone    chan error  // the cause with which a question ended
}

func (b *inbox) beside() *besides {
	p := &besides{make(chan string, 9), make(chan error), make(chan error, 9)}
	wait := func(ctx context.Context, about string) error {
		p.asked <- about
		select {
		case err := <-p.answers:
			return err
		case <-ctx.Done():
			p.gone <- context.Cause(ctx)
			return context.Cause(ctx)
		}
	}
	b.Beside(func(ctx context.Context, q permit.Question) (permit.Answer, error) {
		return permit.Answer{Verdict: tool.Allow}, wait(ctx, q.Call.Name)
	}, func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		return tool.Answer{Text: "typed"}, wait(ctx, q.Text)
	})
	return p
}

// A person at a terminal and a program are asked at once. The first answer counts, the other one is
// told so, and the terminal is free when the ask has ended.
func TestN5_AskedInTwoPlaces(t *testing.T) {
	b := newInbox()
	p := b.beside()
	ask := func() chan error {
		done := make(chan error, 1)
		go func() {
			answer, err := b.Approve(t.Context(),
				permit.Question{Request: tool.Request{Call: llm.ToolCall{Name: "shell", Args: "{}"}}})
			if err == nil && answer.Verdict != tool.Allow {
				err = errors.New(answer.Reason)
			}
			done <- err
		}()
		return done
	}
	done, id := ask(), b.asked(t)
	<-p.asked
	p.answers <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.ended(t, id, permit.EndAnswered)
	errorSays(t, b.Decide(id, permit.Answer{}), "answered already")

	done, id = ask(), b.asked(t)
	<-p.asked
	if err := b.Decide(id, permit.Answer{Reason: "not now"}); err != nil {
		t.Error(err)
	}
	errorSays(t, <-done, "not now")
	var elsewhere *permit.Elsewhere
	if why := <-p.gone; !errors.As(why, &elsewhere) || elsewhere.Allowed || elsewhere.End != permit.EndAnswered {
		t.Errorf("the terminal's question ended with %v", why)
	}
	b.ended(t, id, permit.EndAnswered)

	done, id = ask(), b.asked(t)
	<-p.asked
	p.answers <- errors.New("the terminal is gone")
	errorSays(t, <-done, "the terminal is gone")
	b.ended(t, id, permit.EndCancelled)
}

// A question of the model is answered in either place too, and ends in both when its time is over.
func TestN5_QuestionsInTwoPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		p := b.beside()
		b.SetLimit(time.Minute)
		for _, step := range []struct {
			answer func(id string) error
			want   string
		}{
			{func(string) error { p.answers <- nil; return nil }, "typed"},
			{func(id string) error { return b.Reply(id, tool.Answer{Text: "sent"}) }, "sent"},
			{func(string) error { return nil }, "nobody answered within 1m0s"},
		} {
			done := make(chan string, 1)
			go func() {
				answer, err := b.Question(t.Context(), tool.Question{Text: "Which?"})
				done <- fmt.Sprint(answer.Text, err)
			}()
			id := b.asked(t)
			if about := <-p.asked; about != "Which?" {
				t.Error(about)
			}
			if err := step.answer(id); err != nil {
				t.Error(err)
			}
			if got := <-done; !strings.Contains(got, step.want) {
				t.Errorf("%q, want %q", got, step.want)
			}
			<-b.events
		}
		var elsewhere *permit.Elsewhere
		if <-p.gone; !errors.As(<-p.gone, &elsewhere) || elsewhere.End != permit.EndTimedOut {
			t.Errorf("the terminal's question ended with %v", elsewhere)
		}
	})
}
