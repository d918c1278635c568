package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
)

// limited is a fleet whose tenant has limits.
func limited(limit, queued int) Options {
	return Options{Tenants: []fleet.Tenant{{Name: fleet.DefaultTenant, Limit: limit, MaxQueued: queued}}}
}

var taskChecks = []check{
	{name: "P3_SubmitTwice", run: submitTwice},
	{name: "P3_SubmitAtOnce", run: submitAtOnce},
	{name: "P3_IDs", run: ids},
	{name: "P3_UnknownTasks", run: unknownTasks},
	{name: "P3_List", run: lists},
	{name: "P3_WatchOne", run: watchOne},
	{name: "P3_WatchAll", run: watchAll},
	{name: "P3_SlowWatcher", run: slowWatcher},
	{name: "P3_Cancel", run: cancels},
	{name: "P3_CancelOfAClaimedTask", run: cancelsClaimed},
	{name: "P3_CancelOfADeadWorkersTask", run: cancelsDead},
	{name: "P3_Remove", run: removes},
	{name: "P6_MaxQueued", run: maxQueued, options: limited(0, 3)},
	{name: "P6_MaxQueuedAtOnce", run: maxQueuedAtOnce, options: limited(0, 3)},
}

// submit submits tasks with the given ids.
func (t *tester) submit(s fleet.Space, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, isNew, err := s.Tasks().Submit(t.ctx, fleet.Task{ID: id, Prompt: "do " + id})
		t.ok(err)
		if !isNew {
			t.Fatalf("task %s is not new", id)
		}
	}
}

// status returns the status of a task.
func (t *tester) status(s fleet.Space, id string) fleet.Status {
	t.Helper()
	_, status, err := s.Tasks().Get(t.ctx, id)
	t.ok(err)
	return status
}

// state checks the state of a task.
func (t *tester) state(s fleet.Space, id string, want fleet.State) {
	t.Helper()
	if got := t.status(s, id).State; got != want {
		t.Errorf("task %s is %s, want %s", id, got, want)
	}
}

// fullTask returns a task with all fields.
func fullTask(id string) fleet.Task {
	return fleet.Task{
		ID: id, Tenant: fleet.DefaultTenant, Prompt: "line\n<&> \u2028 ü",
		Repo: &fleet.Repo{URL: "https://example.org/a.git", Ref: "main", Credential: "bot"}, Include: []string{".env"},
		Artifacts:   []string{"**/*.txt"},
		Environment: "container",
		Agent: fleet.Spec{Profile: "openai", Provider: "p", Model: "m", Effort: "high", MaxTurns: 7,
			Schema: json.RawMessage(`{"type":"object"}`),
			Checks: []string{"go test ./..."}, Instructions: "be brief"},
		Budget:   fleet.Budget{Tokens: 1000, USD: 0.25, Time: fleet.Duration(time.Minute)},
		Deadline: time.Date(2040, 1, 2, 3, 4, 5, 6789, time.UTC),
		Labels:   map[string]string{"team": "a", "b": ""},
	}
}

func submitTwice(t *tester) {
	a, b := t.own(), t.own()
	task := fullTask("t")
	first, isNew, err := a.Tasks().Submit(t.ctx, task)
	t.ok(err)
	if !isNew || first.ID != "t" || first.Tenant != fleet.DefaultTenant || first.State != fleet.Queued ||
		first.Submitted.IsZero() || !cmp.Equal(first.Labels, task.Labels) {
		t.Errorf("Submit = new %v, %+v", isNew, first)
	}
	for _, s := range []fleet.Space{a, b} {
		again := fullTask("t")
		again.Tenant = "" // means the same
		status, isNew, err := s.Tasks().Submit(t.ctx, again)
		if err != nil || isNew || !cmp.Equal(status, first) {
			t.Errorf("the same task again = new %v, %v, %+v, want the status of the first: %+v", isNew, err, status,
				first)
		}
		got, status, err := s.Tasks().Get(t.ctx, "t")
		if diff := cmp.Diff(task, got); err != nil || diff != "" || !cmp.Equal(status, first) {
			t.Errorf("Get = %v, %+v, and of the task %s", err, status, diff)
		}
	}
	for name, change := range map[string]func(*fleet.Task){
		"prompt": func(t *fleet.Task) { t.Prompt += "." },
		"labels": func(t *fleet.Task) { t.Labels["c"] = "d" },
		"budget": func(t *fleet.Task) { t.Budget.Tokens++ },
	} {
		other := fullTask("t")
		change(&other)
		if _, isNew, err := b.Tasks().Submit(t.ctx, other); isNew || !errors.Is(err, fleet.ErrDifferent) {
			t.Errorf("Submit with another %s = new %v, %v, want ErrDifferent", name, isNew, err)
		}
	}
	t.finish(t.claim(a, "w"), fleet.Done)
	if status, isNew, err := b.Tasks().Submit(t.ctx, task); err != nil || isNew || status.State != fleet.Done {
		t.Errorf("Submit of a task that is done = new %v, %v, %s", isNew, err, status.State)
	}
	t.nothingDue(b)
}

func submitAtOnce(t *tester) {
	spaces := []fleet.Space{t.own(), t.own()}
	var news, done atomic.Int32
	t.in(12, func(i int) {
		_, isNew, err := spaces[i%2].Tasks().Submit(t.ctx, fleet.Task{ID: "t", Prompt: "p"})
		if err != nil {
			t.Error(err)
		}
		if isNew {
			news.Add(1)
		}
		done.Add(1)
	})
	if news.Load() != 1 {
		t.Errorf("of %d submits of one task %d were new, want 1", done.Load(), news.Load())
	}
	t.finish(t.claim(spaces[0], "w"), fleet.Done)
	t.nothingDue(spaces[1])
}

// hostileIDs are ids that mean something to somebody else.
var hostileIDs = []string{"", ".", "..", "../x", "a/b", `a\b`, "*", ">", "a.*", "a b", "ü", "a\x00b", "a\nb", "-x",
	".x", "$JS", "a>b", strings.Repeat("x", 200), "\xff"}

func ids(t *tester) {
	s := t.own()
	for _, id := range hostileIDs {
		_, _, err := s.Tasks().Submit(t.ctx, fleet.Task{ID: id, Prompt: "p"})
		t.is(err, fs.ErrInvalid, fmt.Sprintf("Submit of %q", id))
	}
	_, _, err := s.Tasks().Submit(t.ctx, fleet.Task{ID: "t", Tenant: "other", Prompt: "p"})
	t.is(err, fs.ErrInvalid, "Submit for another tenant")
	good := []string{"a", "a.b", "a.b.c", "a_b", "a-b", "A-1_x.", "0", "_", strings.Repeat("x", 128)}
	t.submit(s, good...)
	for _, id := range good {
		if task, _, err := s.Tasks().Get(t.ctx, id); err != nil || task.Prompt != "do "+id {
			t.Errorf("Get of %s = %v, %q", id, err, task.Prompt)
		}
	}
	var claimed []string
	for range good {
		c := t.claim(s, "w.1 ü")
		claimed = append(claimed, c.Task().ID)
		t.finish(c, fleet.Done)
	}
	slices.Sort(claimed)
	slices.Sort(good)
	if !slices.Equal(claimed, good) {
		t.Errorf("claimed %q, want %q", claimed, good)
	}
}

func unknownTasks(t *tester) {
	s := t.own()
	t.submit(s, "a.b", "x")
	for _, id := range append([]string{"none", "a", "b", "X"}, hostileIDs[1:]...) {
		_, _, err := s.Tasks().Get(t.ctx, id)
		t.is(err, fs.ErrNotExist, fmt.Sprintf("Get of %q", id))
		t.is(s.Tasks().Cancel(t.ctx, id), fs.ErrNotExist, fmt.Sprintf("Cancel of %q", id))
		var ended error
		for _, ended = range s.Tasks().Watch(t.ctx, id) {
			break
		}
		t.is(ended, fs.ErrNotExist, fmt.Sprintf("Watch of %q", id))
	}
	t.ok(s.Tasks().Remove(t.ctx, "none"))
	t.state(s, "a.b", fleet.Queued)
}

func lists(t *tester) {
	s := t.own()
	if got := all(t, s.Tasks().List(t.ctx)); len(got) != 0 {
		t.Errorf("an empty fleet lists %+v", got)
	}
	want := map[string]fleet.State{}
	for i := range 30 {
		id := fmt.Sprintf("t%d", i)
		t.submit(s, id)
		want[id] = fleet.Queued
	}
	for _, state := range []fleet.State{fleet.Done, fleet.Failed, fleet.Running} {
		c := t.claim(s, "w")
		want[c.Task().ID] = state
		if state.Final() {
			t.finish(c, state)
		}
	}
	got := map[string]fleet.State{}
	for _, status := range all(t, t.own().Tasks().List(t.ctx)) {
		if _, twice := got[status.ID]; twice {
			t.Errorf("%s is listed twice", status.ID)
		}
		got[status.ID] = status.State
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed: %s", diff)
	}
	for range s.Tasks().List(t.ctx) {
		break // a list need not be read to its end
	}
}

// watch follows the status of a task, or of all.
func (t *tester) watch(s fleet.Space, id string) (next func() fleet.Status) {
	read, _ := follow(t, func(ctx context.Context) iter.Seq2[fleet.Status, error] { return s.Tasks().Watch(ctx, id) })
	return func() fleet.Status {
		t.Helper()
		status, ok := read()
		if !ok {
			t.Fatal("the watch has ended")
		}
		return status
	}
}

func watchOne(t *tester) {
	s := t.own()
	t.submit(s, "other", "t", "t.x")
	next := t.watch(t.own(), "t")
	last := next()
	if last.State != fleet.Queued {
		t.Errorf("the first status is %s", last.State)
	}
	until := func(what string, is func(fleet.Status) bool) {
		t.Helper()
		for {
			status := next()
			if status.ID != "t" || cmp.Equal(status, last) {
				t.Fatalf("until t is %s, its watch yields %+v, and before it %+v", what, status, last)
			}
			if last = status; is(status) {
				return
			}
		}
	}
	t.finish(t.claim(s, "w"), fleet.Done)
	c := t.claim(s, "w")
	until("claimed", func(s fleet.Status) bool { return s.State == fleet.Running && s.Worker == "w" })
	status := c.Status()
	status.Reason = "reads"
	t.ok(c.Update(t.ctx, status))
	until("updated", func(s fleet.Status) bool { return s.Reason == "reads" })
	status.State, status.Reason = fleet.Queued, "later"
	t.ok(c.Return(t.ctx, status))
	until("returned", func(s fleet.Status) bool { return s.State == fleet.Queued && s.Reason == "later" })
	t.ok(s.Tasks().Cancel(t.ctx, "t"))
	until("canceled", func(s fleet.Status) bool { return s.State == fleet.Canceled })
	if late := t.watch(s, "t")(); late.State != fleet.Canceled {
		t.Errorf("who watches late sees %s first, want what there is now", late.State)
	}
}

func watchAll(t *tester) {
	s := t.own()
	t.submit(s, "a", "b")
	next := t.watch(t.own(), "")
	for seen := map[string]bool{}; len(seen) < 2; {
		seen[next().ID] = true
	}
	t.submit(s, "c")
	for range 3 {
		t.finish(t.claim(s, "w"), fleet.Done)
	}
	for done := map[string]bool{}; len(done) < 3; {
		if status := next(); status.State.Final() {
			done[status.ID] = true
		}
	}
}

// slowWatcher checks that a slow watcher gets the last status.
func slowWatcher(t *tester) {
	s := t.own()
	t.submit(s, "t")
	one, every := t.watch(s, "t"), t.watch(s, "")
	one()
	every()
	c := t.claim(s, "w")
	for i := range 100 {
		status := c.Status()
		status.Reason = fmt.Sprint("step ", i)
		t.ok(c.Update(t.ctx, status))
	}
	t.finish(c, fleet.Failed)
	for _, next := range []func() fleet.Status{one, every} {
		last := ""
		for status := next(); status.State != fleet.Failed; status = next() {
			if status.Reason == last && last != "" {
				t.Errorf("the watcher sees %q twice", last)
			}
			last = status.Reason
		}
	}
}

func cancels(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "queued", "paused")
	t.ok(b.Tasks().Cancel(t.ctx, "queued"))
	t.state(a, "queued", fleet.Canceled)
	if t.status(a, "queued").Ended.IsZero() {
		t.Error("a task that was canceled has no time of its end")
	}
	c := t.claim(a, "w")
	if c.Task().ID != "paused" {
		t.Fatalf("claimed %s, which was canceled", c.Task().ID)
	}
	status := c.Status()
	status.State, status.NotBefore = fleet.Paused, time.Now().Add(long)
	t.ok(c.Return(t.ctx, status))
	t.ok(b.Tasks().Cancel(t.ctx, "paused"))
	t.state(a, "paused", fleet.Canceled)
	t.ok(b.Tasks().Cancel(t.ctx, "paused"))

	t.submit(a, "done")
	t.finish(t.claim(a, "w"), fleet.Done)
	t.ok(b.Tasks().Cancel(t.ctx, "done"))
	t.state(a, "done", fleet.Done)
	t.nothingDue(a)
}

// cancelsClaimed checks that the owner of a task learns that it was canceled, and that it ends even
// if the owner gives it back.
func cancelsClaimed(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	c := t.claim(a, "w")
	if c.Canceled() {
		t.Error("a claim is canceled before anybody has asked for it")
	}
	t.ok(b.Tasks().Cancel(t.ctx, "t"))
	t.state(b, "t", fleet.Running)
	t.eventually("the owner learns of the cancel", func() bool { t.ok(c.Extend(t.ctx)); return c.Canceled() })
	t.finish(c, fleet.Canceled)
	t.state(b, "t", fleet.Canceled)

	t.submit(a, "back")
	c = t.claim(a, "w")
	t.ok(b.Tasks().Cancel(t.ctx, "back"))
	status := c.Status()
	status.State = fleet.Queued
	t.ok(c.Return(t.ctx, status))
	t.endsCanceled(a, "back")
}

// cancelsDead checks that a task whose worker has died can be canceled.
func cancelsDead(t *tester) {
	s := t.own()
	t.submit(s, "before")
	t.claimFor(s, "w", 5*t.Unit)
	t.ok(s.Tasks().Cancel(t.ctx, "before"))
	t.endsCanceled(s, "before")

	t.submit(s, "after")
	c := t.claimFor(s, "w", 5*t.Unit)
	t.eventually("the claim expires", func() bool { return time.Now().After(c.made.Add(6 * t.Unit)) })
	t.ok(s.Tasks().Cancel(t.ctx, "after"))
	t.endsCanceled(s, "after")
}

// endsCanceled checks that a task that was canceled ends: by itself, or because its next owner
// knows it from the beginning.
func (t *tester) endsCanceled(s fleet.Space, id string) {
	t.Helper()
	for !t.status(s, id).State.Final() {
		ctx, cancel := context.WithTimeout(t.ctx, 10*t.Unit)
		c, err := s.Tasks().Claim(ctx, "next", long)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && t.ctx.Err() == nil {
			continue
		}
		t.ok(err)
		if c.Task().ID != id || !c.Canceled() {
			t.Fatalf("claimed %s, canceled: %v; want %s, which was canceled", c.Task().ID, c.Canceled(), id)
		}
		t.finish(c, fleet.Canceled)
	}
	t.state(s, id, fleet.Canceled)
}

func removes(t *tester) {
	s := t.own()
	t.submit(s, "a", "ab", "b")
	for _, name := range []string{"artifacts/a/x", "tree/a/y/z", "artifacts/ab/x", "artifacts/b/a/x", "a/b"} {
		t.put(s, name, name)
	}
	for _, id := range []string{"a", "ab"} {
		t.ok(s.Asks().Put(t.ctx, fleet.Ask{Task: id, ID: "1", Kind: fleet.AskQuestion, Text: "?", At: time.Now()}))
		t.appended(s, id, "begin")
	}
	t.refused(s.Tasks().Remove(t.ctx, "a"), "Remove of a task that waits")
	c := t.claim(s, "w")
	t.refused(s.Tasks().Remove(t.ctx, "a"), "Remove of a task that runs")
	t.finish(c, fleet.Done)
	err := s.Tasks().Remove(t.ctx, "a", "ab", "none")
	if err == nil || !strings.Contains(err.Error(), "ab") {
		t.Errorf("Remove of one that is done and one that is not = %v, want it to name the latter", err)
	}
	_, _, err = s.Tasks().Get(t.ctx, "a")
	t.is(err, fs.ErrNotExist, "Get of a removed task")
	_, err = s.Journals().Read(t.ctx, "a")
	t.is(err, fs.ErrNotExist, "Read of a removed task's journal")
	var names []string
	for _, o := range all(t, s.Objects().List(t.ctx, "")) {
		names = append(names, o.Name)
	}
	if want := []string{"a/b", "artifacts/ab/x", "artifacts/b/a/x"}; !slices.Equal(names, want) {
		t.Errorf("after the removal of a there are the objects %q, want %q", names, want)
	}
	if asks := all(t, s.Asks().Open(t.ctx, "")); len(asks) != 1 || asks[0].Task != "ab" {
		t.Errorf("after the removal of a there are the asks %+v, want that of ab", asks)
	}
	t.state(s, "ab", fleet.Queued)
	t.ok(s.Tasks().Remove(t.ctx, "a"))
	t.submit(s, "a") // is new
}

func maxQueued(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "a", "b", "c")
	_, _, err := b.Tasks().Submit(t.ctx, fleet.Task{ID: "d", Prompt: "p"})
	var limit *fleet.LimitError
	if !errors.As(err, &limit) || limit.Tenant != fleet.DefaultTenant || limit.What == "" {
		t.Errorf("Submit of one too many = %v, want a LimitError", err)
	}
	if _, isNew, err := b.Tasks().Submit(t.ctx, fleet.Task{ID: "c", Prompt: "do c"}); err != nil || isNew {
		t.Errorf("Submit of one that is there = new %v, %v", isNew, err)
	}
	c := t.claim(a, "w")
	if _, _, err := b.Tasks().Submit(t.ctx, fleet.Task{ID: "d", Prompt: "p"}); !errors.As(err, &limit) {
		t.Errorf("Submit while one runs = %v, want a LimitError", err)
	}
	t.finish(c, fleet.Done)
	t.submit(b, "d")
	t.ok(b.Tasks().Cancel(t.ctx, "d"))
	t.submit(b, "e")
}

func maxQueuedAtOnce(t *tester) {
	spaces := []fleet.Space{t.own(), t.own()}
	var submitted atomic.Int32
	t.in(12, func(i int) {
		_, _, err := spaces[i%2].Tasks().Submit(t.ctx, fleet.Task{ID: fmt.Sprint(i), Prompt: "p"})
		var limit *fleet.LimitError
		if err == nil {
			submitted.Add(1)
		} else if !errors.As(err, &limit) {
			t.Error(err)
		}
	})
	if n := submitted.Load(); n > 3 {
		t.Errorf("%d tasks were submitted at once, want 3 at most", n)
	}
	if n := len(all(t, spaces[0].Tasks().List(t.ctx))); n != int(submitted.Load()) {
		t.Errorf("there are %d tasks, and %d were submitted", n, submitted.Load())
	}
}
