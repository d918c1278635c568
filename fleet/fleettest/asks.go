package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
)

var askChecks = []check{
	{name: "P4_Asks", run: askAndAnswer},
	{name: "P4_AsksFirstAnswer", run: firstAnswer},
	{name: "P4_AsksAnsweredAtOnce", run: answeredAtOnce},
	{name: "P4_AsksOutliveTheirWorker", run: asksOutlive},
	{name: "P4_AsksOpen", run: openAsks},
	{name: "P4_AsksIDs", run: askIDs},
}

// fullAsk returns an ask with all fields.
func fullAsk(task, id string) fleet.Ask {
	return fleet.Ask{Task: task, ID: id, Kind: fleet.AskApproval, Agent: "agent_1", Tool: "shell",
		Args: json.RawMessage(`{"command":"rm -rf x"}`), Text: "May it run?\n<&>",
		Question: json.RawMessage(`[{"q":"?"}]`), At: time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)}
}

func (t *tester) ask(s fleet.Space, task, id string, at time.Time) {
	t.Helper()
	t.ok(s.Asks().Put(t.ctx, fleet.Ask{Task: task, ID: id, Kind: fleet.AskQuestion, Text: "?", At: at}))
}

// openIDs returns the open asks as TASK:ID.
func (t *tester) openIDs(s fleet.Space, task string) []string {
	t.Helper()
	var ids []string
	for _, a := range all(t, s.Asks().Open(t.ctx, task)) {
		ids = append(ids, a.Task+":"+a.ID)
	}
	return ids
}

func askAndAnswer(t *tester) {
	a, b := t.own(), t.own()
	ask := fullAsk("t", "call_1")
	t.ok(a.Asks().Put(t.ctx, ask))
	t.ok(a.Asks().Put(t.ctx, ask))
	if got := all(t, b.Asks().Open(t.ctx, "t")); len(got) != 1 || !cmp.Equal(got[0], ask) {
		t.Errorf("open: %s", cmp.Diff([]fleet.Ask{ask}, got))
	}
	want := fleet.Answer{Allow: true, Text: "go\non", Value: json.RawMessage(`{"a":[1]}`), By: "ü",
		At: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	answered := make(chan fleet.Answer)
	go func() {
		got, err := a.Asks().Wait(t.ctx, "t", "call_1")
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	_, err := a.Asks().Wait(t.short(), "t", "call_1")
	t.is(err, context.DeadlineExceeded, "Wait for an answer that does not come in time")
	t.ok(b.Asks().Answer(t.ctx, "t", "call_1", want))
	if got := <-answered; !cmp.Equal(got, want) {
		t.Errorf("the answer: %s", cmp.Diff(want, got))
	}
	got, err := b.Asks().Wait(t.ctx, "t", "call_1")
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("Wait after the answer = %+v, %v", got, err)
	}
}

func firstAnswer(t *tester) {
	a, b := t.own(), t.own()
	t.ask(a, "t", "1", time.Now())
	t.ask(a, "t", "other", time.Now())
	first := fleet.Answer{Allow: true, By: "anna", At: time.Now().UTC()}
	t.ok(a.Asks().Answer(t.ctx, "t", "1", first))
	t.ok(b.Asks().Answer(t.ctx, "t", "1", first))
	t.is(b.Asks().Answer(t.ctx, "t", "1", fleet.Answer{Text: "no", By: "ben"}), fleet.ErrAnswered, "another Answer")
	if got, err := b.Asks().Wait(t.ctx, "t", "1"); err != nil || !got.Allow || got.By != "anna" {
		t.Errorf("Wait = %+v, %v, want the first answer", got, err)
	}
	for _, id := range []string{"none", "", "*", ">"} {
		t.is(b.Asks().Answer(t.ctx, "t", id, first), fs.ErrNotExist, fmt.Sprintf("Answer to ask %q", id))
		t.is(b.Asks().Answer(t.ctx, id, "1", first), fs.ErrNotExist, fmt.Sprintf("Answer to task %q", id))
	}
	if got := t.openIDs(b, "t"); !slices.Equal(got, []string{"t:other"}) {
		t.Errorf("open: %q", got)
	}
}

func answeredAtOnce(t *tester) {
	spaces := []fleet.Space{t.own(), t.own()}
	for round := range 5 {
		id := fmt.Sprint(round)
		t.ask(spaces[0], "t", id, time.Now())
		var wins atomic.Int32
		winner := make(chan string, 8)
		t.in(8, func(i int) {
			by := fmt.Sprint(i)
			err := spaces[i%2].Asks().Answer(t.ctx, "t", id, fleet.Answer{By: by, Text: by})
			if err == nil {
				wins.Add(1)
				winner <- by
			} else if !errors.Is(err, fleet.ErrAnswered) {
				t.Error(err)
			}
		})
		got, err := spaces[1].Asks().Wait(t.ctx, "t", id)
		if wins.Load() != 1 {
			t.Fatalf("%d answers were the first", wins.Load())
		}
		if by := <-winner; err != nil || got.By != by {
			t.Errorf("the answer is by %q, %v; the first was by %q", got.By, err, by)
		}
	}
}

// asksOutlive checks that the next owner of a task, who makes the same ask, gets the answer to it.
func asksOutlive(t *tester) {
	b := t.own()
	e := t.engine()
	a, err := e.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	t.ask(a, "t", "answered", time.Now())
	t.ask(a, "t", "open", time.Now())
	t.ok(e.Close())
	t.ok(b.Asks().Answer(t.ctx, "t", "answered", fleet.Answer{Text: "yes"}))
	c := t.own()
	t.ask(c, "t", "answered", time.Now())
	t.ask(c, "t", "open", time.Now())
	if got, err := c.Asks().Wait(t.ctx, "t", "answered"); err != nil || got.Text != "yes" {
		t.Errorf("Wait of the next owner = %+v, %v", got, err)
	}
	if got := t.openIDs(c, ""); !slices.Equal(got, []string{"t:open"}) {
		t.Errorf("open: %q", got)
	}
}

func openAsks(t *tester) {
	a, b := t.own(), t.own()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	t.ask(a, "two", "b", at.Add(3*time.Second))
	t.ask(a, "one", "z", at.Add(2*time.Second))
	t.ask(a, "two", "a", at.Add(time.Millisecond))
	t.ask(b, "one.two", "a", at.Add(4*time.Second))
	for task, want := range map[string][]string{
		"":     {"two:a", "one:z", "two:b", "one.two:a"},
		"two":  {"two:a", "two:b"},
		"one":  {"one:z"},
		"none": nil, "*": nil, ">": nil,
	} {
		if got := t.openIDs(b, task); !slices.Equal(got, want) {
			t.Errorf("the open asks of %q are %q, want %q", task, got, want)
		}
	}
	t.ok(b.Asks().Remove(t.ctx, "one"))
	t.ok(b.Asks().Remove(t.ctx, "one"))
	if got := t.openIDs(a, ""); !slices.Equal(got, []string{"two:a", "two:b", "one.two:a"}) {
		t.Errorf("after the removal of one's asks there are %q", got)
	}
	t.is(a.Asks().Answer(t.ctx, "one", "z", fleet.Answer{}), fs.ErrNotExist, "Answer to a removed ask")
}

// askIDs checks ids as providers make them.
func askIDs(t *tester) {
	s := t.own()
	ids := []string{"call_1", "call_1|fc_2", "a.b", "a b", "*", ">", "a.>", "ü", "../x", "a/b", "toolu_01",
		strings.Repeat("x", 300), "X", "x", "$"}
	for i, id := range ids {
		t.ask(s, "t", id, time.Unix(int64(i), 0))
	}
	for i, a := range all(t, s.Asks().Open(t.ctx, "t")) {
		if a.ID != ids[i] {
			t.Errorf("ask %d has the id %q, want %q", i, a.ID, ids[i])
		}
	}
	for _, id := range ids {
		t.ok(s.Asks().Answer(t.ctx, "t", id, fleet.Answer{Text: "to " + id}))
	}
	for _, id := range ids {
		if got, err := s.Asks().Wait(t.ctx, "t", id); err != nil || got.Text != "to "+id {
			t.Errorf("ask %q has the answer %q, %v", id, got.Text, err)
		}
	}
}
