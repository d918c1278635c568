package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A whole output is read again after a resume, and in a fork, where the journal keeps it; what has no room is not kept.
func TestJ8_OutputsAfterAResume(t *testing.T) {
	whole := strings.Repeat("a line of some length\n", 5000)
	ctx := context.Background()
	for name, c := range map[string]struct {
		keep int64
		want string
	}{
		"kept":     {int64(len(whole)), "4000 | a line of some length\n"},
		"no room":  {int64(len(whole)) - 1, "it was lost when the session was resumed"},
		"not kept": {0, "it was lost when the session was resumed"},
	} {
		t.Run(name, func(t *testing.T) {
			store := journal.NewDir(t.TempDir())
			log, err := store.Create(ctx, "source")
			if err != nil {
				t.Fatal(err)
			}
			long := newTool("long", readOnly, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(whole), nil })
			s := setup{tools: []tool.Tool{long, coding.ReadOutput()}, options: agent.Options{ID: "source", Journal: log, KeepOutputs: c.keep},
				steps: []llmtest.Step{llmtest.Calls(call("long")), llmtest.Calls(call("long")), llmtest.Text("done")}}
			h := open(t, s)
			h.submit(t, "go", agent.Completed)
			ref := ""
			for _, ev := range h.events {
				if e, ok := ev.(*agent.ToolCallEnd); ok {
					ref = e.OutputRef
					break
				}
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			fork, err := agent.Fork(ctx, store, "source", 0, "fork")
			if err != nil {
				t.Fatal(err)
			}
			if log, err = store.Open(ctx, "source"); err != nil {
				t.Fatal(err)
			}
			for _, log := range []journal.Log{log, fork} {
				s.options.ID, s.options.Journal = "", log
				s.steps = []llmtest.Step{llmtest.Calls(call("read_output", `"id":"`+ref+`"`, `"offset":4000`, `"limit":1`)), llmtest.Text("seen")}
				rest := open(t, s)
				rest.submit(t, "read it", agent.Completed)
				if got := rest.outputs(); !strings.Contains(got[len(got)-1], c.want) {
					t.Errorf("read_output gives %.300q, want %q", got[len(got)-1], c.want)
				}
			}
		})
	}
}
