package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// notedSession runs an input with two calls that each write a note, and another input, and returns
// its journal and its events.
func notedSession(t *testing.T) (setup, *journal.Memory, []agent.Event) {
	t.Helper()
	log := new(journal.Memory)
	n := 0
	count := newTool("count", readOnly, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		n++
		return tool.Text("ok"), c.Session.Note(ctx, "count", json.RawMessage(fmt.Sprint(n)), "")
	})
	s := setup{tools: []tool.Tool{count}, options: agent.Options{Journal: log, Policy: agent.Policy{}},
		steps: []llmtest.Step{llmtest.Calls(call("count")), llmtest.Calls(call("count")), llmtest.Text("done"),
			llmtest.Calls(call("count")), llmtest.Text("again")}}
	h := open(t, s)
	h.submit(t, "go", agent.ReasonCompleted)
	if err := h.Note(t.Context(), "other", json.RawMessage(`1`), ""); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "on", agent.ReasonCompleted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return s, log, h.events
}

// notesOf returns the notes of a kind as lines.
func notesOf(t *testing.T, from agent.Records, kind string) (lines []string) {
	t.Helper()
	for n, err := range agent.ReadNotes(t.Context(), from, kind) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s behind turn %d of input %d", n.Data, n.Turn, n.Input))
	}
	return lines
}

// Notes are read with the turns behind which a fork has them.
func TestO4_NotesByTurn(t *testing.T) {
	_, log, _ := notedSession(t)
	want := []string{"1 behind turn 2 of input 1", "2 behind turn 4 of input 1", "3 behind turn 8 of input 2"}
	if diff := gocmp.Diff(want, notesOf(t, log, "count")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	store := journal.NewMemoryStore(false)
	source, err := store.Create(t.Context(), "source")
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Append(t.Context(), 1, all(t, log)...); err != nil {
		t.Fatal(err)
	}
	for turn, notes := range map[int]int{1: 0, 2: 1, 3: 1, 4: 2, 7: 2, 8: 3} {
		fork, err := agent.Fork(t.Context(), store, "source", turn, fmt.Sprint("fork", turn), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := notesOf(t, fork, "count"); len(got) != notes {
			t.Errorf("the fork behind turn %d has the notes %q", turn, got)
		}
	}
}

// A note that is added to a closed session is heard by the model when the session goes on, and the
// journal still replays.
func TestO4_NoteOfAClosedSession(t *testing.T) {
	for _, killed := range []bool{false, true} {
		s, log, events := notedSession(t)
		records := all(t, log)
		if killed {
			// in the first call
			records = records[:slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "note" })]
			events = nil
		}
		log = journal.NewMemory(records...)
		if err := agent.AddNote(t.Context(), log, "undone", []byte(`{"n": 1}`),
			"The user has taken it back."); err != nil {
			t.Fatal(err)
		}
		state, err := agent.Load(t.Context(), log)
		if err != nil || string(state.Notes["undone"].Data) != `{"n":1}` || (state.Input != nil) != killed {
			t.Fatalf("killed %v: %+v, %v", killed, state, err)
		}
		s.options.Journal, s.steps = log, []llmtest.Step{llmtest.Text("I see"), llmtest.Text("I see")}
		h := open(t, s)
		if killed {
			_, err = h.Continue(t.Context())
		} else {
			_, err = h.Submit(t.Context(), "more")
		}
		if err != nil {
			t.Fatal(err)
		}
		if sent := h.lastRequestText(); !strings.Contains(sent, "The user has taken it back.") {
			t.Errorf("killed %v: the model heard %s", killed, sent)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		checkNoteReplays(t, log, append(events, h.events...))
	}
}

// checkNoteReplays checks that a journal with an added note replays, and that the numbers of its
// events only grow.
func checkNoteReplays(t *testing.T, log *journal.Memory, saw []agent.Event) {
	t.Helper()
	if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil {
		t.Errorf("replay: %v", err)
	}
	var numbers []int64
	starts := 0
	if err := agent.Project(t.Context(), log, func(ev agent.Event) {
		switch head := ev.Head(); head.Kind {
		case agent.KindToolCallStart: // it comes with its end
		case agent.KindSessionStart:
			starts++
			fallthrough
		default:
			numbers = append(numbers, head.Seq)
		}
	}); err != nil {
		t.Errorf("projection: %v", err)
	}
	if starts != 3 {
		t.Errorf("the session was started %d times", starts)
	}
	if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
		t.Errorf("the events have the numbers %v", numbers)
	}
	for _, ev := range saw {
		if !slices.Contains(numbers, ev.Head().Seq) && strings.HasPrefix(string(ev.Head().Kind), "PROCESSING") {
			t.Errorf("the event %d is missing", ev.Head().Seq)
		}
	}
}

// What cannot be a note is refused, and the journal stays as it is.
func TestO4_NoteThatIsRefused(t *testing.T) {
	_, log, _ := notedSession(t)
	before := log.Len()
	for kind, data := range map[string]string{"": "1", "attractor.dir": `"/x"`, "x": "{"} {
		if err := agent.AddNote(t.Context(), log, kind, []byte(data), ""); err == nil {
			t.Errorf("the note %q %s is kept", kind, data)
		}
	}
	if err := agent.AddNote(t.Context(), new(journal.Memory), "x", []byte("1"), ""); err == nil {
		t.Error("an empty journal has a note")
	}
	if log.Len() != before {
		t.Errorf("%d records of %d", log.Len(), before)
	}
}

// overtakenLog is a log to which somebody writes right after it was read.
type overtakenLog struct {
	*journal.Memory
	write func()
}

func (l overtakenLog) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for r, err := range l.Memory.Records(ctx, from) {
			if !yield(r, err) {
				return
			}
		}
		l.write()
	}
}

// A note for a state of the session that is not the newest any more is refused.
func TestO4_NoteThatIsOvertaken(t *testing.T) {
	_, log, _ := notedSession(t)
	overtaken := overtakenLog{log, func() {
		if err := agent.AddNote(t.Context(), log, "count", []byte("4"), ""); err != nil {
			t.Error(err)
		}
	}}
	if err := agent.AddNote(t.Context(), overtaken, "count", []byte("5"), ""); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("AddNote = %v, want ErrConflict", err)
	}
	if notes := notesOf(t, log, "count"); len(notes) != 4 || !strings.HasPrefix(notes[3], "4 ") {
		t.Errorf("the session has the notes %q", notes)
	}
}
