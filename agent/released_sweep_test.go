package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// countedLog is a journal that calls a function at its nth write or sync, which then takes a
// second.
type countedLog struct {
	*journal.Memory
	mu    sync.Mutex
	n, at int
	do    func()
}

func (l *countedLog) count() {
	l.mu.Lock()
	l.n++
	now := l.n == l.at
	l.mu.Unlock()
	if now {
		l.do()
		time.Sleep(time.Second)
	}
}

func (l *countedLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	l.count()
	return l.Memory.Append(ctx, next, records...)
}

func (l *countedLog) Sync(context.Context) error { l.count(); return nil }

// handed holds the steps of a session that is given away, in two processes.
type handed struct {
	log   *countedLog
	chain []tool.Middleware
	mu    sync.Mutex
	ran   map[string]int
}

func (p *handed) open(t *testing.T, log journal.Log, from int, closers ...io.Closer) *host {
	takes := func(name string, access tool.Access) tool.Tool {
		return newTool(name, access, func(_ context.Context, c *tool.Call) (tool.Result, error) {
			p.mu.Lock()
			p.ran[c.ID]++
			p.mu.Unlock()
			time.Sleep(3 * time.Second)
			return tool.Text(name + " ran"), nil
		})
	}
	calls := func(ids ...string) llmtest.Step {
		var calls []llm.ToolCall
		for _, id := range ids {
			calls = append(calls, llm.ToolCall{ID: id, Name: strings.TrimRight(id, "0123456789"), Args: "{}"})
		}
		return llmtest.Calls(calls...)
	}
	steps := []llmtest.Step{calls("write1", "write2", "read3", "alone4"), llmtest.Calls(spawn("child")),
		llmtest.Calls(wait("agent-1")), calls("alone5", "read6"), llmtest.Text("done")}
	return open(t, setup{silent: true, tools: append(coding.Agents(), takes("write", writes), takes("read", readOnly),
		takes("alone", tool.Access{Effect: tool.Exclusive})),
		options: agent.Options{Journal: log, Subagents: &agent.Subagents{}, Hooks: agent.Hooks{Middleware: p.chain},
			Closers: closers},
		steps: byTask(map[string][]llmtest.Step{"go": steps[from:],
			"child": {calls("write7"), llmtest.Text("found it")}})})
}

// A session is released at every possible point, with and without a working subagent. Another
// process brings it to the same end, and no call runs twice or is lost.
func TestJ7_ReleaseAnywhere(t *testing.T) {
	over := false
	for at := 2; !over; at++ {
		t.Run(fmt.Sprint("at ", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &handed{log: &countedLog{Memory: new(journal.Memory), at: at}, ran: map[string]int{}}
				if at%2 == 0 {
					p.chain = []tool.Middleware{passThrough}
				}
				over = p.release(t)
			})
		})
		if t.Failed() || at > 100 {
			t.Fatalf("at the call %d of the journal", at)
		}
	}
}

// release releases the session. Over reports that the session had ended before.
func (p *handed) release(t *testing.T) (over bool) {
	released, closed := make(chan error, 1), false
	h := p.open(t, p.log, 0, closer(func() error { closed = true; return nil }))
	p.log.do = func() { go func() { released <- h.Release(context.Background()) }() }
	result, err := h.Submit(context.Background(), "go")
	if p.log.n < p.log.at {
		return true
	}
	if err != nil && (!errors.Is(err, agent.ErrReleased) || result.Reason != "") {
		t.Errorf("Submit = %+v, %v", result, err)
	}
	state, failed := agent.Load(context.Background(), p.log)
	if failed != nil {
		t.Fatal(failed)
	}
	if c := endEvents(h.events); c != "" && state.Input != nil {
		t.Errorf("events claim %s", c)
	}
	if err := <-released; err != nil || !closed || h.Status() != agent.StatusClosed {
		t.Errorf("Release = %v; %s, closed %v", err, h.Status(), closed)
	}
	rest := p.open(t, p.log.Memory, state.Steps)
	if state.Input != nil {
		if result, err := rest.Continue(context.Background()); err != nil || result.Text != "done" {
			t.Errorf("%+v, %v", result, err)
		}
	}
	for _, id := range []string{"write1", "write2", "read3", "alone4", "alone5", "read6"} {
		if p.ran[id] != 1 {
			t.Errorf("%s ran %d times", id, p.ran[id])
		}
	}
	for _, bad := range []string{"unknown", "interrupted", "released"} {
		if texts := resultTexts(rest.History()); strings.Contains(texts, bad) {
			t.Errorf("results %s", texts)
		}
	}
	replays(t, p.log.Memory)
	return false
}
