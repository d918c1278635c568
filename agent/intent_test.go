package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// runLog records the calls that ran, over all processes of a session.
type runLog struct {
	mu  sync.Mutex
	ran []string
}

func (l *runLog) tool(name string) tool.Tool {
	return newTool(name, writes, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ran = append(l.ran, c.ID)
		return tool.Text("ran " + c.ID), nil
	})
}

func named(id, name, path string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Args: fmt.Sprintf(`{"path":%q}`, path)}
}

// order returns the kinds of the records of calls, with the calls' ids.
func order(t *testing.T, records []journal.Record) string {
	t.Helper()
	var kinds []string
	for _, r := range records {
		var data struct {
			Calls  []struct{ ID string }
			CallID string `json:"call_id"`
		}
		if err := json.Unmarshal(r.Data, &data); err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case "intent":
			var ids []string
			for _, c := range data.Calls {
				ids = append(ids, c.ID)
			}
			kinds = append(kinds, "intent("+strings.Join(ids, ",")+")")
		case "result":
			kinds = append(kinds, "result("+data.CallID+")")
		}
	}
	return strings.Join(kinds, " ")
}

var threeWrites = llmtest.Calls(named("a", "write", "x"), named("b", "write", "x"), named("c", "write", "x"))

// An intent is written when a call begins. So wherever a process dies, calls that never began run
// after a resume, each call runs at most once, and at most the call that had begun has an unknown
// outcome.
func TestI14_CrashBetweenSequentialWrites(t *testing.T) {
	for at := 2; ; at++ { // the first call of the journal belongs to New
		log, calls := new(journal.Memory), new(runLog)
		broken := &unreliable{Log: log, fault: crash{at: at, effect: true}.fault}
		h := open(t, setup{tools: []tool.Tool{calls.tool("write")}, options: agent.Options{Journal: broken},
			steps: []llmtest.Step{threeWrites, llmtest.Text("done")}})
		_, err := h.Submit(context.Background(), "go")
		h.Abort()
		if err == nil {
			break
		}
		before := all(t, log)
		rest := open(t, setup{tools: []tool.Tool{calls.tool("write")},
			options: agent.Options{Journal: journal.NewMemory(before...)},
			steps:   []llmtest.Step{threeWrites, llmtest.Text("done")}[count(before, "answer"):]})
		if _, err := rest.Continue(context.Background()); err != nil {
			t.Fatal(err)
		}
		unknown := 0
		for _, turn := range rest.History() {
			for _, p := range turn.Message.Parts {
				if r, ok := p.(llm.ToolResult); ok && strings.Contains(r.Content.Text(), "outcome is unknown") {
					unknown++
				}
			}
		}
		began := strings.Count(order(t, before), "intent") - strings.Count(order(t, before), "result")
		if unknown != began {
			t.Errorf("%d calls of unknown outcome, want %d: %s", unknown, began, order(t, before))
		}
		if ran := strings.Join(calls.ran, ""); strings.HasSuffix(order(t, before), "result(a)") && ran != "abc" {
			t.Errorf("killed after the first of three writes, the calls that ran are %s", ran)
		}
		for i, id := range calls.ran {
			if i > 0 && id <= calls.ran[i-1] {
				t.Errorf("ran %v", calls.ran)
			}
		}
		if len(calls.ran)+unknown < 3 {
			t.Errorf("ran %v, with %d of unknown outcome", calls.ran, unknown)
		}
	}
}

// Calls that begin together share a record and a sync. A call that waits gets its intent when its
// turn comes, and a read-only call gets none.
func TestI14_OneIntentForCallsThatBeginTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, calls := new(journal.Memory), new(runLog)
		synced := &syncs{Log: log}
		gate := make(chan struct{})
		waits := newTool("slow", writes, func(context.Context, *tool.Call) (tool.Result, error) {
			<-gate
			return tool.Text("ok"), nil
		})
		h := open(t, setup{tools: []tool.Tool{calls.tool("write"), waits, newTool("look", readOnly,
			func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("seen"), nil })},
			options: agent.Options{Journal: synced},
			steps: []llmtest.Step{llmtest.Calls(named("a", "slow", "x"), named("b", "slow", "y"),
				named("c", "look", "z"), named("d", "write", "x")), llmtest.Text("done")}})
		go func() {
			synctest.Wait()
			close(gate)
		}()
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		got := order(t, all(t, log))
		at := -1
		for _, next := range []string{"intent(a,b) result(c)", "result(a)", "intent(d)", "result(d)"} {
			if i := strings.Index(got, next); i <= at {
				t.Errorf("%s: %s is not in there, or too early", got, next)
			} else {
				at = i
			}
		}
		if strings.Count(got, "intent") != 2 {
			t.Errorf("%s, want two intents", got)
		}
		if synced.n != 2+2+1 { // before each model call, before calls with effects begin, at the end
			t.Errorf("%d syncs", synced.n)
		}
	})
}

// syncs counts the syncs of a log.
type syncs struct {
	journal.Log
	n int
}

func (s *syncs) Sync(ctx context.Context) error {
	s.n++
	return s.Log.Sync(ctx)
}

// Journals of an earlier version have one intent for all calls of an answer. So the outcome of each
// call without a result is unknown.
func TestI14_IntentOfSeveralCallsInAnOldJournal(t *testing.T) {
	log, calls := new(journal.Memory), new(runLog)
	h := open(t, setup{tools: []tool.Tool{calls.tool("write")}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{threeWrites, llmtest.Text("done")}})
	if _, err := h.Submit(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	var old []journal.Record
	for _, r := range all(t, log) {
		if r.Kind == "intent" {
			r.Data = json.RawMessage(
				`{"seq":5,"calls":[{"id":"a","name":"write"},{"id":"b","name":"write"},{"id":"c","name":"write"}]}`)
		}
		r.N = int64(len(old)) + 1
		if old = append(old, r); r.Kind == "result" {
			break
		}
	}
	calls.ran = nil
	rest := open(t, setup{tools: []tool.Tool{calls.tool("write")},
		options: agent.Options{Journal: journal.NewMemory(old...)},
		steps:   []llmtest.Step{llmtest.Text("done")}})
	if _, err := rest.Continue(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(calls.ran) > 0 {
		t.Errorf("calls %v ran, of which nobody knows whether they had", calls.ran)
	}
	results := rest.History()[2].Message.Parts
	for i, unknown := range []bool{false, true, true} {
		if got := strings.Contains(results[i].(llm.ToolResult).Content.Text(), "outcome is unknown"); got != unknown {
			t.Errorf("result %d: %v", i, results[i])
		}
	}
}
