package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// closer is a resource that a host opens for a session.
type closer func() error

func (c closer) Close() error { return c() }

// Closers are closed once, the newest first, when nothing can use them any more.
func TestJ6_ClosersCloseWithTheSession(t *testing.T) {
	var h *host
	var closed []string
	running := false
	closes := func(name string) io.Closer {
		return closer(func() error {
			closed = append(closed, fmt.Sprint(name, running, h.kinds()[strings.LastIndex(h.kinds(), " "):],
				h.Status()))
			return nil
		})
	}
	slow := newTool("slow", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		running = true
		defer func() { running = false }()
		h.Abort()
		<-ctx.Done()
		return tool.Text("too late"), nil
	})
	h = open(t, setup{tools: []tool.Tool{slow}, steps: []llmtest.Step{llmtest.Calls(call("slow"))},
		options: agent.Options{Closers: []io.Closer{closes("first"), closes("second")}}})
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrAborted) {
		t.Fatalf("Submit = %v", err)
	}
	for range 2 {
		if err := h.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if got := strings.Join(closed, "; "); got != "secondfalse SESSION_ENDCLOSED; firstfalse SESSION_ENDCLOSED" {
		t.Errorf("closed %s", got)
	}
}

// If a closer fails, panics or hangs, the others are closed, Close returns, and its error names the
// failure.
func TestJ6_ClosersThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, closed := make(chan struct{}), 0
		defer close(free)
		h := open(t, setup{fails: true, options: agent.Options{Closers: []io.Closer{
			closer(func() error { closed++; return nil }),
			closer(func() error { <-free; return nil }),
			closer(func() error { panic("a bug") }),
			closer(func() error { return errDisk }),
		}}})
		start := time.Now()
		err := h.Close()
		var broken *agent.HostError
		if !errors.Is(err, errDisk) || !errors.Is(err, agent.ErrStuck) || !errors.As(err, &broken) ||
			broken.Value != "a bug" {
			t.Errorf("Close = %v", err)
		}
		for _, name := range []string{"Closers[1]", "Closers[2]", "Closers[3]"} {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("Close = %v: %s is missing", err, name)
			}
		}
		if waited := time.Since(start); closed != 1 || waited != 20*time.Second {
			t.Errorf("closed %d times the rest, after %v", closed, waited)
		}
	})
}

// Close's error has the failure that ended the session and that of a closer.
func TestJ6_ClosersAfterAFailure(t *testing.T) {
	errServer := errors.New("the server crashed")
	h := open(t, setup{fails: true, steps: []llmtest.Step{llmtest.Text("hi")}, options: agent.Options{
		Journal: &failing{left: 2}, Closers: []io.Closer{closer(func() error { return errServer })}}})
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, errDisk) {
		t.Fatalf("Submit = %v", err)
	}
	if err := h.Close(); !errors.Is(err, errDisk) || !errors.Is(err, errServer) {
		t.Errorf("Close = %v", err)
	}
}

// If a session cannot be opened, its closers stay with the caller. A subagent does not close its
// parent's closers.
func TestJ6_ClosersNotOwned(t *testing.T) {
	closed := 0
	o := agent.Options{Closers: []io.Closer{closer(func() error { closed++; return nil })}}
	if s, err := agent.New(context.Background(), o); err == nil {
		t.Fatalf("New = %v", s)
	}
	o.Journal = new(journal.Memory)
	if s, err := agent.Resume(context.Background(), o); err == nil {
		t.Fatalf("Resume = %v", s)
	}
	if closed != 0 {
		t.Errorf("closed %d times without a session", closed)
	}
	o.Subagents = new(agent.Subagents)
	h := open(t, setup{tools: coding.Agents(), options: o, steps: byTask(map[string][]llmtest.Step{
		"go":   {llmtest.Calls(spawn("help")), llmtest.Calls(closing("agent-1")), llmtest.Text("done")},
		"help": {llmtest.Text("here")}})})
	h.submit(t, "go", agent.ReasonCompleted)
	if closed != 0 {
		t.Error("a subagent closed what is its parent's")
	}
	if err := h.Close(); err != nil || closed != 1 {
		t.Errorf("Close = %v, closed %d times", err, closed)
	}
}

// Release closes the closers of a session.
func TestJ6_ClosersAfterRelease(t *testing.T) {
	closed := 0
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("hi")}, silent: true,
		options: agent.Options{Journal: new(journal.Memory),
			Closers: []io.Closer{closer(func() error { closed++; return nil })}}})
	h.submit(t, "go", agent.ReasonCompleted)
	if err := h.Release(context.Background()); err != nil || closed != 1 || strings.Contains(h.kinds(), "SESSION_END") {
		t.Errorf("Release = %v, closed %d times, events %s", err, closed, h.kinds())
	}
	if err := h.Close(); err != nil || closed != 1 {
		t.Errorf("Close = %v, closed %d times", err, closed)
	}
}
