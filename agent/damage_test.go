package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// everyKind is a session whose journal has each kind of record. It is closed when it is back.
func everyKind(t *testing.T, log journal.Log) {
	t.Helper()
	var h *host
	of := byTask(map[string][]llmtest.Step{"kid": {llmtest.Text("The kid is done.")}})[0]
	steps := []llmtest.Step{
		llmtest.Torn("half a", llm.Errorf(llm.ErrServer, "overloaded")),
		llmtest.Calls(call("change", `"path":"a"`), call("look"), spawn("kid")),
		llmtest.Calls(llmtest.Call("wait", map[string]any{"agent_id": "agent-1"})),
		llmtest.Text("The first is done."),
		llmtest.Calls(ask("really?")),
		llmtest.Answer(llm.Thinking{Text: "Yes."}, llm.Text{Text: "The second is done."}),
		llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
			h.Interrupt()
			return llmtest.Hang()
		}),
		llmtest.Text("A summary."),
		llmtest.Text("The last is done."),
	}
	next := 0
	model := llmtest.Func(func(ctx context.Context, req *llm.Request) llmtest.Step {
		if taskOf(req) == "kid" {
			return of
		}
		next++
		return steps[next-1]
	})
	h = open(t, setup{tools: append(coding.Agents(), coding.AskUser(), echo("change"), newTool("look", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text("looked"), nil
	})), steps: repeated(model, 20), options: agent.Options{ID: "every", Journal: log, Questions: &agent.Questions{}, Subagents: &agent.Subagents{},
		Retry: agent.Retry{Base: 1}, MaxTurns: 100}})
	if err := h.Steer("to the left"); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "first", agent.Completed)
	set(t, h, effort("high"))
	h.submit(t, "second", agent.AwaitingInput)
	h.submit(t, "yes", agent.Completed)
	h.submit(t, "third", agent.Interrupted)
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "fourth", agent.Completed)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

func repeated(step llmtest.Step, n int) []llmtest.Step {
	steps := make([]llmtest.Step, n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// kinds are those of the records that a session can have.
var kinds = []string{"header", "input", "queued", "turn", "answer", "intent", "await", "result", "fault", "setting", "compact", "child", "stop", "end"}

// version2 is a journal of each kind of record as this version writes it, in a directory of its own.
func version2(t *testing.T) (dir *journal.Dir, path string) {
	t.Helper()
	at := t.TempDir()
	dir = journal.NewDir(at)
	log, err := dir.Create(context.Background(), "every")
	if err != nil {
		t.Fatal(err)
	}
	everyKind(t, log)
	return dir, filepath.Join(at, "every.jsonl")
}

func TestI8_EveryKind(t *testing.T) {
	dir, _ := version2(t)
	r, err := dir.Read(context.Background(), "every")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]int{}
	for line, err := range r.Records(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		got[line.Kind]++
	}
	for _, kind := range kinds {
		if got[kind] == 0 {
			t.Errorf("no record of the kind %s", kind)
		}
	}
	if err := agent.Replay(context.Background(), r, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// A broken end is cut off when the session is resumed, and the host is told.
func TestI8_TornJournalIsTold(t *testing.T) {
	dir, path := version2(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-5] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := dir.Open(context.Background(), "every")
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, setup{options: agent.Options{Journal: log}, steps: []llmtest.Step{llmtest.Text("going on")}})
	h.submit(t, "fifth", agent.Completed)
	warnings := only[*agent.Warning](h)
	if len(warnings) != 1 || warnings[0].Code != "journal_torn" || !strings.Contains(warnings[0].Text, "line 36") {
		t.Errorf("warnings %+v", warnings)
	}
}
