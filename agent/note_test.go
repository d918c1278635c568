package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/agent/stepstream"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// todo is a capability that keeps its own todo list in a session, in addition to the model's. It
// uses only a tool and events.
type todo struct{ Open, Done []string }

// tool returns the tool with which the model changes the list.
func (l *todo) tool() tool.Tool {
	type args struct {
		Done string `json:"done"`
	}
	t := tool.New(llm.ToolDefinition{Name: "tick", Description: "Ticks a task off."},
		func(_ context.Context, c *tool.Call, a args) (tool.Result, error) {
			if !slices.Contains(l.Open, a.Done) {
				return tool.Errorf("There is no task %q; the open ones are %s.", a.Done, strings.Join(l.Open, ", ")),
					nil
			}
			l.Open = slices.DeleteFunc(slices.Clone(l.Open), func(task string) bool { return task == a.Done })
			l.Done = append(slices.Clip(l.Done), a.Done)
			return tool.Text("ticked"), l.keep(c.Session)
		})
	return tool.WithAccess(t, func(args) tool.Access { return readOnly })
}

// keep writes the list as a note, with a text for the model.
func (l *todo) keep(s interface {
	Note(ctx context.Context, kind string, data json.RawMessage, text string) error
}) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return s.Note(context.Background(), "todo", data, "Still to do: "+strings.Join(l.Open, ", "))
}

// load reads the list from a session's journal.
func (l *todo) load(t *testing.T, log agent.Records) {
	t.Helper()
	state, err := agent.Load(t.Context(), log)
	if err == nil {
		err = json.Unmarshal(state.Notes["todo"].Data, l)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A list in notes survives a compaction, a resume and a fork, after which the copies differ. The
// events report each change once.
func TestJ14_TodoListInNotes(t *testing.T) {
	log := new(journal.Memory)
	list := &todo{Open: []string{"a", "b", "c"}}
	tick := func(task string) llmtest.Step {
		return llmtest.Calls(call("tick", fmt.Sprintf(`"done":%q`, task)))
	}
	s := setup{models: window(size), tools: []tool.Tool{list.tool()}, options: agent.Options{Journal: log,
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
		steps: answerSummaries(tick("a"), llmtest.Text("ok"), tick("x"), llmtest.Text("none such"))}
	h := open(t, s)
	if err := list.keep(h); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go", agent.ReasonCompleted)
	compactAll(t, h)
	h.submit(t, "on", agent.ReasonCompleted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	checkReplay(t, log, h.events)
	want := []string{`todo {"Open":["a","b","c"],"Done":null} Still to do: a, b, c`,
		`todo {"Open":["b","c"],"Done":["a"]} Still to do: b, c`}
	if diff := gocmp.Diff(want, h.notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for _, way := range []struct {
		name, task, want string
		records          []journal.Record
	}{
		{"resumed", "b", `todo {"Open":["c"],"Done":["a","b"]} Still to do: c`, all(t, log)},
		{"forked", "c", `todo {"Open":["b"],"Done":["a","c"]} Still to do: b`, forkOf(t, "other", all(t, log)...)},
	} {
		t.Run(way.name, func(t *testing.T) {
			copied := journal.NewMemory(way.records...)
			rest := new(todo)
			rest.load(t, copied)
			s.tools, s.options.Journal, s.steps = []tool.Tool{rest.tool()}, copied, answerSummaries(tick(way.task),
				llmtest.Text("ok"))
			h := open(t, s)
			h.submit(t, "on", agent.ReasonCompleted)
			if got := h.notes(); len(got) != 1 || got[0] != way.want {
				t.Errorf("notes %q, want %q", got, way.want)
			}
			if sent := h.lastRequestText(); !strings.Contains(sent, way.want[strings.Index(way.want, "Still"):]) {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

// notes returns the NOTE events, one a line.
func (h *host) notes() []string {
	var lines []string
	for _, e := range only[*agent.NoteWritten](h) {
		lines = append(lines, fmt.Sprintf("%s %s %s", e.Note, e.Data, e.Text))
	}
	return lines
}

// The model's todo list has an event of its own, in the same form for all its tools. No NOTE
// accompanies it, and the events of a plain loop do not include it.
func TestJ14_PlanEvent(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{coding.UpdatePlan()}, steps: []llmtest.Step{
		llmtest.Calls(llmtest.Call("update_plan",
			`{"explanation":"why","plan":[{"step":"look","status":"in_progress"},{"step":"act <now>","status":"pending"}]}`)),
		llmtest.Calls(llmtest.Call("update_plan", `{"plan":[]}`)), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	plans := only[*agent.PlanUpdated](h)
	want := tool.Plan{Explanation: "why", Items: []tool.PlanItem{{Text: "look", Status: tool.PlanInProgress},
		{Text: "act <now>", Status: tool.PlanPending}}}
	if len(plans) != 1 || h.notes() != nil {
		t.Fatalf("%d plans, notes %q", len(plans), h.notes())
	}
	if diff := gocmp.Diff(want, plans[0].Plan); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(plans[0])
	const tail = `,"explanation":"why","plan":[{"step":"look","status":"in_progress"},{"step":"act \u003cnow\u003e","status":"pending"}]}`
	if err != nil || !strings.HasPrefix(string(data), `{"kind":"PLAN","session_id":`) ||
		!strings.HasSuffix(string(data), tail) {
		t.Errorf("%s, %v", data, err)
	}
	for step := range stepstream.Events(slices.Values(h.events)) {
		if data, err := json.Marshal(step); err != nil || strings.Contains(string(data), `"PLAN"`) {
			t.Errorf("a step %s, %v", data, err)
		}
	}
}

// In old journals the note was the arguments of a call. Valid ones are read as a plan, others as
// ordinary notes.
func TestJ14_PlansOfOldJournals(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{options: agent.Options{Journal: log}})
	for _, data := range []string{`{"plan":[{"status":"pending","step":"a"}],"explanation":"","unknown":1}`,
		`{"todos":[]}`, `"a"`, `{"plan":"a"}`} {
		if err := h.Note(context.Background(), tool.PlanNote, json.RawMessage(data), ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{`plan {"todos":[]} `, `plan "a" `, `plan {"plan":"a"} `}
	plans := only[*agent.PlanUpdated](h)
	if diff := gocmp.Diff(want, h.notes()); diff != "" || len(plans) != 1 ||
		plans[0].Items[0] != (tool.PlanItem{Text: "a", Status: "pending"}) {
		t.Errorf("%d plans, notes:\n%s", len(plans), diff)
	}
	checkReplay(t, log, h.events)
}

// A middleware can write notes, here about the command that ran.
func TestJ14_MiddlewareWritesNotes(t *testing.T) {
	log := new(journal.Memory)
	ran := []string{}
	record := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			result, err := next(ctx, c)
			ran = append(ran, c.Name)
			data, failed := json.Marshal(ran)
			return result, errors.Join(err, failed, c.Session.Note(ctx, "ran", data,
				fmt.Sprintf("%d calls so far.", len(ran))))
		}
	}
	h := open(t, setup{tools: []tool.Tool{echo("one"), echo("two")}, options: agent.Options{Journal: log,
		Hooks: agent.Hooks{Middleware: []tool.Middleware{record}}},
		steps: []llmtest.Step{llmtest.Calls(call("one")), llmtest.Calls(call("two")), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	if want := []string{`ran ["one"] 1 calls so far.`, `ran ["one","two"] 2 calls so far.`}; !slices.Equal(h.notes(),
		want) {
		t.Errorf("notes %q, want %q", h.notes(), want)
	}
	if sent := h.model.Requests()[2].Messages; sent[len(sent)-1].Parts.Text() != "2 calls so far." {
		t.Errorf("sent %v", sent)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	checkReplay(t, log, h.events)
}

// A note works at rest, too, and its text has a size limit.
func TestJ14_NotesAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if no event comes
		told := make(chan *agent.NoteWritten, 1)
		h := open(t, setup{steps: []llmtest.Step{llmtest.Text("ok")},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if e, ok := ev.(*agent.NoteWritten); ok {
					told <- e
				}
			}}})
		h.submit(t, "go", agent.ReasonCompleted)
		err := h.Note(context.Background(), "x", json.RawMessage(`1`), strings.Repeat("x", 64<<10+1))
		if err == nil || !strings.Contains(err.Error(), "put the rest into a file") {
			t.Errorf("a text of 64 KiB and a byte: %v", err)
		}
		if err := h.Note(context.Background(), "x", json.RawMessage(`2`), strings.Repeat("x", 64<<10)); err != nil {
			t.Error(err)
		}
		if e := <-told; string(e.Data) != "2" {
			t.Errorf("told %s", e.Data)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The session's own note cannot come from a host, so a resume trusts it.
func TestJ14_NoteOfTheSession(t *testing.T) {
	h := open(t, setup{})
	if err := h.Note(context.Background(), "attractor.dir", []byte(`"/elsewhere"`), ""); err == nil {
		t.Error("the session is said to be in another directory")
	}
}
