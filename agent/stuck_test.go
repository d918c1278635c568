package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// stuckLog is a journal whose append of a record of one kind does not return until it is freed.
type stuckLog struct {
	journal.Memory
	kind  string
	stuck chan struct{} // closed when an append is stuck
	free  chan struct{}
	once  sync.Once
}

func newStuckLog(t *testing.T, kind string) *stuckLog {
	l := &stuckLog{kind: kind, stuck: make(chan struct{}), free: make(chan struct{})}
	t.Cleanup(func() { close(l.free) })
	return l
}

func (l *stuckLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	for _, r := range records {
		if r.Kind == l.kind {
			l.once.Do(func() { close(l.stuck) })
			<-l.free
		}
	}
	return l.Memory.Append(ctx, next, records...)
}

// returns fails the test if f does not return.
func returns(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s hangs%s", what, stacks())
	}
}

const shortGrace = 100 * time.Millisecond

// A subagent whose journal hangs during send_input does not block the end of its parent.
func TestI7_StuckJournalOfASubagent(t *testing.T) {
	log := newStuckLog(t, "queued")
	h := open(t, setup{tools: coding.Agents(), fails: true, steps: byTask(map[string][]llmtest.Step{
		"go": {llmtest.Calls(spawn("help")), llmtest.Calls(send("agent-1", "faster"))}, "help": {llmtest.Hang()}}),
		options: agent.Options{Limits: agent.Limits{Grace: shortGrace},
			Subagents: &agent.Subagents{Journal: func(context.Context, string) (journal.Log, error) {
				return log,
					nil
			}}}})
	over := make(chan error, 1)
	go func() { _, err := h.Submit(context.Background(), "go"); over <- err }()
	<-log.stuck
	returns(t, "Close", func() {
		if err := h.Close(); !errors.Is(err, agent.ErrStuck) {
			t.Errorf("Close = %v", err)
		}
	})
	returns(t, "Submit", func() { <-over })
}

// Interrupt ends an input that waits for its journal.
func TestI7_InterruptWithAStuckJournal(t *testing.T) {
	log := newStuckLog(t, "answer")
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("hi")}, fails: true,
		options: agent.Options{Journal: log, Limits: agent.Limits{Grace: shortGrace}}})
	over := make(chan error, 1)
	go func() { _, err := h.Submit(context.Background(), "go"); over <- err }()
	<-log.stuck
	returns(t, "Interrupt", h.Interrupt)
	returns(t, "Submit", func() {
		if err := <-over; !errors.Is(err, agent.ErrStuck) {
			t.Errorf("Submit = %v", err)
		}
	})
}

// The end of the time budget also ends the wait for OnEvent.
func TestI7_TimeBudgetAndStuckOnEvent(t *testing.T) {
	free := make(chan struct{})
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("hi")}, fails: true,
		options: agent.Options{Limits: agent.Limits{Grace: shortGrace},
			Policy: agent.Policy{Budget: agent.Budget{Time: 50 * time.Millisecond}},
			OnEvent: func(ev agent.Event) {
				if _, ok := ev.(*agent.StepStart); ok {
					<-free
				}
			}}})
	returns(t, "Submit", func() {
		if result, err := h.Submit(context.Background(), "go"); result.Reason != agent.ReasonBudgetTime {
			t.Errorf("Submit = %+v, %v", result, err)
		}
	})
	close(free)
}

// fullLog is a host's journal with its own size limit.
type fullLog struct {
	journal.Memory
	most int64
}

func (l *fullLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if l.Len() >= l.most {
		return fmt.Errorf("the quota is used up: %w", agent.ErrFull)
	}
	return l.Memory.Append(ctx, next, records...)
}

// A journal that reports itself as full cannot be written: the session ends at once.
func TestI9_JournalWithItsOwnLimit(t *testing.T) {
	h := open(t, setup{steps: repeated(llmtest.Text("hi"), 50), fails: true,
		options: agent.Options{Journal: &fullLog{most: 2}}})
	returns(t, "Submit", func() {
		if result, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrFull) ||
			result.Reason != agent.ReasonFailed {
			t.Errorf("Submit = %+v, %v", result, err)
		}
	})
	if n := len(h.model.Requests()); n != 1 {
		t.Errorf("%d model calls", n)
	}
}

// stuckReads is a journal whose reads hang from a given moment on.
type stuckReads struct {
	*journal.Memory
	on    atomic.Bool
	stuck chan struct{} // closed when a read is stuck
	free  chan struct{}
}

func (l *stuckReads) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	if l.on.CompareAndSwap(true, false) {
		close(l.stuck)
		<-l.free
	}
	return l.Memory.Records(ctx, from)
}

// A compaction does not wait for a journal that hangs while a call reads earlier turns.
func TestI12_StuckRecall(t *testing.T) {
	t.Parallel()
	log, short := new(journal.Memory), agent.CompactionPolicy{Threshold: 0.9, KeepTurns: 1}
	h := openLong(t, agent.Options{Journal: log, Policy: agent.Policy{Compaction: short}},
		answerSummaries(llmtest.Text("one"), llmtest.Text("two")))
	h.submit(t, "first", agent.ReasonCompleted)
	compactAll(t, h)
	_ = h.Close()
	reads := &stuckReads{Memory: log, stuck: make(chan struct{}), free: make(chan struct{})}
	defer close(reads.free)
	h = openLong(t, agent.Options{Journal: reads, Limits: agent.Limits{Grace: shortGrace},
		Policy: agent.Policy{Compaction: short}},
		answerSummaries(llmtest.Calls(llmtest.Call("read_output", `{"pattern":"one"}`)), llmtest.Text("end")))
	reads.on.Store(true)
	over := make(chan error, 1)
	go func() { _, err := h.Submit(context.Background(), "second"); over <- err }()
	<-reads.stuck
	h.Interrupt()
	returns(t, "Submit", func() {
		if err := <-over; err != nil {
			t.Errorf("Submit = %v", err)
		}
	})
	returns(t, "Compact", func() { compactAll(t, h) })
	returns(t, "Close", func() { _ = h.Close() })
}

// mutedEnv is an environment whose Stat of one file does not return, whatever becomes of its
// context.
type mutedEnv struct {
	env.Environment
	asked, free chan struct{}
}

func (e mutedEnv) Stat(ctx context.Context, name string) (env.Info, error) {
	if strings.HasSuffix(name, "silent.txt") {
		e.asked <- struct{}{}
		<-e.free
	}
	return e.Environment.Stat(ctx, name)
}

// TestK3_StuckEnvironmentAtThePermission checks that a call about which nothing but the environment
// is asked, because there is no hook, is not run when the session is interrupted meanwhile, and
// that Submit returns.
func TestK3_StuckEnvironmentAtThePermission(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	muted := mutedEnv{local, make(chan struct{}), make(chan struct{})}
	t.Cleanup(func() { close(muted.free) })
	provider := llmtest.NewProvider("test",
		llmtest.Calls(llm.ToolCall{ID: "c1", Name: "change", Args: `{"path":"silent.txt"}`}))
	var outputs []string
	s, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}},
		Env: muted, System: "You are being tested.",
		Limits: agent.Limits{Grace: shortGrace}, Profile: profile.Profile{Name: "test", Provider: "test",
			Model: "model-1", Tools: []tool.Tool{echo("change")}},
		OnEvent: func(ev agent.Event) {
			if end, ok := ev.(*agent.ToolCallEnd); ok {
				outputs = append(outputs, end.Output)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-muted.asked
		s.Interrupt()
	}()
	returns(t, "Submit", func() {
		result, err := s.Submit(context.Background(), "go")
		if err != nil || result.Reason != agent.ReasonInterrupted {
			t.Errorf("Submit = %+v, %v", result, err)
		}
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(outputs) != 1 || !strings.Contains(outputs[0], "not run") {
		t.Errorf("the results are %q", outputs)
	}
}
