package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// The projection of a journal has the live event numbers, through a resume after the session's end
// and through one after a crash.
func TestJ8_NumbersAcrossResumes(t *testing.T) {
	chatty := newTool("chatty", readOnly, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		for range 3 {
			c.Live(env.Stdout, []byte("working\n"))
		}
		return tool.Text("worked"), nil
	})
	work := llmtest.Respond(llm.Response{Message: llm.Message{Role: llm.RoleAssistant,
		Parts: llm.Parts{llm.Thinking{Text: "what to do?"}, llm.Text{Text: "both of it"},
			llm.ToolCall{ID: "a", Name: "chatty", Args: "{}"}, llm.ToolCall{ID: "b", Name: "chatty", Args: "{}"}}}})
	s := setup{tools: []tool.Tool{chatty}, steps: []llmtest.Step{work, llmtest.Text("done")}}
	var live []agent.Event
	run := func(records ...journal.Record) *journal.Memory {
		log := journal.NewMemory(records...)
		s.options.Journal = log
		h := open(t, s)
		h.submit(t, "go", agent.ReasonCompleted)
		live = append(live, h.events...)
		return log
	}
	crashed := run()
	again := run(all(t, crashed)...)              // the first run is not closed, which looks like a crash to this one
	live = slices.DeleteFunc(live, isSessionEnd)  // it does not write it
	closed := journal.NewMemory(all(t, again)...) // the journal of the second run after Close
	s.options.Journal = closed
	h := open(t, s)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	live = append(live, h.events...)
	last := run(all(t, closed)...)

	var got []agent.Event
	if err := agent.Project(context.Background(), last, func(ev agent.Event) { got = append(got, ev) }); err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, live, got)
	var kinds []string
	for _, ev := range got {
		kinds = append(kinds, string(ev.Head().Kind))
	}
	if all := strings.Join(kinds, " "); strings.Count(all, "SESSION_START") != 4 ||
		strings.Count(all, "TOOL_CALL_START") != 6 || strings.Count(all, "THINKING_DELTA") != 3 {
		t.Errorf("the projection has %s", all)
	}
}

func isSessionEnd(ev agent.Event) bool { return ev.Head().Kind == "SESSION_END" }

// Events that are emitted while the journal writes come after the events of the record. The line
// has their numbers.
func TestJ8_NumbersDuringAnAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &writingLog{writing: make(chan struct{}), write: make(chan struct{})}
		live := newTool("live", readOnly, func(_ context.Context, c *tool.Call) (tool.Result, error) {
			<-log.writing
			go c.Live(env.Stdout, []byte("meanwhile"))
			synctest.Wait()
			close(log.write)
			return tool.Text("said"), nil
		})
		quick := newTool("quick", readOnly, func(context.Context, *tool.Call) (tool.Result,
			error) {
			return tool.Text("was quick"), nil
		})
		h := open(t, setup{tools: []tool.Tool{live, quick}, options: agent.Options{Journal: log},
			steps: []llmtest.Step{llmtest.Calls(call("live"), call("quick")), llmtest.Text("done")}})
		h.submit(t, "go", agent.ReasonCompleted)
		var got []agent.Event
		if err := agent.Project(context.Background(), &log.Memory,
			func(ev agent.Event) { got = append(got, ev) }); err != nil {
			t.Fatal(err)
		}
		checkNumbers(t, h.events, got)
		if kinds := h.kinds(); !strings.Contains(kinds, "TOOL_CALL_END TOOL_CALL_OUTPUT_DELTA TOOL_CALL_END") {
			t.Errorf("events %s: the delta came while the first result was written", kinds)
		}
	})
}

// writingLog delays the append of the first result.
type writingLog struct {
	journal.Memory
	writing, write chan struct{}
}

func (l *writingLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if records[0].Kind == "result" && l.writing != nil {
		close(l.writing)
		<-l.write
		l.writing = nil
	}
	return l.Memory.Append(ctx, next, records...)
}

// Live output that waits for a journal that hangs does not block the end of its session.
func TestJ8_BufferedOutputDoesNotBlockTheEnd(t *testing.T) {
	log := newStuckLog(t, "queued")
	begun, printed := make(chan struct{}), make(chan struct{})
	live := newTool("live", readOnly, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		close(begun)
		<-log.stuck
		close(printed)
		c.Live(env.Stdout, []byte("meanwhile"))
		return tool.Text("said"), nil
	})
	h := open(t, setup{tools: []tool.Tool{live}, fails: true,
		options: agent.Options{Limits: agent.Limits{Grace: shortGrace}, Journal: log},
		steps:   []llmtest.Step{llmtest.Calls(call("live")), llmtest.Text("done")}})
	over := make(chan error, 1)
	go func() { _, err := h.Submit(context.Background(), "go"); over <- err }()
	<-begun
	ctx, cancel := context.WithCancel(context.Background())
	steered := make(chan error, 1)
	go func() { steered <- h.Steer(ctx, "faster") }()
	<-printed
	cancel() // nobody waits for the journal any more
	returns(t, "Steer", func() { <-steered })
	h.Abort()
	returns(t, "Submit", func() { <-over })
	returns(t, "Close", func() {
		if err := h.Close(); !errors.Is(err, agent.ErrStuck) {
			t.Errorf("Close = %v", err)
		}
	})
}
