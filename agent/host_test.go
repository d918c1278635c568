package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// patience bounds the wait for calls that must not hang.
const patience = 5 * time.Minute

// TestI7_BrokenHosts lets each place that runs the host's code panic, call runtime.Goexit, or never
// return. Nothing hangs, no lock is lost, the host gets the stack, and the model never does.
func TestI7_BrokenHosts(t *testing.T) {
	t.Parallel()
	whole := newRig("", 0, nil)
	if err := whole.live(context.Background(), make(chan *agent.Session, 2)); err != nil {
		t.Fatal(err)
	}
	close(whole.over)
	t.Logf("%d places: %s", len(whole.places), strings.Join(whole.places, ", "))
	if len(whole.places) < 60 {
		t.Errorf("only %d places", len(whole.places))
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, 64)
	for _, place := range whole.places {
		for _, way := range []string{"panic", "Goexit", "block, Close", "block, cancel"} {
			nths := []int{1}
			if last := whole.count[place]; last > 1 && !strings.HasPrefix(way, "block") {
				nths = append(nths, last)
			}
			for _, nth := range nths {
				slots <- struct{}{}
				running.Go(func() {
					defer func() { <-slots }()
					if problem := breakAt(place, nth, way); problem != "" {
						t.Errorf("%s, time %d, %s: %s", place, nth, way, problem)
					}
				})
			}
		}
	}
	running.Wait()
}

// breakAt runs a session with one trap and returns what went wrong. On a busy machine the grace
// time may be over before the trap springs. It is longer then.
func breakAt(place string, nth int, way string) (problem string) {
	for grace := shortGrace; grace < patience; grace *= 8 {
		if problem = breakWithin(grace, place, nth, way); problem != tooEarly {
			break
		}
	}
	return problem
}

// tooEarly is the problem that a session had ended by its grace time before the trap sprang.
const tooEarly = "the place was not come by before the grace time was over"

func breakWithin(grace time.Duration, place string, nth int, way string) string {
	release := make(chan struct{})
	bad := map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit}[way]
	if bad == nil {
		bad = func() { <-release }
	}
	r := newRig(place, nth, bad)
	if strings.HasPrefix(way, "block") {
		r.grace[1] = grace
		if !strings.HasPrefix(place, "journal Records") { // read only after the first session has been closed in order
			r.grace[0] = r.grace[1]
		}
	}
	defer close(r.over)
	defer close(release)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opened, over := make(chan *agent.Session, 2), make(chan error, 1)
	go func() { over <- r.live(ctx, opened) }()
	if strings.HasPrefix(way, "block") {
		return blocked(r, way, cancel, opened, over)
	}
	select {
	case err := <-over:
		return r.checkPanic(place, nth, way, err, opened)
	case <-time.After(patience):
		return "it hangs in " + r.in() + stacks()
	}
}

// blocked waits until a place hangs, ends the session in one way, and reports calls that do not
// return.
func blocked(r *rig, way string, cancel func(), opened <-chan *agent.Session, over <-chan error) string {
	select {
	case <-r.sprung:
	case err := <-over:
		switch {
		case r.hasSprung(): // both may be ready
			again := make(chan error, 1)
			again <- err
			over = again
		case errors.Is(err, agent.ErrStuck):
			return tooEarly
		default:
			return fmt.Sprintf("the place was not come by: %v", err)
		}
	case <-time.After(patience):
		return "it hangs in " + r.in() + " before the place" + stacks()
	}
	phase := r.in()
	var s *agent.Session
	for range len(opened) {
		s = <-opened
	}
	closed := make(chan error, 1)
	switch inside := phase != "New" && phase != "Resume" && phase != "Close"; {
	case inside && (way == "block, Close" || phase == "Steer"): // it has no context
		go func() { closed <- s.Close() }()
	default:
		cancel()
		close(closed)
	}
	for _, returns := range []<-chan error{closed, over} {
		select {
		case err := <-returns:
			if phase == "Close" && returns == over && !errors.Is(err, agent.ErrStuck) {
				return fmt.Sprintf("Close = %v", err)
			}
		case <-time.After(patience):
			return "it hangs in " + phase + stacks()
		}
	}
	if s != nil {
		s.Status()
	}
	return ""
}

// checkPanic checks what the host learned of a panic.
func (r *rig) checkPanic(place string, nth int, way string, err error, opened chan *agent.Session) string {
	var broken *agent.HostError
	switch {
	case !r.hasSprung():
		if nth == 1 {
			return "the place was not come by"
		}
		return ""
	case errors.As(err, &broken):
		if !strings.Contains(broken.Stack, "trap).spring") || strings.Contains(err.Error(), ".go:") ||
			(broken.Value == nil) != (way == "Goexit") {
			return fmt.Sprintf("error %v, value %v, stack %s", err, broken.Value, broken.Stack)
		}
	case !r.contained(place):
		return fmt.Sprintf("the host got no error but %v; warnings %s", err, r.warnings())
	case !strings.Contains(r.warnings(), "trap).spring"):
		return fmt.Sprintf("the host does not get the stack: %v; warnings %s", err, r.warnings())
	}
	for _, req := range r.requests {
		for _, m := range req.Messages {
			if text := fmt.Sprint(m.Parts); strings.Contains(text, ".go:") || strings.Contains(text, "goroutine ") {
				return "the model was sent a stack: " + text
			}
		}
	}
	for range len(opened) {
		s := <-opened
		if err := s.Steer(context.Background(), "x"); !errors.Is(err, agent.ErrClosed) ||
			s.Status() != agent.StatusClosed {
			return fmt.Sprintf("it is %s, Steer = %v", s.Status(), err)
		}
		var last agent.Event
		for ev := range s.Events(context.Background()) {
			last = ev
		}
		if last.Head().Kind != "SESSION_END" {
			return fmt.Sprintf("the last event is %s", last.Head().Kind)
		}
	}
	return ""
}

// contained reports whether a failure at a place becomes an error result for the model and a
// warning for the host, as for a tool, its environment and a subagent.
func (r *rig) contained(place string) bool {
	for _, prefix := range []string{"Run of a tool", "Access of a tool", "the Middleware of a tool",
		"the handler of the Middleware of a tool", "env ", "process ", "child's ", "Subagents.Journal", "NewID"} {
		if strings.HasPrefix(place, prefix) {
			return true
		}
	}
	return strings.Contains(place, "of a child")
}

func stacks() string {
	b := make([]byte, 1<<20)
	return "\n" + string(b[:runtime.Stack(b, true)])
}

// A provider that ignores its context is abandoned with a warning that names it. Its later output
// is dropped, and the session continues.
func TestI7_AbandonedProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, streams := make(chan struct{}), make(chan struct{})
		deaf := func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) {
				yield(llm.StreamEvent{Type: llm.EventTextDelta, Delta: "before"}, nil)
				close(streams)
				<-release
				if yield(llm.StreamEvent{Type: llm.EventTextDelta, Delta: "after"}, nil) {
					t.Error("what was left behind goes on")
				}
			}
		}
		h := open(t, setup{steps: []llmtest.Step{deaf, llmtest.Text("done")},
			options: agent.Options{Journal: new(journal.Memory)}})
		go func() {
			<-streams
			h.Interrupt()
		}()
		h.submit(t, "go", agent.ReasonInterrupted)
		if w := only[*agent.Warning](h); len(w) != 1 || w[0].Code != "host_abandoned" || !strings.Contains(w[0].Text,
			"provider test") {
			t.Errorf("warnings %+v", w)
		}
		if result := h.submit(t, "go on", agent.ReasonCompleted); result.Text != "done" {
			t.Errorf("result %+v", result)
		}
		close(release)
		synctest.Wait()
		for _, d := range only[*agent.AssistantTextDelta](h) {
			if d.Text == "after" {
				t.Error("a delta of the abandoned call")
			}
		}
	})
}

// An OnEvent that does not return delays Close for the grace time only. It gets the remaining
// events when it returns.
func TestI7_SlowOnEventLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one two three")},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if ev.Head().Kind == "ASSISTANT_TEXT_START" {
					<-release
				}
			}}})
		over := make(chan error, 1)
		go func() {
			_, err := h.Submit(context.Background(), "go")
			over <- err
		}()
		synctest.Wait()
		err := h.Close()
		if !errors.Is(err, agent.ErrStuck) || !errors.Is(err, agent.ErrUndelivered) || !strings.Contains(err.Error(),
			"ASSISTANT_TEXT_START") {
			t.Errorf("Close = %v", err)
		}
		if err := <-over; !errors.Is(err, agent.ErrAborted) {
			t.Errorf("Submit = %v", err)
		}
		close(release)
		if err := h.Close(); err != nil {
			t.Errorf("the second Close = %v", err)
		}
		if !strings.HasSuffix(h.kinds(), "PROCESSING_END SESSION_END") { // the checks in open find gaps
			t.Errorf("events %s", h.kinds())
		}
	})
}

// A panic in the body of a cursor's loop passes through to its caller, and no lock stays held.
func TestI7_CursorBodyThatPanics(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("hello"), llmtest.Text("again")}})
	h.submit(t, "go", agent.ReasonCompleted)
	for _, leave := range []func(){func() { panic("mine") }, runtime.Goexit} {
		for at := range len(h.events) {
			left := make(chan any)
			go func() {
				defer func() { left <- recover() }()
				n := 0
				for range h.Events(context.Background()) {
					if n++; n > at {
						leave()
					}
				}
			}()
			if v := <-left; v != nil && v != "mine" {
				t.Errorf("panic %v", v)
			}
		}
	}
	h.submit(t, "go on", agent.ReasonCompleted)
}

// If OnEvent closes its session, although it should not, both end.
func TestI7_CloseFromOnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		var closed error
		back := make(chan struct{})
		h = open(t, setup{steps: []llmtest.Step{llmtest.Text("hello")},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if ev.Head().Kind == "STEP_END" {
					closed = h.Close()
					close(back)
				}
			}}})
		if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrAborted) {
			t.Errorf("Submit = %v", err)
		}
		<-back
		if err := h.Close(); err != nil || !errors.Is(closed, agent.ErrStuck) {
			t.Errorf("Close = %v; in OnEvent %v", err, closed)
		}
	})
}

// If the host's code breaks a session at rest, the session and everything it started end.
func TestI7_BrokenAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		work := newTool("work", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			ran.Add(1)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return tool.Text("ok"), nil
		})
		o := agent.Options{Journal: new(journal.Memory), Subagents: &agent.Subagents{}, OnEvent: func(ev agent.Event) {
			if _, ok := ev.(*agent.NoteWritten); ok {
				panic("broken")
			}
		}}
		h := open(t, setup{fails: true, tools: append(coding.Agents(), work), options: o,
			steps: byTask(map[string][]llmtest.Step{
				"go":    {llmtest.Calls(spawn("child")), llmtest.Text("done")},
				"child": slices.Repeat([]llmtest.Step{llmtest.Calls(call("work"))}, 100),
			})})
		h.submit(t, "go", agent.ReasonCompleted)
		if err := h.Note(context.Background(), "k", []byte(`1`), ""); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Minute)
		if n := ran.Load(); n > 2 || h.Status() != agent.StatusClosed {
			t.Errorf("the subagent called %d tools; the session is %s", n, h.Status())
		}
	})
}
