package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
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

// Release returns when its context ends, even if OnEvent does not return.
func TestJ7_ReleaseWhileOnEventBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		h := open(t, setup{silent: true, options: agent.Options{Journal: new(journal.Memory),
			OnEvent: func(ev agent.Event) {
				if _, ok := ev.(*agent.NoteWritten); ok {
					<-block
				}
			}}})
		if err := h.Note(context.Background(), "k", []byte(`1`), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		released := make(chan error, 1)
		go func() { released <- h.Release(ctx) }()
		select {
		case err := <-released:
			if !errors.Is(err, agent.ErrUndelivered) {
				t.Errorf("Release = %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Release does not return")
		}
		close(block)
	})
}

// A session at rest ends when its journal is taken over, and everything that it started ends.
func TestJ7_TakenOverAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := fencedFrom(1 << 40)
		var ran atomic.Int32
		work := newTool("work", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			ran.Add(1)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return tool.Text("ok"), nil
		})
		h := open(t, setup{silent: true, tools: append(coding.Agents(), work), options: agent.Options{Journal: log,
			Subagents: &agent.Subagents{}},
			steps: byTask(map[string][]llmtest.Step{
				"go":    {llmtest.Calls(spawn("child")), llmtest.Text("done")},
				"child": slices.Repeat([]llmtest.Step{llmtest.Calls(call("work"))}, 100),
			})})
		h.submit(t, "go", agent.ReasonCompleted)
		log.from.Store(1)
		time.Sleep(10 * time.Minute)
		if n := ran.Load(); n > 2 {
			t.Errorf("the subagent called %d tools", n)
		}
		if h.Status() != agent.StatusClosed || !log.closed.Load() {
			t.Errorf("status %s, journal closed %v", h.Status(), log.closed.Load())
		}
	})
}

// A session that is closed while another process has its journal says so, also if only the record
// of a subagent finds that out.
func TestJ7_ClosedWhileTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := fencedFrom(1 << 40)
		slow := newTool("work", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Text("ended"), nil
		})
		h := open(t, setup{silent: true, tools: append(coding.Agents(), slow), options: agent.Options{Journal: log,
			Subagents: &agent.Subagents{}},
			steps: byTask(map[string][]llmtest.Step{"go": {llmtest.Calls(spawn("child")), llmtest.Text("done")},
				"child": {llmtest.Calls(call("work"))}})})
		h.submit(t, "go", agent.ReasonCompleted)
		synctest.Wait()
		log.from.Store(1)
		if err := h.Close(); !errors.Is(err, agent.ErrTakenOver) {
			t.Errorf("Close = %v", err)
		}
		if err := h.Steer(context.Background(), "x"); !errors.Is(err, agent.ErrClosed) ||
			!errors.Is(err, agent.ErrTakenOver) {
			t.Errorf("Steer = %v", err)
		}
	})
}

// pausedLog is a journal whose appends take a second, and that must not be closed meanwhile.
type pausedLog struct {
	journal.Memory
	writes atomic.Int32
	torn   atomic.Bool
}

func (l *pausedLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	l.writes.Add(1)
	defer l.writes.Add(-1)
	time.Sleep(time.Second)
	return l.Memory.Append(ctx, next, records...)
}

func (l *pausedLog) Close() error {
	l.torn.Store(l.writes.Load() > 0)
	return nil
}

// If a session at rest is released while a message is being written, the host gets the event, and
// nothing is written after it.
func TestJ7_ReleaseWhileAnInputIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(pausedLog)
		h := open(t, setup{silent: true, options: agent.Options{Journal: log}})
		begun := make(chan error, 1)
		go func() { begun <- h.Begin(context.Background(), "go") }()
		synctest.Wait()
		if err := h.Release(context.Background()); err != nil {
			t.Error(err)
		}
		if n := log.Len(); n != 2 || log.torn.Load() {
			t.Errorf("%d records when the session was given away, torn %v", n, log.torn.Load())
		}
		if err := <-begun; err != nil {
			t.Errorf("Begin = %v", err)
		}
		if len(only[*agent.UserInput](h)) != 1 {
			t.Errorf("events %s", h.kinds())
		}
	})
}

// Release waits for a call that waits for a subagent, and its result is written when the subagent
// has ended.
func TestJ7_ReleaseWaitsForASubagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		work := newTool("work", writes, func(context.Context, *tool.Call) (tool.Result, error) {
			time.Sleep(time.Minute)
			return tool.Text("ok"), nil
		})
		o := agent.Options{Journal: log, Subagents: &agent.Subagents{}}
		tools := append(coding.Agents(), work)
		h := open(t, setup{silent: true, tools: tools, options: o, steps: byTask(map[string][]llmtest.Step{
			"go":    {llmtest.Calls(spawn("child")), llmtest.Calls(wait("agent-1"))},
			"child": {llmtest.Calls(call("work")), llmtest.Text("found it")},
		})})
		ended := make(chan error, 1)
		go func() { ended <- second(h.Submit(context.Background(), "go")) }()
		time.Sleep(time.Second)
		if err := h.Release(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, agent.ErrReleased) {
			t.Error(err)
		}
		rest := open(t, setup{tools: tools, options: o,
			steps: byTask(map[string][]llmtest.Step{"go": {llmtest.Text("done")}})})
		if _, err := rest.Continue(context.Background()); err != nil {
			t.Error(err)
		}
		if texts := resultTexts(rest.History()); !strings.Contains(texts, "found it") {
			t.Errorf("results %s", texts)
		}
	})
}

// A call whose intent is being written at Release begins. Otherwise it would count as begun
// although it never ran.
func TestJ7_ReleaseWhileAnIntentIsWritten(t *testing.T) {
	for name, around := range map[string][]tool.Middleware{"bare": nil, "middleware": {passThrough}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &slowLog{kind: "intent"}
				h := open(t, setup{silent: true, options: agent.Options{Journal: log,
					Hooks: agent.Hooks{Middleware: around}}, tools: []tool.Tool{echo("work")},
					steps: []llmtest.Step{llmtest.Calls(call("work"))}})
				ended := make(chan error, 1)
				go func() { ended <- second(h.Submit(context.Background(), "go")) }()
				time.Sleep(time.Second)
				if err := h.Release(context.Background()); err != nil {
					t.Error(err)
				}
				if err := <-ended; !errors.Is(err, agent.ErrReleased) {
					t.Error(err)
				}
				rest := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{echo("work")},
					steps: []llmtest.Step{llmtest.Text("done")}})
				if _, err := rest.Continue(context.Background()); err != nil {
					t.Error(err)
				}
				if texts := resultTexts(rest.History()); strings.Contains(texts, "unknown") {
					t.Errorf("results %s", texts)
				}
			})
		})
	}
}

// Release returns the error if the journal does not take the step's records.
func TestJ7_ReleaseReportsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &brokenFrom{kind: "result"}
		work := newTool("work", writes, func(context.Context, *tool.Call) (tool.Result, error) {
			time.Sleep(time.Minute)
			return tool.Text("ok"), nil
		})
		h := open(t, setup{silent: true, options: agent.Options{Journal: log}, tools: []tool.Tool{work},
			steps: []llmtest.Step{llmtest.Calls(call("work"))}})
		ended := make(chan error, 1)
		go func() { ended <- second(h.Submit(context.Background(), "go")) }()
		time.Sleep(time.Second)
		if err := h.Release(context.Background()); !errors.Is(err, errDisk) {
			t.Errorf("Release = %v", err)
		}
		t.Log(<-ended)
	})
}

// brokenFrom is a journal that cannot write records of one kind.
type brokenFrom struct {
	journal.Memory
	kind string
}

func (l *brokenFrom) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if slices.ContainsFunc(records, func(r journal.Record) bool { return r.Kind == l.kind }) {
		return errDisk
	}
	return l.Memory.Append(ctx, next, records...)
}

// slowSync is a journal whose nth sync takes a minute.
type slowSync struct {
	journal.Memory
	armed, n atomic.Int32
}

func (l *slowSync) Sync(ctx context.Context) error {
	if l.armed.Load() == 1 && l.n.Add(1) == 1 {
		time.Sleep(time.Minute)
	}
	return l.Memory.Sync(ctx)
}

// The end of an input does not cut short other waits for the journal.
func TestJ7_SlowSyncDuringAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(slowSync)
		begun, over := make(chan struct{}), make(chan struct{})
		h := open(t, setup{options: agent.Options{Journal: log},
			steps: []llmtest.Step{llmtest.Gate(begun, over, llmtest.Text("done")), llmtest.Text("again"),
				llmtest.Text("more")}})
		ended := make(chan error, 1)
		go func() { ended <- second(h.Submit(context.Background(), "go")) }()
		<-begun
		synctest.Wait() // until the sync beside the request is over
		log.armed.Store(1)
		steered := make(chan error, 1)
		go func() { steered <- h.Steer(context.Background(), "left") }()
		synctest.Wait()
		close(over)
		if err := <-ended; err != nil {
			t.Errorf("Submit = %v", err)
		}
		if err := <-steered; err != nil {
			t.Errorf("Steer = %v", err)
		}
		if _, err := h.Submit(context.Background(), "more"); err != nil {
			t.Errorf("Submit = %v", err)
		}
	})
}

// Release does not wait for the next attempt of a model call.
func TestJ7_ReleaseDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		busy := llmtest.Error(&llm.Error{Kind: llm.ErrServer, Message: "busy", RetryAfter: 50 * time.Second})
		h := open(t, setup{silent: true, options: agent.Options{Journal: log}, steps: []llmtest.Step{busy}})
		ended := make(chan error, 1)
		go func() { ended <- second(h.Submit(context.Background(), "go")) }()
		time.Sleep(time.Second)
		checkDuration(t, "Release", 0, func() {
			if err := h.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if err := <-ended; !errors.Is(err, agent.ErrReleased) {
			t.Error(err)
		}
		rest := open(t, setup{options: agent.Options{Journal: log}, steps: []llmtest.Step{llmtest.Text("done")}})
		if result, err := rest.Continue(context.Background()); err != nil || result.Text != "done" {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

// Release does not wait for the next attempt of a side call either. The next process makes it.
func TestJ7_ReleaseDuringASideCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		busy := llmtest.Error(&llm.Error{Kind: llm.ErrServer, Message: "busy", RetryAfter: 50 * time.Second})
		o := agent.Options{Journal: log, Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}
		h := open(t, setup{silent: true, options: o, steps: []llmtest.Step{llmtest.Text("one"), busy}})
		h.submit(t, "go", agent.ReasonCompleted)
		ended := make(chan error, 1)
		go func() { ended <- h.Compact(context.Background()) }()
		time.Sleep(time.Second)
		checkDuration(t, "Release", 0, func() {
			if err := h.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if err := <-ended; !errors.Is(err, agent.ErrReleased) {
			t.Errorf("Compact = %v", err)
		}
		rest := open(t, setup{options: o, steps: []llmtest.Step{llmtest.Text("summary"), llmtest.Text("done")}})
		rest.submit(t, "more", agent.ReasonCompleted)
		if n := len(only[*agent.Compaction](rest)); n != 1 {
			t.Errorf("%d compactions", n)
		}
	})
}

// A call with a context that has ended does not begin.
func TestJ7_EndedContext(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{options: agent.Options{Journal: log}})
	for what, err := range map[string]error{"Steer": h.Steer(ended(), "x"), "FollowUp": h.FollowUp(ended(), "x"),
		"Begin": h.Begin(ended(), "x"),
		"Note":  h.Note(ended(), "k", []byte(`1`), ""), "Set": h.Set(ended(), agent.Settings{})} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v", what, err)
		}
	}
	if err := h.Close(); err != nil || log.Len() != 2 { // only the header and the end
		t.Errorf("Close = %v, %d records", err, log.Len())
	}
}
