package agent_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A complete output can be read after a resume and in a fork, if the journal keeps it. An output
// without room is not kept.
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
			long := newTool("long", readOnly, func(context.Context, *tool.Call) (tool.Result,
				error) {
				return tool.Text(whole), nil
			})
			s := setup{tools: []tool.Tool{long, coding.ReadOutput()}, options: agent.Options{ID: "source", Journal: log,
				Limits: agent.Limits{KeepOutputs: c.keep}},
				steps: []llmtest.Step{llmtest.Calls(call("long")), llmtest.Calls(call("long")), llmtest.Text("done")}}
			h := open(t, s)
			h.submit(t, "go", agent.ReasonCompleted)
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
			fork, err := agent.Fork(ctx, store, "source", 0, "fork", "")
			if err != nil {
				t.Fatal(err)
			}
			if log, err = store.Open(ctx, "source"); err != nil {
				t.Fatal(err)
			}
			for _, log := range []journal.Log{log, fork} {
				s.options.ID, s.options.Journal = "", log
				s.steps = []llmtest.Step{llmtest.Calls(call("read_output", `"id":"`+ref+`"`, `"offset":4000`,
					`"limit":1`)), llmtest.Text("seen")}
				rest := open(t, s)
				rest.submit(t, "read it", agent.ReasonCompleted)
				if got := rest.outputs(); !strings.Contains(got[len(got)-1], c.want) {
					t.Errorf("read_output gives %.300q, want %q", got[len(got)-1], c.want)
				}
			}
		})
	}
}

// breaking is a log whose first blob fails after half of it was read.
type breaking struct {
	journal.Log
	broken bool
}

func (b *breaking) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	r, err := b.Log.Blob(ctx, hash)
	if err != nil || b.broken {
		return r, err
	}
	b.broken = true
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(r, 100), iotest.ErrReader(errors.New("the network is down"))), r}, nil
}

// A blob that fails halfway is not taken for the whole output. The next read starts from the
// beginning.
func TestJ8_PartiallyReadOutputs(t *testing.T) {
	whole := strings.Repeat("a line of some length\n", 5000)
	ctx := context.Background()
	store := journal.NewMemoryStore(false)
	log, err := store.Create(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	long := newTool("long", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text(whole),
			nil
	})
	s := setup{tools: []tool.Tool{long, coding.ReadOutput()}, options: agent.Options{ID: "s", Journal: log,
		Limits: agent.Limits{KeepOutputs: 1 << 20}},
		steps: []llmtest.Step{llmtest.Calls(llm.ToolCall{ID: "same", Name: "long", Args: `{}`}), llmtest.Text("done")}}
	h := open(t, s)
	h.submit(t, "go", agent.ReasonCompleted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err = store.Open(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	read := llmtest.Calls(call("read_output", `"id":"same"`, `"offset":4000`, `"limit":1`))
	s.options.ID, s.options.Journal = "", &breaking{Log: log}
	// A server that restarts its numbering reuses an id.
	s.steps = []llmtest.Step{llmtest.Calls(llm.ToolCall{ID: "same", Name: "long", Args: `{}`}), read, read,
		llmtest.Text("seen")}
	rest := open(t, s)
	rest.submit(t, "read it", agent.ReasonCompleted)
	got := rest.outputs()
	got = got[len(got)-2:]
	if !strings.Contains(got[0], "the network is down") || !strings.Contains(got[1], "4000 | a line of some length") {
		t.Errorf("read_output gives %.200q, then %.200q", got[0], got[1])
	}
	refs := map[string]bool{"same": true}
	for _, ev := range rest.events {
		if e, ok := ev.(*agent.ToolCallEnd); ok && e.Name == "long" && refs[e.OutputRef] {
			t.Errorf("the output of another call is %q, too", e.OutputRef)
		}
	}
}

// The projection does not claim that the journal's part of a long output is complete.
func TestJ8_ProjectedOutputsAreMarkedIncomplete(t *testing.T) {
	whole := strings.Repeat("a line of some length\n", 5000)
	for name, c := range map[string]struct {
		output   string
		tools    []tool.Tool
		complete bool
	}{
		"short":      {"short", nil, true},
		"cleaned":    {"\x1b[31mred\x1b[0m", nil, true},
		"stored":     {whole, []tool.Tool{coding.ReadOutput()}, false},
		"not stored": {whole, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			print := newTool("print", readOnly, func(context.Context, *tool.Call) (tool.Result,
				error) {
				return tool.Text(c.output), nil
			})
			h := open(t, setup{tools: append(c.tools, print), options: agent.Options{Journal: log},
				steps: []llmtest.Step{llmtest.Calls(call("print")), llmtest.Text("done")}})
			h.submit(t, "go", agent.ReasonCompleted)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			err := agent.Project(context.Background(), log, func(ev agent.Event) {
				if e, ok := ev.(*agent.ToolCallEnd); ok && e.OutputComplete != c.complete {
					t.Errorf("%d of %d bytes, complete %t", len(e.Output), e.OutputBytes, e.OutputComplete)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
