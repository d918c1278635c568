package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
)

// followed is what a watch of a task has yielded.
type followed struct {
	facts    []agent.Event
	numbers  []int64
	live     int
	statuses []fleet.State
	err      error
}

// follow watches a task to its end.
func (f *field) follow(id string, from int64) <-chan followed {
	done := make(chan followed, 1)
	c := f.client()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
		defer cancel()
		var w followed
		for u, err := range c.Watch(ctx, id, from) {
			switch {
			case err != nil:
				w.err = err
			case u.Status != nil:
				w.statuses = append(w.statuses, u.Status.State)
			case u.N == 0:
				w.live++
			default:
				e, err := agent.UnmarshalEvent(u.Event)
				if err != nil {
					w.err = err
				}
				w.facts, w.numbers = append(w.facts, e), append(w.numbers, u.N)
			}
		}
		done <- w
	}()
	return done
}

// projected returns the events of a task's journal.
func (f *field) projected(id string) []agent.Event {
	f.t.Helper()
	log, err := f.space(fleet.DefaultTenant).Journals.Read(f.t.Context(), id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	var events []agent.Event
	if err := agent.Project(f.t.Context(), log, func(e agent.Event) { events = append(events, e) }); err != nil {
		f.t.Fatal(err)
	}
	return events
}

// sameFacts compares what a watch has yielded with the journal.
func (f *field) sameFacts(got followed, want []agent.Event) {
	f.t.Helper()
	if got.err != nil {
		f.t.Errorf("watch: %v", got.err)
	}
	if len(got.facts) != len(want) {
		f.t.Fatalf("%d facts, the journal has %d", len(got.facts), len(want))
	}
	for i := range want {
		g, err1 := json.Marshal(got.facts[i])
		w, err2 := json.Marshal(want[i])
		if string(g) != string(w) || err1 != nil || err2 != nil {
			f.t.Fatalf("fact %d is %s, in the journal %s", i, g, w)
		}
	}
	if n := len(got.statuses); n == 0 || !got.statuses[n-1].Final() {
		f.t.Errorf("statuses: %v", got.statuses)
	}
}

func TestP4_WatchOverATakeover(t *testing.T) {
	t.Parallel()
	h := newHeld(1)
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return h.answer(r, []fakellm.Turn{f.effect("one"), f.effect("two"), {Text: "All of this is done now."}})
	}, fakellm.Options{Words: 1})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	early := f.follow("t1", 1)
	cut := &cutEngine{Engine: f.engine.Share()}
	f.ttl = short
	stop := f.start(f.workerOn(cut, "w1"))
	<-h.came
	cut.cut.Store(true)
	f.start(f.worker("w2"))
	f.wait("t1")
	close(h.letGo)
	if err := stop(); !errors.Is(err, fleet.ErrLost) {
		t.Error(err)
	}
	want := f.projected("t1")
	got := <-early
	f.sameFacts(got, want)
	if got.live == 0 {
		t.Error("no live pieces")
	}
	late := <-f.follow("t1", 1)
	f.sameFacts(late, want)
	// Going on behind a record yields the rest and nothing twice.
	at := late.numbers[len(late.numbers)/2]
	first := 0
	for late.numbers[first] <= at {
		first++
	}
	f.sameFacts(<-f.follow("t1", at+1), want[first:])
}

func TestP4_SteerAndInterrupt(t *testing.T) {
	t.Parallel()
	h := newHeld(1)
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return h.answer(r, []fakellm.Turn{f.effect("one"), f.effect("two"), shell("echo three >> "+f.out, "sleep 60"),
			{Text: "Done."}})
	}, fakellm.Options{})
	c := f.client()
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	steered := make(chan error, 1)
	go func() { steered <- c.Steer(t.Context(), "t1", "Be careful.", "key1") }() // before there is an owner
	f.start(f.worker("w1"))
	<-h.came
	if err := errors.Join(<-steered, c.Steer(t.Context(), "t1", "Be careful.", "key1"),
		c.Steer(t.Context(), "t1", "Be quick.", "key2")); err != nil {
		t.Fatal(err)
	}
	close(h.letGo)
	f.until("the third effect", func() bool { return f.effects()["three"] == 1 })
	if err := c.Interrupt(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	s := f.wait("t1")
	if s.State != fleet.Done || s.Result.Reason != agent.ReasonInterrupted {
		t.Errorf("status: %+v, result %+v", s, s.Result)
	}
	var said []string
	for _, e := range f.projected("t1") {
		if e, ok := e.(*agent.SteeringInjected); ok {
			said = append(said, e.Text)
		}
	}
	if text := strings.Join(said, "|"); strings.Count(text, "Be careful.") != 1 ||
		strings.Count(text, "Be quick.") != 1 {
		t.Errorf("steered: %q", said)
	}
	if err := c.Steer(t.Context(), "t1", "Too late.", "key3"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("steering a task that has ended: %v", err)
	}
	if err := c.Interrupt(t.Context(), "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("interrupting no task: %v", err)
	}
}

func TestP4_CancelEverywhere(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		if strings.Contains(r.Messages[0].Parts.Text(), "Call") {
			return shell("echo begun >> "+f.out, "sleep 60")
		}
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "ask_user", Args: json.RawMessage(`{"question":"Shall I?"}`)}}}
	}, fakellm.Options{})
	c := f.client()
	cancel := func(id string) {
		t.Helper()
		if err := c.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if s := f.wait(id); s.State != fleet.Canceled {
			t.Errorf("%s: %+v", id, s)
		}
	}
	f.submit(fleet.Task{ID: "queued", Prompt: "Wait."})
	cancel("queued")
	f.start(f.worker("w1", func(_ *fleet.Worker, o *agent.Options) { o.Questions = &agent.Questions{} }))
	f.submit(fleet.Task{ID: "running", Prompt: "Call."})
	f.until("the effect", func() bool { return f.effects()["begun"] == 1 })
	cancel("running")
	f.submit(fleet.Task{ID: "asking", Prompt: "Ask."})
	f.until("the question", func() bool { return len(f.asked("asking")) == 1 })
	cancel("asking")
	if open := f.asked("asking"); len(open) != 0 {
		t.Errorf("asks of a task that has ended: %+v", open)
	}
	cancel("asking") // again
}

// asked returns the open asks of a task.
func (f *field) asked(id string) []fleet.Ask {
	f.t.Helper()
	var asks []fleet.Ask
	for a, err := range f.client().Asked(f.t.Context(), id) {
		if err != nil {
			f.t.Fatal(err)
		}
		asks = append(asks, a)
	}
	return asks
}

// TestP4_AnswersSurviveTheAsker answers an approval and a question while nobody has the task.
func TestP4_AnswersSurviveTheAsker(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(f.effect("approved"),
			fakellm.Turn{Calls: []fakellm.Call{{Name: "ask_user",
				Args: json.RawMessage(`{"question":"Which color?"}`)}}},
			f.effect("denied"), fakellm.Turn{Text: "Done."})(r)
	}, fakellm.Options{})
	c := f.client()
	asking := func(_ *fleet.Worker, o *agent.Options) {
		o.Questions = &agent.Questions{}
		o.Authorize = func(_ context.Context, r tool.Request) (tool.Decision, error) {
			if r.Access.Command != "" {
				return tool.Decision{Verdict: tool.Ask}, nil
			}
			return tool.Decision{Verdict: tool.Allow}, nil
		}
	}
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	waits := func() bool {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), "t1")
		return err == nil && s.Waits && len(f.asked("t1")) == 1
	}
	for _, want := range []struct {
		kind   fleet.AskKind
		text   string
		answer fleet.Answer
	}{
		{fleet.AskApproval, "echo approved", fleet.Answer{Allow: true}},
		{fleet.AskQuestion, "Which color?", fleet.Answer{Text: "Blue."}},
		{fleet.AskApproval, "echo denied", fleet.Answer{Text: "Not this one."}},
	} {
		stop := f.start(f.worker("asker", asking))
		f.until("the ask", waits)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		ask := f.asked("t1")[0]
		if ask.Kind != want.kind || !strings.Contains(ask.Text, want.text) {
			t.Errorf("ask: %+v", ask)
		}
		if err := c.Answer(t.Context(), "t1", ask.ID, want.answer); err != nil {
			t.Fatal(err)
		}
	}
	f.start(f.worker("last", asking))
	if s := f.wait("t1"); s.State != fleet.Done || s.Waits || s.Attempt < 4 || len(s.Deaths) != 0 {
		t.Errorf("status: %+v", s)
	}
	if got := f.effects(); got["approved"] != 1 || got["denied"] != 0 {
		t.Errorf("effects: %v", got)
	}
	results := f.results("t1")
	if len(results) != 3 || !strings.Contains(results[1], "Blue.") || !strings.Contains(results[2], "Not this one.") {
		t.Errorf("results: %q", results)
	}
}

// errDown is the error of an engine that does not answer.
var errDown = errors.New("no server answers")

type downBus struct{ fleet.Bus }

func (downBus) Request(context.Context, string, []byte) ([]byte, error) { return nil, errDown }

type downList struct{ fleet.Tasks }

func (downList) Get(context.Context, string) (fleet.Task, fleet.Status, error) {
	return fleet.Task{}, fleet.Status{}, errDown
}

// TestP2_SteerWithoutAnEngine says why a task could not be reached: that it has no worker is not
// known.
func TestP2_SteerWithoutAnEngine(t *testing.T) {
	t.Parallel()
	patience := errors.New("no worker has answered")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, patience)
	defer cancel()
	down := &fleet.Space{Tasks: downList{}, Bus: downBus{}}
	if err := fleet.NewClient(down).Steer(ctx, "t1", "Be careful.", ""); !errors.Is(err, patience) ||
		!errors.Is(err, errDown) {
		t.Errorf("steering without an engine: %v", err)
	}
}
