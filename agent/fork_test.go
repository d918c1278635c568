package agent_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
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
	h := open(t, setup{options: agent.Options{ID: "source", Journal: log}, steps: []llmtest.Step{llmtest.Text("one"),
		llmtest.Text("two")}})
	h.submit(t, "first", agent.ReasonCompleted)
	h.submit(t, "second", agent.ReasonCompleted)
	for turn, want := range map[int]string{0: "first one second two", 1: "first", 2: "first one",
		3: "first one second"} {
		id := "fork-" + string(rune('0'+turn))
		fork, err := agent.Fork(ctx, store, "source", turn, id)
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
		if _, err := agent.Fork(ctx, store, c.from, c.turn, c.to); !errors.Is(err, c.want) {
			t.Errorf("Fork of %s behind turn %d to %s = %v, want %v", c.from, c.turn, c.to, err, c.want)
		}
	}
}
