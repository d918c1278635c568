package fleettest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
)

var askChecks = []check{
	{name: "P4_Asks", run: askAndAnswer},
	{name: "P4_AsksFirstAnswer", run: firstAnswer},
	{name: "P4_AsksOutliveTheirWorker", run: asksOutlive},
	{name: "P4_AsksOpen", run: openAsks},
}

func (t *tester) ask(s *fleet.Space, task, id string, at time.Time) {
	t.Helper()
	t.ok(s.Asks.Put(t.ctx, fleet.Ask{Task: task, ID: id, Kind: fleet.AskQuestion, Text: "?", At: at}))
}

// openIDs returns the open asks as TASK:ID.
func (t *tester) openIDs(s *fleet.Space, task string) []string {
	t.Helper()
	var ids []string
	for _, a := range all(t, s.Asks.Open(t.ctx, task)) {
		ids = append(ids, a.Task+":"+a.ID)
	}
	return ids
}

// askAndAnswer checks that an ask and its answer come as they were sent.
func askAndAnswer(t *tester) {
	a, b := t.own(), t.own()
	at := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	ask := fleet.Ask{Task: "t", ID: "call_1", Kind: fleet.AskApproval, Agent: "agent_1", Tool: "shell",
		Args: json.RawMessage(`{"command":"rm -rf x"}`), Text: "May it run?\n<&>",
		Question: json.RawMessage(`[{"q":"?"}]`), At: at}
	for range 2 {
		t.ok(a.Asks.Put(t.ctx, ask))
	}
	if diff := cmp.Diff([]fleet.Ask{ask}, all(t, b.Asks.Open(t.ctx, "t"))); diff != "" {
		t.Errorf("open: %s", diff)
	}
	want := fleet.Answer{Allow: true, Text: "go\non", Value: json.RawMessage(`{"a":[1]}`), By: "ü", At: at}
	answered := make(chan fleet.Answer)
	go func() {
		got, err := a.Asks.Wait(t.ctx, "t", "call_1")
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	_, err := a.Asks.Wait(t.short(), "t", "call_1")
	t.refused(err, "Wait for an answer that does not come in time")
	t.ok(b.Asks.Answer(t.ctx, "t", "call_1", want))
	got, err := b.Asks.Wait(t.ctx, "t", "call_1")
	t.ok(err)
	for _, got := range []fleet.Answer{got, <-answered} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the answer: %s", diff)
		}
	}
}

// firstAnswer checks that the first of several answers counts, and that the same again is no error.
func firstAnswer(t *tester) {
	spaces := []*fleet.Space{t.own(), t.own()}
	t.ask(spaces[0], "t", "1", time.Now())
	first := make(chan string, 8)
	t.in(8, func(i int) {
		by := fmt.Sprint(i)
		err := spaces[i%2].Asks.Answer(t.ctx, "t", "1", fleet.Answer{By: by})
		if err == nil {
			first <- by
		} else if !errors.Is(err, fleet.ErrAnswered) {
			t.Error(err)
		}
	})
	if len(first) != 1 {
		t.Fatalf("%d answers were the first", len(first))
	}
	by := <-first
	if got, err := spaces[1].Asks.Wait(t.ctx, "t", "1"); err != nil || got.By != by {
		t.Errorf("the answer is by %q, %v; the first was by %q", got.By, err, by)
	}
	t.ok(spaces[1].Asks.Answer(t.ctx, "t", "1", fleet.Answer{By: by, At: time.Now()}))
	for _, id := range []string{"none", "", "*", ">"} {
		t.is(spaces[0].Asks.Answer(t.ctx, "t", id, fleet.Answer{}), fs.ErrNotExist, fmt.Sprintf("Answer to ask %q", id))
		t.is(spaces[0].Asks.Answer(t.ctx, id, "1", fleet.Answer{}), fs.ErrNotExist,
			fmt.Sprintf("Answer to task %q", id))
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
	t.ok(b.Asks.Answer(t.ctx, "t", "answered", fleet.Answer{Text: "yes"}))
	c := t.own()
	t.ask(c, "t", "answered", time.Now())
	t.ask(c, "t", "open", time.Now())
	if got, err := c.Asks.Wait(t.ctx, "t", "answered"); err != nil || got.Text != "yes" {
		t.Errorf("Wait of the next owner = %+v, %v", got, err)
	}
	if got := t.openIDs(c, ""); !slices.Equal(got, []string{"t:open"}) {
		t.Errorf("open: %q", got)
	}
}

// openAsks checks which asks are open, by their times, with ids as providers make them.
func openAsks(t *tester) {
	a, b := t.own(), t.own()
	ids := []string{"call_1", "call_1|fc_2", "a.b", "a b", "*", ">", "a.>", "ü", "../x", "a/b",
		strings.Repeat("x", 300), "X", "x", "$"}
	want := map[string][]string{"none": nil, "*": nil, ">": nil}
	for i, id := range slices.Backward(ids) {
		task := []string{"one", "one.two"}[i%2]
		t.ask(a, task, id, time.Unix(int64(i), 0))
	}
	for i, id := range ids {
		task := []string{"one", "one.two"}[i%2]
		want[task] = append(want[task], task+":"+id)
		want[""] = append(want[""], task+":"+id)
	}
	for task, want := range want {
		if got := t.openIDs(b, task); !slices.Equal(got, want) {
			t.Errorf("the open asks of %q are %q, want %q", task, got, want)
		}
	}
	for range 2 {
		t.ok(b.Asks.Remove(t.ctx, "one"))
	}
	if got := t.openIDs(a, ""); !slices.Equal(got, want["one.two"]) {
		t.Errorf("after the removal of one's asks there are %q", got)
	}
	t.is(a.Asks.Answer(t.ctx, "one", "call_1", fleet.Answer{}), fs.ErrNotExist, "Answer to a removed ask")
	for _, ask := range all(t, b.Asks.Open(t.ctx, "one.two")) {
		t.ok(b.Asks.Answer(t.ctx, ask.Task, ask.ID, fleet.Answer{Text: "to " + ask.ID}))
		if got, err := a.Asks.Wait(t.ctx, ask.Task, ask.ID); err != nil || got.Text != "to "+ask.ID {
			t.Errorf("ask %q has the answer %q, %v", ask.ID, got.Text, err)
		}
	}
}
