package agent_test

import (
	"context"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A long output is complete in its event, cut for the model, and kept for read_output until the
// session ends.
func TestAC12_2_TruncationEndToEnd(t *testing.T) {
	whole := strings.Repeat("a line of some length\n", 5000)
	long := newTool("long", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text(whole),
			nil
	})
	dir := t.TempDir()
	read := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		last := req.Messages[len(req.Messages)-1].Parts[0].(llm.ToolResult)
		return llmtest.Calls(call("read_output", `"id":"`+last.CallID+`"`, `"offset":4000`, `"limit":1`))
	})
	h := open(t, setup{tools: []tool.Tool{long, coding.ReadOutput()}, options: agent.Options{OutputDir: dir},
		steps: []llmtest.Step{llmtest.Calls(call("long")), read, llmtest.Text("done")}})
	if _, err := h.Submit(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	var ends []*agent.ToolCallEnd
	for _, ev := range h.events {
		if e, ok := ev.(*agent.ToolCallEnd); ok {
			ends = append(ends, e)
		}
	}
	if ends[0].Output != whole || ends[0].OutputBytes != int64(len(whole)) || !ends[0].OutputComplete ||
		ends[0].OutputRef == "" {
		t.Errorf("the event has %d of %d bytes, ref %q", len(ends[0].Output), len(whole), ends[0].OutputRef)
	}
	seen := h.History()[2].Message.Parts[0].(llm.ToolResult).Content.Text()
	if len(seen) > 31_000 || !strings.Contains(seen, "[WARNING: Tool output was truncated. ") ||
		!strings.Contains(seen, "call read_output") {
		t.Errorf("the model sees %d bytes: %.300s", len(seen), seen)
	}
	if !strings.HasPrefix(ends[1].Output, "4000 | a line of some length\n") {
		t.Errorf("read_output gave %q", ends[1].Output)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the session left %v, %v", left, err)
	}
}

// Live output is clean text, however its bytes are split, and output held back for completion comes
// before the call's end.
func TestB_LiveOutputIsClean(t *testing.T) {
	printed := "\x1b[31mred\x1b[0m é _\bx 10%\r20%\r\n\u202e\x1b]0;cut"
	const want = "red é x 10%\n20%\n" + `\u{202e}\u{1b}]0;cut`
	live := newTool("live", readOnly, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		for i := range len(printed) { // the streams alternate, and must not be mixed up
			c.Live(env.Stdout, []byte(printed[i:i+1]))
			c.Live(env.Stderr, []byte(printed[i:i+1]))
		}
		return tool.Text("done"), nil
	})
	h := open(t, setup{tools: []tool.Tool{live},
		steps: []llmtest.Step{llmtest.Calls(call("live")), llmtest.Text("done")}})
	if _, err := h.Submit(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, ev := range h.events {
		switch e := ev.(type) {
		case *agent.ToolCallOutputDelta:
			got[e.Stream] += e.Text
		case *agent.ToolCallEnd:
			if got["stdout"] != want || got["stderr"] != want {
				t.Errorf("stdout %q\nstderr %q\nwant   %q", got["stdout"], got["stderr"], want)
			}
			return
		}
	}
	t.Error("the call has no end")
}

// OnEvent gets a long output whole, and so does a cursor as long as it is kept. A cursor that comes
// when the session is at rest gets what the model saw, from the journal.
func TestB_LateCursorHasTheOutput(t *testing.T) {
	whole := strings.Repeat("a line of some length\n", 5000)
	long := newTool("long", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text(whole),
			nil
	})
	h := open(t, setup{tools: []tool.Tool{long, coding.ReadOutput()}, steps: []llmtest.Step{llmtest.Calls(call("long")),
		llmtest.Text("done")}, options: agent.Options{Journal: new(journal.Memory)}})
	if _, err := h.Submit(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	end := func(events iter.Seq[agent.Event]) *agent.ToolCallEnd {
		for ev := range events {
			if end, ok := ev.(*agent.ToolCallEnd); ok {
				return end
			}
		}
		t.Fatal("the call has no end")
		return nil
	}
	if e := end(slices.Values(h.events)); e.Output != whole || !e.OutputComplete {
		t.Errorf("OnEvent: %d of %d bytes, complete %t", len(e.Output), len(whole), e.OutputComplete)
	}
	seen := h.History()[2].Message.Parts[0].(llm.ToolResult).Content.Text()
	if e := end(h.Events(t.Context())); e.Output != seen || e.OutputComplete || e.OutputBytes != int64(len(whole)) {
		t.Errorf("a cursor: %d bytes, complete %t; the model saw %d", len(e.Output), e.OutputComplete, len(seen))
	}
}
