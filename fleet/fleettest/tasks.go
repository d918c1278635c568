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
	{name: "P3_Submit", run: submits},
	{name: "P3_IDs", run: ids},
	{name: "P3_Watch", run: watches},
	{name: "P3_Cancel", run: cancels},
	{name: "P3_CancelOfAClaimedTask", run: cancelsClaimed},
	{name: "P3_Remove", run: removes},
	{name: "P6_MaxQueued", run: maxQueued, options: limited(0, 3)},
}

// submit submits tasks with the given ids.
func (t *tester) submit(s *fleet.Space, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, isNew, err := s.Tasks.Submit(t.ctx, fleet.Task{ID: id, Prompt: "do " + id})
		t.ok(err)
		if !isNew {
			t.Fatalf("task %s is not new", id)
		}
	}
}

// status returns the status of a task.
func (t *tester) status(s *fleet.Space, id string) fleet.Status {
	t.Helper()
	_, status, err := s.Tasks.Get(t.ctx, id)
	t.ok(err)
	return status
}

// state checks the state of a task.
func (t *tester) state(s *fleet.Space, id string, want fleet.State) {
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

// submits checks that one task is one task, however often, where and when it is submitted.
func submits(t *tester) {
	a, b := t.own(), t.own()
	task := fullTask("t")
	var news atomic.Int32
	t.in(8, func(i int) {
		same := task
		if i%2 == 0 {
			same.Tenant = "" // means the same
		}
		_, isNew, err := []*fleet.Space{a, b}[i%2].Tasks.Submit(t.ctx, same)
		if err != nil {
			t.Error(err)
		} else if isNew {
			news.Add(1)
		}
	})
	if news.Load() != 1 {
		t.Errorf("%d of 8 submits of one task were new, want 1", news.Load())
	}
	got, status, err := b.Tasks.Get(t.ctx, "t")
	t.ok(err)
	if diff := cmp.Diff(task, got); diff != "" {
		t.Errorf("Get returns another task: %s", diff)
	}
	if status.ID != "t" || status.Tenant != fleet.DefaultTenant || status.State != fleet.Queued ||
		status.Submitted.IsZero() || !cmp.Equal(status.Labels, task.Labels) {
		t.Errorf("the status is %+v", status)
	}
	other := fullTask("t")
	other.Labels["c"] = "d"
	_, _, err = b.Tasks.Submit(t.ctx, other)
	t.is(err, fleet.ErrDifferent, "Submit with other labels")
	t.finish(t.claim(a, "w"), fleet.Done)
	status, isNew, err := b.Tasks.Submit(t.ctx, task)
	if err != nil || isNew || status.State != fleet.Done {
		t.Errorf("Submit of a task that is done = new %v, %v, %s", isNew, err, status.State)
	}
	t.nothingDue(b)
}

// hostileIDs are ids that mean something to somebody else.
var hostileIDs = []string{"", ".", "..", "../x", "a/b", `a\b`, "*", ">", "a.*", "a b", "ü", "a\x00b", "a\nb", "-x",
	".x", "$JS", "a>b", strings.Repeat("x", 200), "\xff"}

// ids checks that ids of tasks are names and nothing else.
func ids(t *tester) {
	s := t.own()
	for _, id := range hostileIDs {
		_, _, err := s.Tasks.Submit(t.ctx, fleet.Task{ID: id, Prompt: "p"})
		t.is(err, fs.ErrInvalid, fmt.Sprintf("Submit of %q", id))
	}
	_, _, err := s.Tasks.Submit(t.ctx, fleet.Task{ID: "t", Tenant: "other", Prompt: "p"})
	t.is(err, fs.ErrInvalid, "Submit for another tenant")
	good := []string{"a", "a.b", "a.b.c", "a_b", "A-1_x.", "0", "_", strings.Repeat("x", 128)}
	t.submit(s, good...)
	for _, id := range append([]string{"none", "b", "A"}, hostileIDs[1:]...) {
		_, _, err := s.Tasks.Get(t.ctx, id)
		t.is(err, fs.ErrNotExist, fmt.Sprintf("Get of %q", id))
		t.is(s.Tasks.Cancel(t.ctx, id), fs.ErrNotExist, fmt.Sprintf("Cancel of %q", id))
		t.is(lastError(s.Tasks.Watch(t.ctx, id)), fs.ErrNotExist, fmt.Sprintf("Watch of %q", id))
	}
	var claimed []string
	for range good {
		c := t.claim(s, "w.1 ü")
		if c.Task().Prompt != "do "+c.Task().ID {
			t.Errorf("claimed %+v", c.Task())
		}
		claimed = append(claimed, c.Task().ID)
		t.finish(c, fleet.Done)
	}
	slices.Sort(claimed)
	slices.Sort(good)
	if !slices.Equal(claimed, good) {
		t.Errorf("claimed %q, want %q", claimed, good)
	}
}

// watch follows the status of a task, or of all.
func (t *tester) watch(s *fleet.Space, id string) (next func() fleet.Status) {
	read, _ := follow(t, func(ctx context.Context) iter.Seq2[fleet.Status, error] { return s.Tasks.Watch(ctx, id) })
	return func() fleet.Status {
		t.Helper()
		status, ok := read()
		if !ok {
			t.Fatal("the watch has ended")
		}
		return status
	}
}

// watches checks that who watches one task or all gets what there is, then what changes, and the
// last status, however slow it is.
func watches(t *tester) {
	s := t.own()
	t.submit(s, "other", "t", "t.x")
	one, every := t.watch(t.own(), "t"), t.watch(t.own(), "")
	if first := one(); first.ID != "t" || first.State != fleet.Queued {
		t.Errorf("who watches t gets %+v first", first)
	}
	for seen := map[string]bool{}; len(seen) < 3; {
		seen[every().ID] = true
	}
	t.finish(t.claim(s, "w"), fleet.Done)
	c := t.claim(s, "w")
	for i := range 100 {
		status := c.Status()
		status.Reason = fmt.Sprint("step ", i)
		t.ok(c.Update(t.ctx, status))
	}
	t.finish(c, fleet.Failed)
	for _, next := range []func() fleet.Status{one, every} {
		var last fleet.Status
		for last.State != fleet.Failed {
			status := next()
			if status.ID != "t" {
				continue
			}
			if cmp.Equal(status, last) {
				t.Errorf("a watcher gets %+v twice", status)
			}
			last = status
		}
	}
	t.submit(s, "late")
	for every().ID != "late" {
	}
	if got := t.watch(s, "t")(); got.State != fleet.Failed {
		t.Errorf("who watches late gets %s first, want what there is now", got.State)
	}
	got := map[string]fleet.State{}
	for _, status := range all(t, s.Tasks.List(t.ctx)) {
		got[status.ID] = status.State
	}
	want := map[string]fleet.State{"other": fleet.Done, "t": fleet.Failed, "t.x": fleet.Queued, "late": fleet.Queued}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed: %s", diff)
	}
}

// cancels checks that a task that nobody has ends at once, and that one that has ended stays.
func cancels(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "queued", "paused")
	t.ok(b.Tasks.Cancel(t.ctx, "queued"))
	t.state(a, "queued", fleet.Canceled)
	if t.status(a, "queued").Ended.IsZero() {
		t.Error("a task that was canceled has no time of its end")
	}
	c := t.claim(a, "w")
	if c.Task().ID != "paused" {
		t.Fatalf("claimed %s, which was canceled", c.Task().ID)
	}
	t.giveBack(c, fleet.Paused, time.Now().Add(long))
	for range 2 {
		t.ok(b.Tasks.Cancel(t.ctx, "paused"))
		t.state(a, "paused", fleet.Canceled)
	}
	t.submit(a, "done")
	t.finish(t.claim(a, "w"), fleet.Done)
	t.ok(b.Tasks.Cancel(t.ctx, "done"))
	t.state(a, "done", fleet.Done)
	t.nothingDue(a)
}

// cancelsClaimed checks that the owner of a task learns that it was canceled, and that it ends even
// if the owner gives it back or dies.
func cancelsClaimed(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	c := t.claim(a, "w")
	if c.Canceled() {
		t.Error("a claim is canceled before anybody has asked for it")
	}
	t.ok(b.Tasks.Cancel(t.ctx, "t"))
	t.state(b, "t", fleet.Running)
	t.eventually("the owner learns of the cancel", func() bool { t.ok(c.Extend(t.ctx)); return c.Canceled() })
	t.finish(c, fleet.Canceled)
	t.state(b, "t", fleet.Canceled)

	t.submit(a, "back")
	c = t.claim(a, "w")
	t.ok(b.Tasks.Cancel(t.ctx, "back"))
	t.giveBack(c, fleet.Queued, time.Time{})
	t.endsCanceled(a, "back")

	t.submit(a, "dead")
	t.claimFor(a, "w", 5*t.Unit)
	t.ok(b.Tasks.Cancel(t.ctx, "dead"))
	t.endsCanceled(a, "dead")
}

// endsCanceled checks that a task that was canceled ends: by itself, or because its next owner
// knows it from the beginning.
func (t *tester) endsCanceled(s *fleet.Space, id string) {
	t.Helper()
	for !t.status(s, id).State.Final() {
		c, err := s.Tasks.Claim(t.short(), "next", long)
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

// removes checks that all goes that a final task has, and nothing else.
func removes(t *tester) {
	s := t.own()
	t.submit(s, "a", "ab", "b")
	for _, name := range []string{"artifacts/a/x", "tree/a/y/z", "artifacts/ab/x", "artifacts/b/a/x", "a/b"} {
		t.put(s, name, name)
	}
	for _, id := range []string{"a", "ab"} {
		t.ask(s, id, "1", time.Now())
		t.appended(s, id, "begin")
	}
	t.refused(s.Tasks.Remove(t.ctx, "a"), "Remove of a task that waits")
	c := t.claim(s, "w")
	t.refused(s.Tasks.Remove(t.ctx, "a"), "Remove of a task that runs")
	t.finish(c, fleet.Done)
	err := s.Tasks.Remove(t.ctx, "a", "ab", "none")
	if err == nil || !strings.Contains(err.Error(), "ab") {
		t.Errorf("Remove of one that is done and one that is not = %v, want it to name the latter", err)
	}
	_, _, err = s.Tasks.Get(t.ctx, "a")
	t.is(err, fs.ErrNotExist, "Get of a removed task")
	_, err = s.Journals.Read(t.ctx, "a")
	t.is(err, fs.ErrNotExist, "Read of a removed task's journal")
	if got, want := t.names(s, ""), []string{"a/b", "artifacts/ab/x", "artifacts/b/a/x"}; !slices.Equal(got, want) {
		t.Errorf("after the removal of a there are the objects %q, want %q", got, want)
	}
	if got := t.openIDs(s, ""); !slices.Equal(got, []string{"ab:1"}) {
		t.Errorf("after the removal of a there are the asks %q, want that of ab", got)
	}
	t.state(s, "ab", fleet.Queued)
	t.ok(s.Tasks.Remove(t.ctx, "a"))
	t.submit(s, "a") // is new
}

// maxQueued checks the bound of the tasks that are not final.
func maxQueued(t *tester) {
	a, b := t.own(), t.own()
	var limit *fleet.LimitError
	t.in(8, func(i int) {
		_, _, err := []*fleet.Space{a, b}[i%2].Tasks.Submit(t.ctx, fleet.Task{ID: fmt.Sprint(i), Prompt: "p"})
		if full := (*fleet.LimitError)(nil); err != nil && !errors.As(err, &full) {
			t.Error(err)
		}
	})
	if n := len(all(t, a.Tasks.List(t.ctx))); n != 3 {
		t.Errorf("%d of 8 tasks were submitted at once, want 3", n)
	}
	c := t.claim(a, "w")
	_, _, err := b.Tasks.Submit(t.ctx, fleet.Task{ID: "more", Prompt: "p"})
	if !errors.As(err, &limit) || limit.Tenant != fleet.DefaultTenant || limit.What == "" {
		t.Errorf("Submit while one runs = %v, want a LimitError", err)
	}
	if _, isNew, err := b.Tasks.Submit(t.ctx, c.Task()); err != nil || isNew {
		t.Errorf("Submit of one that is there = new %v, %v", isNew, err)
	}
	t.finish(c, fleet.Done)
	t.submit(b, "d")
	t.ok(b.Tasks.Cancel(t.ctx, "d"))
	t.submit(b, "e")
}
