package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

func compactTwice(t *testing.T, h *host) {
	t.Helper()
	for range 2 {
		if err := h.Compact(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// A compaction that the host requests at rest is done at once. Follow-ups wait for their input.
func TestA16_OnRequestAtRest(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work")},
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 2}}},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("done"), summaryAnswer,
			llmtest.Text("more")}})
	h.submit(t, "go", agent.ReasonCompleted)
	history := h.History()
	if err := h.FollowUp(context.Background(), "later"); err != nil {
		t.Fatal(err)
	}
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if h.turns() != "compaction:context assistant:model" || h.Status() != agent.StatusIdle {
		t.Fatalf("history %s, %s", h.turns(), h.Status())
	}
	if diff := gocmp.Diff(history[3], h.History()[1]); diff != "" {
		t.Errorf("what stays has changed:\n%s", diff)
	}
	if !strings.HasSuffix(h.kinds(), "PROCESSING_END COMPACTION") {
		t.Errorf("events %s", h.kinds())
	}
}

// syncLog is a log that calls a function while it is synced, once.
type syncLog struct {
	*journal.Memory
	during func()
	once   sync.Once
}

func (l *syncLog) Sync(ctx context.Context) error {
	if l.during != nil {
		l.once.Do(l.during)
	}
	return l.Memory.Sync(ctx)
}

// If the session ends before a compaction that was requested at rest, Compact says so.
func TestA16_SessionEndsBefore(t *testing.T) {
	log := &syncLog{Memory: new(journal.Memory)}
	h := open(t, setup{options: agent.Options{Journal: log}})
	log.during = h.Abort
	if err := h.Compact(context.Background()); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("Compact = %v, want ErrClosed", err)
	}
}

// A compaction that is requested during a model call is done before the next call. Several requests
// are one.
func TestA16_OnRequestWhileTheModelWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		work := newTool("work", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
			compactTwice(t, h)
			return tool.Text("ok"), nil
		})
		h = open(t, setup{tools: []tool.Tool{work},
			options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 2}}},
			steps:   []llmtest.Step{llmtest.Calls(call("work")), summaryAnswer, llmtest.Text("done")}})
		h.submit(t, "go", agent.ReasonCompleted)
		if h.turns() != "compaction:context assistant:model tool_results:tools assistant:model" || h.warned() != "" {
			t.Errorf("history %s, warned %q", h.turns(), h.warned())
		}
	})
}

// If no other model call comes, a requested compaction is done at the end of the input.
func TestA16_OnRequestBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		h = open(t, setup{options: agent.Options{Policy: agent.Policy{
			Compaction: agent.CompactionPolicy{KeepTurns: 1}}}, steps: []llmtest.Step{
			llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				compactTwice(t, h)
				return llmtest.Text("done")
			}), summaryAnswer}})
		h.submit(t, "go", agent.ReasonCompleted)
		if h.turns() != "compaction:context assistant:model" || h.Status() != agent.StatusIdle {
			t.Errorf("history %s, %s", h.turns(), h.Status())
		}
	})
}

// If there is nothing to replace, the host gets a warning.
func TestA16_OnRequestNothingToCompact(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("hello")}})
	compactTwice(t, h)
	h.submit(t, "hi", agent.ReasonCompleted)
	if h.warned() != "compaction_failed compaction_failed" || h.turns() != "user:user assistant:model" {
		t.Errorf("warned %q, history %s", h.warned(), h.turns())
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Compact(context.Background()); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("Compact on a closed session: %v", err)
	}
}

// A request for a compaction stands even if its caller stops waiting.
func TestA16_OnRequestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{options: agent.Options{Policy: agent.Policy{
			Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
			steps: []llmtest.Step{llmtest.Text("hello"), llmtest.Hang(), summaryAnswer, llmtest.Text("again")}})
		h.submit(t, "hi", agent.ReasonCompleted)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Compact(ctx); !errors.Is(err, context.DeadlineExceeded) || h.Status() != agent.StatusIdle {
			t.Errorf("Compact = %v, %s", err, h.Status())
		}
		h.submit(t, "hi", agent.ReasonCompleted) // the request stands
		if n := len(only[*agent.Compaction](h)); n != 1 {
			t.Errorf("%d compactions", n)
		}
	})
}
