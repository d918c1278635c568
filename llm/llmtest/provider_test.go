package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(text string) *llm.Request {
	return &llm.Request{Model: "m-1", Messages: []llm.Message{llm.User(text)}}
}

func TestProvider(t *testing.T) {
	broken := llm.Errorf(llm.ErrStream, "torn")
	p := llmtest.NewProvider("fake",
		llmtest.Text("two words"),
		llmtest.Calls(llmtest.Call("read", map[string]any{"path": "a"}), llmtest.Call("list", nil),
			llmtest.Call("odd", "{broken")),
		llmtest.Answer(llm.Thinking{Text: "hm hm", Signature: "s"}, llm.Text{Text: ""},
			llm.Opaque{Provider: "fake", Data: "{}"}),
		llmtest.Error(llm.Errorf(llm.ErrRateLimit, "slow down")),
		llmtest.Torn("half an", broken),
		llmtest.TornParts(broken, llm.Text{Text: "I look."}, llmtest.Call("read", `{"path":`)),
		llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
			return llmtest.Text("you said " + req.Messages[0].Parts.Text())
		}),
		llmtest.Respond(llm.Response{ID: "x", Model: "other", Usage: llm.Usage{Input: 7},
			Finish: llm.Finish{Reason: llm.FinishLength}}),
	)
	next := func() (*llm.Response, error) {
		events, err := providertest.Contract(t, p.Stream(t.Context(), ask("hi")))
		if err != nil {
			return nil, err
		}
		return events[len(events)-1].Response, nil
	}
	resp, err := next()
	if err != nil || resp.Text() != "two words" || resp.Provider != "fake" || resp.Message.Provider != "fake" ||
		resp.Message.Model != "m-1" ||
		resp.Finish.Reason != llm.FinishStop || resp.Usage.Input == 0 || resp.Usage.Output == 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp, err = next()
	if err != nil || resp.Finish.Reason != llm.FinishToolCalls || fmt.Sprint(resp.ToolCalls()) !=
		`[{call_1_0 read {"path":"a"} false } {call_1_1 list {} false } {call_1_2 odd {broken false }]` {
		t.Fatalf("%+v, %v", resp, err)
	}
	if resp, err = next(); err != nil || resp.Reasoning() != "hm hm" || len(resp.Message.Parts) != 3 {
		t.Fatalf("%+v, %v", resp, err)
	}
	for _, kind := range []error{llm.ErrRateLimit, llm.ErrStream, llm.ErrStream} {
		if _, err := next(); !errors.Is(err, kind) {
			t.Errorf("%v, want %v", err, kind)
		}
	}
	if resp, err = next(); err != nil || resp.Text() != "you said hi" {
		t.Errorf("%+v, %v", resp, err)
	}
	if resp, err = next(); err != nil || resp.ID != "x" || resp.Model != "other" || resp.Usage.Input != 7 ||
		resp.Finish.Reason != llm.FinishLength {
		t.Errorf("%+v, %v", resp, err)
	}
	if _, err := next(); !errors.Is(err, llm.ErrConfiguration) || p.Left() != 0 {
		t.Errorf("past the end: %v", err)
	}
	p.Then(llmtest.Text("more"))
	if resp, err := next(); err != nil || resp.Text() != "more" {
		t.Errorf("%+v, %v", resp, err)
	}
	if n := len(p.Requests()); n != 10 {
		t.Errorf("%d requests", n)
	}
}

func TestTornHasNoEnd(t *testing.T) {
	p := llmtest.NewProvider("fake", llmtest.Torn("half an", llm.Errorf(llm.ErrStream, "torn")))
	events, err := providertest.Contract(t, p.Stream(t.Context(), ask("hi")))
	if err == nil || len(events) != 4 || events[3].Type != llm.EventTextDelta || events[3].Delta != "an" {
		t.Errorf("%v, %v", events, err)
	}
}

var errGivenUp = errors.New("given up")

func TestCancelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		for name, step := range map[string]llmtest.Step{"hang": llmtest.Hang(),
			"hang after": llmtest.HangAfter(llm.Text{Text: "a b"}),
			"gate":       llmtest.Gate(nil, open, llmtest.Text("x"))} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Hour, func() { cancel(errGivenUp) })
			_, err := providertest.Contract(t, llmtest.NewProvider("fake", step).Stream(ctx, ask("hi")))
			if !errors.Is(err, llm.ErrAborted) || !errors.Is(err, errGivenUp) {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		_, err := providertest.Contract(t, func(yield func(llm.StreamEvent, error) bool) {
			for ev, err := range llmtest.NewProvider("fake", llmtest.Text("a b c d")).Stream(ctx, ask("hi")) {
				if n++; n == 4 {
					cancel(errGivenUp)
				}
				if !yield(ev, err) {
					return
				}
			}
		})
		if !errors.Is(err, errGivenUp) || n != 5 {
			t.Errorf("%v after %d events", err, n)
		}
	})
}

func TestGate(t *testing.T) {
	started, open := make(chan struct{}), make(chan struct{})
	p := llmtest.NewProvider("fake", llmtest.Gate(started, open, llmtest.Text("through")))
	var got *llm.Response
	var wg sync.WaitGroup
	wg.Go(func() { got, _ = llm.Collect(p.Stream(t.Context(), ask("hi"))) })
	<-started
	close(open)
	wg.Wait()
	if got == nil || got.Text() != "through" {
		t.Errorf("%+v", got)
	}
}

// A caller that continues to use its slice must not change what was recorded.
func TestRequestsAreKept(t *testing.T) {
	p := llmtest.NewProvider("fake", llmtest.Text("a"), llmtest.Text("b"))
	req := ask("one")
	for range 2 {
		if _, err := llm.Collect(p.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		req.Messages[0] = llm.User("two")
	}
	got := p.Requests()
	if got[0].Messages[0].Parts.Text() != "one" || got[1].Messages[0].Parts.Text() != "two" {
		t.Error("the first request was changed")
	}
}

// spy records a contract's errors.
type spy struct {
	testing.TB
	complaints int
}

func (s *spy) Helper()               {}
func (s *spy) Errorf(string, ...any) { s.complaints++ }
func (s *spy) Error(...any)          { s.complaints++ }

func TestContractFindsBreaches(t *testing.T) {
	type event = llm.StreamEvent
	start, text := event{Type: llm.EventStart}, event{Type: llm.EventTextStart}
	delta, end := event{Type: llm.EventTextDelta, Delta: "x"}, event{Type: llm.EventTextEnd}
	finish := func(parts ...llm.Part) event {
		return event{Type: llm.EventFinish, Response: &llm.Response{Provider: "p",
			Finish:  llm.Finish{Reason: llm.FinishStop},
			Message: llm.Message{Role: llm.RoleAssistant, Provider: "p", Parts: parts}}}
	}
	failure := error(llm.Errorf(llm.ErrStream, "x"))
	for name, c := range map[string]struct {
		events []any
		bad    bool
	}{
		"good":                {[]any{start, text, delta, end, finish(llm.Text{Text: "x"})}, false},
		"good error":          {[]any{start, text, delta, failure}, false},
		"silence":             {[]any{start, text, delta, end}, true},
		"no start":            {[]any{text, delta, end, finish(llm.Text{Text: "x"})}, true},
		"two errors":          {[]any{failure, failure}, true},
		"event after error":   {[]any{start, failure, text}, true},
		"event after finish":  {[]any{start, finish(), text}, true},
		"error after finish":  {[]any{start, finish(), failure}, true},
		"plain error":         {[]any{errors.New("x")}, true},
		"block left open":     {[]any{start, text, delta, finish(llm.Text{Text: "x"})}, true},
		"delta without block": {[]any{start, delta, finish()}, true},
		"delta after end":     {[]any{start, text, end, delta, finish(llm.Text{})}, true},
		"block twice":         {[]any{start, text, end, text, end, finish(llm.Text{}, llm.Text{})}, true},
		"other text":          {[]any{start, text, delta, end, finish(llm.Text{Text: "y"})}, true},
		"lost block":          {[]any{start, text, delta, end, finish()}, true},
		"part from nowhere":   {[]any{start, finish(llm.Text{Text: "x"})}, true},
		"call without id": {[]any{start, event{Type: llm.EventCallStart}, event{Type: llm.EventCallEnd},
			finish(llm.ToolCall{})}, true},
		"finish without answer":  {[]any{start, event{Type: llm.EventFinish}}, true},
		"delta of another block": {[]any{start, text, event{Type: llm.EventCallDelta}, end, finish(llm.Text{})}, true},
	} {
		s := &spy{TB: t}
		_, _ = providertest.Contract(s, func(yield func(llm.StreamEvent, error) bool) {
			for _, x := range c.events {
				ev, _ := x.(event)
				err, _ := x.(error)
				if !yield(ev, err) {
					return
				}
			}
		})
		if (s.complaints > 0) != c.bad {
			t.Errorf("%s: %d complaints", name, s.complaints)
		}
	}
}
