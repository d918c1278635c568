package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// A session in a store can be forked after any of its turns in one call, while it is open, and the
// fork continues from there.
func TestJ8_ForkInOneCall(t *testing.T) {
	ctx := context.Background()
	store := journal.NewDir(t.TempDir())
	log, err := store.Create(ctx, "source")
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, setup{options: agent.Options{ID: "source", Journal: log},
		steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")}})
	h.submit(t, "first", agent.ReasonCompleted)
	h.submit(t, "second", agent.ReasonCompleted)
	for turn, want := range map[int]string{0: "first one second two", 1: "first", 2: "first one",
		3: "first one second"} {
		id := "fork-" + string(rune('0'+turn))
		fork, err := agent.Fork(ctx, store, "source", turn, id, "")
		if err != nil {
			t.Fatal(err)
		}
		s := setup{options: agent.Options{Journal: fork}, steps: []llmtest.Step{llmtest.Text("more")}}
		rest := open(t, s)
		var texts []string
		for _, turn := range rest.History() {
			texts = append(texts, turn.Message.Parts.Text())
		}
		if got := strings.Join(texts, " "); got != want || rest.ID() != id {
			t.Errorf("behind turn %d the fork %s has %q, want %q", turn, rest.ID(), got, want)
		}
		rest.submit(t, "instead", agent.ReasonCompleted)
	}
	for _, c := range []struct {
		from, to string
		turn     int
		want     error
	}{{"source", "new", 5, agent.ErrNoTurn}, {"source", "new", -1, agent.ErrNoTurn}, {"none", "new", 0, fs.ErrNotExist},
		{"source", "source", 0, journal.ErrLocked}} {
		if _, err := agent.Fork(ctx, store, c.from, c.turn, c.to, ""); !errors.Is(err, c.want) {
			t.Errorf("Fork of %s behind turn %d to %s = %v, want %v", c.from, c.turn, c.to, err, c.want)
		}
	}
}

// elsewhere is a session of a store that is in the middle of a round: the call a has its result, b
// is running, and c has not begun. The round ends with end.
func elsewhere(t *testing.T, store journal.Store) (end func()) {
	t.Helper()
	log, err := store.Create(t.Context(), "source")
	if err != nil {
		t.Fatal(err)
	}
	running, may := make(chan struct{}), make(chan struct{})
	work := newTool("work", writes, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		if c.ID == "b" {
			close(running)
			<-may
		}
		return tool.Text(c.ID + " ran"), nil
	})
	h := open(t, setup{tools: []tool.Tool{work}, serial: true, options: agent.Options{ID: "source", Journal: log},
		steps: []llmtest.Step{llmtest.Calls(named("a", "work", ""), named("b", "work", ""), named("c", "work", "")),
			llmtest.Text("done")}})
	ended := make(chan error)
	go func() {
		_, err := h.Submit(t.Context(), "go")
		ended <- err
	}()
	<-running
	return func() {
		close(may)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// asFork goes on with a fork and returns what the model was told of the calls a, b and c, and which
// of them ran in the fork. Without a text the input goes on.
func asFork(t *testing.T, log journal.Log, text string) (told map[string]llm.ToolResult, ran string) {
	t.Helper()
	work := newTool("work", writes, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		ran += c.ID
		return tool.Text(c.ID + " ran in the fork"), nil
	})
	h := open(t, setup{tools: []tool.Tool{work}, serial: true, options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Text("going on")}})
	var err error
	if text == "" {
		_, err = h.Continue(t.Context())
	} else {
		_, err = h.Submit(t.Context(), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	told = map[string]llm.ToolResult{}
	for _, m := range h.model.Requests()[0].Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				told[r.CallID] = r
			}
		}
	}
	return told, ran
}

// A fork behind an answer with calls has the results that these got in the session that it comes
// from, and says that nothing of them was run in the fork. Behind the results nothing is said.
func TestX8_ForkBehindCalls(t *testing.T) {
	store := journal.NewDir(t.TempDir())
	elsewhere(t, store)()
	for turn, note := range map[int]bool{2: true, 3: false} {
		fork, err := agent.Fork(t.Context(), store, "source", turn, fmt.Sprint("fork-", turn), "")
		if err != nil {
			t.Fatal(err)
		}
		told, ran := asFork(t, fork, "another way")
		for _, id := range []string{"a", "b", "c"} {
			text := told[id].Content.Text()
			if !strings.HasSuffix(text, id+" ran") || told[id].IsError ||
				strings.Contains(text, "forked from another one, in which this call was made. Nothing of it was "+
					"run here") != note {
				t.Errorf("behind turn %d the model is told of %s: %q", turn, id, text)
			}
		}
		if ran != "" {
			t.Errorf("behind turn %d, %s ran again", turn, ran)
		}
	}
	// a fork of a fork says it once, and a replay is the same
	again, err := agent.Fork(t.Context(), store, "fork-2", 2, "again", "")
	if err != nil {
		t.Fatal(err)
	}
	told, _ := asFork(t, again, "another way")
	if text := told["b"].Content.Text(); strings.Count(text, "forked from another one") != 1 {
		t.Errorf("a fork of a fork tells the model %q", text)
	}
	log, err := store.Read(t.Context(), "fork-2")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	state, err := agent.Load(t.Context(), log)
	if err != nil || state.Header.ForkOf != "source" || state.Header.ForkedAt == 0 {
		t.Errorf("%+v, %v", state.Header, err)
	}
	if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// A fork while calls run says of each what is true: which result it had, that it was running there,
// or that it was not run. What had not begun is run by a fork that goes on.
func TestX8_ForkWhileCallsRun(t *testing.T) {
	const unknown, notRun = "in which this call had begun and had no result yet. Nothing of it was run here",
		"the call was not run: this session was forked from another one"
	for name, c := range map[string]struct{ text, last, ran string }{"another task": {"another way", notRun, ""},
		"goes on": {"", "c ran in the fork", "c"}} {
		store := journal.NewDir(t.TempDir())
		end := elsewhere(t, store)
		fork, err := agent.Fork(t.Context(), store, "source", 0, "fork", "")
		if err != nil {
			t.Fatal(err)
		}
		told, ran := asFork(t, fork, c.text)
		end()
		for id, want := range map[string]string{"a": "Nothing of it was run here, and what it changed there may be " +
			"missing here. Its result there:]\na ran",
			"b": unknown, "c": c.last} {
			text := told[id].Content.Text()
			if !strings.Contains(text, want) || strings.Contains(text, "interrupted") ||
				strings.Contains(text, "the session stopped") {
				t.Errorf("%s: the model is told of %s: %q", name, id, text)
			}
		}
		if ran != c.ran {
			t.Errorf("%s: %q ran in the fork", name, ran)
		}
		log, err := store.Read(t.Context(), "fork")
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A call that has begun in the fork itself may have run there, whoever made it.
func TestX8_ForkKilledInItsCall(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	store := journal.NewDir(dir)
	end := elsewhere(t, store)
	defer end()
	fork, err := agent.Fork(t.Context(), store, "source", 0, "fork", "")
	if err != nil {
		t.Fatal(err)
	}
	work := newTool("work", writes, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text("ran"), os.CopyFS(copied, os.DirFS(dir)) // what a kill leaves
	})
	h := open(t, setup{tools: []tool.Tool{work}, serial: true, steps: []llmtest.Step{llmtest.Text("done")},
		options: agent.Options{Journal: fork}})
	if _, err := h.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	killed, err := journal.NewDir(copied).Open(t.Context(), "fork")
	if err != nil {
		t.Fatal(err)
	}
	told, ran := asFork(t, killed, "")
	if text := told["c"].Content.Text(); !strings.Contains(text, "its outcome is unknown") ||
		strings.Contains(text, "was run here") || ran != "" {
		t.Errorf("%q ran, and the model is told of c: %q", ran, text)
	}
}

// What waited in the other session is for that one: a fork has neither its steering nor its
// follow-ups, whether it begins at the end or before the turn that they became.
func TestX8_ForkHasNoQueue(t *testing.T) {
	ctx := context.Background()
	store := journal.NewDir(t.TempDir())
	log, err := store.Create(ctx, "source")
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, setup{options: agent.Options{ID: "source", Journal: log},
		steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three")}})
	h.submit(t, "first", agent.ReasonCompleted)
	if err := h.FollowUp(ctx, "later", agent.Key("k")); err != nil {
		t.Fatal(err)
	}
	texts := func(s *agent.Session) (all []string) {
		for _, turn := range s.History() {
			all = append(all, turn.Message.Parts.Text())
		}
		return all
	}
	fork := func(id string, turn int, want string) {
		t.Helper()
		log, err := agent.Fork(ctx, store, "source", turn, id, "")
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, setup{options: agent.Options{Journal: log},
			steps: []llmtest.Step{llmtest.Text("more"), llmtest.Text("wrong")}})
		f.submit(t, "instead", agent.ReasonCompleted)
		for {
			step, err := f.Advance(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if step.Act == agent.ActRest {
				break
			}
		}
		if got := strings.Join(texts(f.Session), " "); got != want || (len(f.Keys()) > 0) != (turn == 3) {
			t.Errorf("the fork behind turn %d has %q and the keys %q, want %q", turn, got, f.Keys(), want)
		}
	}
	fork("waits", 0, "first one instead more")
	if _, err := h.Continue(ctx); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(texts(h.Session), " "); got != "first one later two" {
		t.Fatalf("the session has %q", got)
	}
	fork("before", 2, "first one instead more")
	fork("behind", 3, "first one later instead more")
}
