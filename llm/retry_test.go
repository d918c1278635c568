package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

func noJitter() float64 { return 0 }

func limited(after time.Duration) error {
	return &llm.Error{Kind: llm.ErrRateLimit, Message: "slow down", RetryAfter: after}
}

func TestG6_RetryDelay(t *testing.T) {
	down := llm.Errorf(llm.ErrServer, "down")
	exact, many := llm.RetryPolicy{Jitter: noJitter}, llm.RetryPolicy{Max: 1 << 30, Jitter: noJitter}
	for _, tt := range []struct {
		p       llm.RetryPolicy
		attempt int
		err     error
		want    time.Duration
		again   bool
	}{
		{exact, 1, down, time.Second, true},
		{exact, 2, down, 2 * time.Second, true},
		{many, 6, down, 32 * time.Second, true},
		{many, 7, down, time.Minute, true},
		{many, 1 << 30, down, time.Minute, true},
		{llm.RetryPolicy{Base: time.Hour, Jitter: noJitter}, 1, down, time.Minute, true},
		{llm.RetryPolicy{Max: 3, Base: 10 * time.Millisecond, Cap: 25 * time.Millisecond, Jitter: noJitter}, 3, down,
			25 * time.Millisecond, true},
		{llm.RetryPolicy{Jitter: func() float64 { return 0.5 }}, 1, down, 750 * time.Millisecond, true},
		{llm.RetryPolicy{Jitter: func() float64 { return 0.5 }}, 1, limited(7 * time.Second), 7 * time.Second, true},
		{exact, 3, down, 0, false},
		{llm.RetryPolicy{Max: -1}, 1, down, 0, false},
		{exact, 1, limited(time.Minute), time.Minute, true},
		{exact, 1, limited(time.Minute + 1), 0, false},
		{exact, 1, fmt.Errorf("wrapped: %w", limited(time.Second)), time.Second, true},
		{exact, 1, llm.Errorf(llm.ErrAuthentication, "no"), 0, false},
		{exact, 1, &llm.Error{Kind: llm.ErrServer, Final: true}, 0, false},
		{exact, 1, errors.New("something else"), 0, false},
	} {
		if d, again := tt.p.Delay(tt.attempt, tt.err); again != tt.again || again && d != tt.want {
			t.Errorf("Delay(%d, %v) = %v, %v, want %v, %v", tt.attempt, tt.err, d, again, tt.want, tt.again)
		}
	}
	for range 100 {
		if d, _ := (llm.RetryPolicy{}).Delay(1, down); d <= 500*time.Millisecond || d > time.Second {
			t.Fatalf("with the default jitter: %v", d)
		}
	}
}

// attempt runs a script under Retry. It returns the events, the time that passed and the number of
// requests.
func attempt(t *testing.T, policy llm.RetryPolicy,
	steps ...llmtest.Step) (events []llm.StreamEvent, took time.Duration, calls int, err error) {
	t.Helper()
	policy.Jitter = noJitter
	p := llmtest.NewProvider("p", steps...)
	client := llm.Client{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{llm.Retry(policy, nil)}}
	begin := time.Now()
	events, err = providertest.Contract(t, client.Stream(t.Context(), ask("hi")))
	return events, time.Since(begin), len(p.Requests()), err
}

func TestG6_Retry(t *testing.T) {
	down := llm.Errorf(llm.ErrServer, "down")
	fails := llmtest.Error(down)
	// opened breaks right after the stream was opened, announced right after a block was.
	opened := llmtest.TornParts(llm.Errorf(llm.ErrOverloaded, "busy"))
	announced := llmtest.TornParts(llm.Errorf(llm.ErrOverloaded, "busy"), llm.Text{})
	for name, tt := range map[string]struct {
		policy llm.RetryPolicy
		steps  []llmtest.Step
		took   time.Duration
		calls  int
		kind   error // nil: a response
	}{
		"no failure": {steps: []llmtest.Step{llmtest.Text("ok")}, calls: 1},
		"one":        {steps: []llmtest.Step{fails, llmtest.Text("ok")}, took: time.Second, calls: 2},
		"two by default": {steps: []llmtest.Step{fails, fails, llmtest.Text("ok")}, took: 3 * time.Second,
			calls: 3},
		"no more than two": {steps: []llmtest.Step{fails, fails, fails, llmtest.Text("ok")}, took: 3 * time.Second,
			calls: 3, kind: llm.ErrServer},
		"as many as said": {policy: llm.RetryPolicy{Max: 1}, steps: []llmtest.Step{fails, fails},
			took: time.Second, calls: 2, kind: llm.ErrServer},
		"none when negative": {policy: llm.RetryPolicy{Max: -1}, steps: []llmtest.Step{fails}, calls: 1,
			kind: llm.ErrServer},
		"not retryable": {steps: []llmtest.Step{llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no"))},
			calls: 1, kind: llm.ErrAuthentication},
		"retry-after": {steps: []llmtest.Step{llmtest.Error(limited(9 * time.Second)), llmtest.Text("ok")},
			took: 9 * time.Second, calls: 2},
		"retry-after too long": {steps: []llmtest.Step{llmtest.Error(limited(2 * time.Minute))}, calls: 1,
			kind: llm.ErrRateLimit},
		"broken when opened":    {steps: []llmtest.Step{opened, llmtest.Text("ok")}, took: time.Second, calls: 2},
		"broken when announced": {steps: []llmtest.Step{announced, llmtest.Text("ok")}, took: time.Second, calls: 2},
		"torn after text": {steps: []llmtest.Step{llmtest.Torn("some ", llm.Errorf(llm.ErrStream, "cut"))},
			calls: 1, kind: llm.ErrStream},
		"torn in the second go": {steps: []llmtest.Step{fails, llmtest.Torn("some ", llm.Errorf(llm.ErrStream, "cut"))},
			took: time.Second, calls: 2, kind: llm.ErrStream},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events, took, calls, err := attempt(t, tt.policy, tt.steps...)
				if took != tt.took || calls != tt.calls {
					t.Errorf("%d calls in %v, want %d in %v", calls, took, tt.calls, tt.took)
				}
				if tt.kind != nil {
					if !errors.Is(err, tt.kind) {
						t.Errorf("error %v", err)
					}
					return
				}
				if err != nil || events[len(events)-1].Response.Text() != "ok" {
					t.Errorf("%v, error %v", events, err)
				}
			})
		})
	}
}

func TestG6_RetryTellsAndEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := llm.Errorf(llm.ErrServer, "down")
		p := llmtest.NewProvider("p", llmtest.Error(down), llmtest.Error(down))
		var told []string
		policy := llm.RetryPolicy{Max: 9, Base: 4 * time.Second, Jitter: noJitter}
		tell := func(n int, err error, delay time.Duration) {
			told = append(told, fmt.Sprintf("%d %s %v", n, llm.KindOf(err), delay))
		}
		client := llm.Client{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{llm.Retry(policy, tell)}}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, enough)
		defer cancel()
		begin := time.Now()
		_, err := providertest.Contract(t, client.Stream(ctx, ask("hi")))
		if !errors.Is(err, llm.ErrAborted) || !errors.Is(err, enough) || llm.Retryable(err) ||
			!strings.Contains(err.Error(), "down") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("after %v", took)
		}
		if diff := cmp.Diff([]string{"1 server 4s", "2 server 8s"}, told); diff != "" {
			t.Error(diff)
		}
	})
}

func TestG6_RetryStopsWhenNobodyListens(t *testing.T) {
	for stop, want := range map[llm.EventType]int{llm.EventStart: 1, llm.EventTextDelta: 3} {
		p := llmtest.NewProvider("p", llmtest.Text("one two"))
		client := llm.Client{Providers: []llm.Provider{p},
			Middleware: []llm.Middleware{llm.Retry(llm.RetryPolicy{}, nil)}}
		n := 0
		for ev := range client.Stream(t.Context(), ask("hi")) {
			if n++; ev.Type == stop {
				break
			}
		}
		if n != want || len(p.Requests()) != 1 {
			t.Errorf("left at %v: %d events, %d calls", stop, n, len(p.Requests()))
		}
	}
}

// Retry over a real connection: with a server's responses, headers and breaks.
func TestG6_RetryOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "At last."}),
			fakellm.Options{Faults: map[int]fakellm.Fault{
				1: {Kind: fakellm.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "7"}},
				2: {Kind: fakellm.FaultReset},
				3: {Kind: fakellm.FaultError}, // after the start of a block
			}})
		p, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://x.test",
			HTTPClient: llmtest.PipeClient(t, server)})
		if err != nil {
			t.Fatal(err)
		}
		client := llm.Client{Providers: []llm.Provider{p},
			Middleware: []llm.Middleware{llm.Retry(llm.RetryPolicy{Max: 3, Jitter: noJitter}, nil)}}
		begin := time.Now()
		events, err := providertest.Contract(t, client.Stream(t.Context(), ask("hi")))
		if err != nil || events[len(events)-1].Response.Text() != "At last." {
			t.Fatal(err)
		}
		if took, want := time.Since(begin), (7+2+4)*time.Second; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
	})
}

// BenchmarkRetry measures what the middleware adds to a stream of 1000 deltas.
func BenchmarkRetry(b *testing.B) {
	stream := func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			for range 1000 {
				if !yield(llm.StreamEvent{Type: llm.EventTextDelta, Delta: "x"}, nil) {
					return
				}
			}
			yield(llm.StreamEvent{Type: llm.EventFinish, Response: &llm.Response{}}, nil)
		}
	}
	handler := llm.Retry(llm.RetryPolicy{}, nil)(stream)
	for b.Loop() {
		if _, err := llm.Collect(handler(b.Context(), nil)); err != nil {
			b.Fatal(err)
		}
	}
}
