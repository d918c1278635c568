package generate_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestG9_EachStepIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := llmtest.Error(llm.Errorf(llm.ErrServer, "down"))
		torn := llmtest.Torn("Some ", llm.Errorf(llm.ErrStream, "cut"))
		runs := 0
		count := generate.Func("count", "", func(context.Context, struct{}) (int, error) { runs++; return runs, nil })
		policy := llm.RetryPolicy{Max: 2, Jitter: func() float64 { return 0 }}
		var told []time.Duration
		o := generate.Options{Model: "m", Prompt: "go", Tools: []generate.Tool{count}, Retry: policy,
			OnRetry: func(_ int, _ error, delay time.Duration) { told = append(told, delay) }}
		client, p := scripted(down, down, llmtest.Calls(llmtest.Call("count", nil)), down, torn, llmtest.Text("ok"))
		begin := time.Now()
		res, err := generate.Generate(t.Context(), client, o)
		if err != nil || res.Text() != "ok" || runs != 1 || len(res.Steps) != 2 || len(p.Requests()) != 6 ||
			time.Since(begin) != 6*time.Second {
			t.Errorf("%v: %d runs, %d steps, %d calls in %v", err, runs, len(res.Steps), len(p.Requests()),
				time.Since(begin))
		}
		if want := []time.Duration{time.Second, 2 * time.Second, time.Second, 2 * time.Second}; !slices.Equal(told,
			want) {
			t.Errorf("OnRetry was told of %v, want %v", told, want)
		}

		// A failure of the second step keeps the first.
		client, _ = scripted(llmtest.Calls(llmtest.Call("count", nil)), down, down, down)
		res, err = generate.Generate(t.Context(), client, o)
		if !errors.Is(err, llm.ErrServer) || len(res.Steps) != 1 || res.Usage.Output == 0 || len(res.Messages) != 3 {
			t.Errorf("%v: %+v", err, res)
		}

		// A streamed response that broke off was partly delivered, so it is not retried.
		client, p = scripted(down, torn, llmtest.Text("ok"))
		_, err = generate.Stream(t.Context(), client, o).Result()
		if !errors.Is(err, llm.ErrStream) || len(p.Requests()) != 2 {
			t.Errorf("streaming: %v after %d calls", err, len(p.Requests()))
		}
	})
}

func TestG9_Timeouts(t *testing.T) {
	type args struct{}
	sleep := generate.Func("sleep", "", func(ctx context.Context, _ args) (string, error) {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(10 * time.Second):
			return "slept", nil
		}
	})
	gate := func(d time.Duration, then llmtest.Step) llmtest.Step {
		return llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
			open := make(chan struct{})
			time.AfterFunc(d, func() { close(open) })
			return llmtest.Gate(nil, open, then)
		})
	}
	busy := llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 50 * time.Second})
	calls := llmtest.Calls(llmtest.Call("sleep", nil))
	for name, tt := range map[string]struct {
		o     generate.Options
		steps []llmtest.Step
		says  string // empty: no error
		took  time.Duration
		done  int // steps
	}{
		"no limit": {generate.Options{}, []llmtest.Step{calls, gate(time.Hour, llmtest.Text("ok"))}, "",
			time.Hour + 10*time.Second, 2},
		"within": {generate.Options{Timeout: 31 * time.Second, StepTimeout: 11 * time.Second},
			[]llmtest.Step{gate(10*time.Second, calls), gate(10*time.Second, llmtest.Text("ok"))}, "", 30 * time.Second,
			2},
		"step": {generate.Options{StepTimeout: 5 * time.Second}, []llmtest.Step{llmtest.Hang()},
			"the model call of one step took longer than 5s (timeout)", 5 * time.Second, 0},
		"second step": {generate.Options{StepTimeout: 5 * time.Second}, []llmtest.Step{calls, llmtest.Hang()},
			"the model call of one step took longer than 5s", 15 * time.Second, 1},
		"step with retries": {generate.Options{StepTimeout: 5 * time.Second}, []llmtest.Step{busy},
			"the model call of one step took longer than 5s", 5 * time.Second, 0},
		"total": {generate.Options{Timeout: 12 * time.Second, StepTimeout: time.Minute},
			[]llmtest.Step{calls, llmtest.Hang()}, "generating took longer than 12s (timeout)", 12 * time.Second, 1},
		"total, while tools": {generate.Options{Timeout: 2 * time.Second}, []llmtest.Step{calls},
			"generating took longer than 2s", 2 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := scripted(tt.steps...)
				tt.o.Model, tt.o.Prompt, tt.o.Tools = "m", "go", []generate.Tool{sleep}
				begin := time.Now()
				res, err := generate.Generate(t.Context(), client, tt.o)
				if took := time.Since(begin); took != tt.took || len(res.Steps) != tt.done {
					t.Errorf("%d steps in %v, want %d in %v", len(res.Steps), took, tt.done, tt.took)
				}
				if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, llm.ErrTimeout) ||
					llm.KindOf(err) != "timeout" || !strings.Contains(err.Error(), tt.says)) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestG9_TheCallersContextIsNoTimeout(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := generate.Func("stop", "", func(context.Context, struct{}) (string, error) {
		cancel(enough)
		return "",
			nil
	})
	client, p := scripted(llmtest.Calls(llmtest.Call("stop", nil)))
	res, err := generate.Generate(ctx, client, generate.Options{Model: "m", Prompt: "go", Tools: []generate.Tool{stop},
		Timeout: time.Hour, StepTimeout: time.Hour})
	if !errors.Is(err, llm.ErrAborted) || !errors.Is(err, enough) || len(res.Steps) != 1 || len(p.Requests()) != 1 {
		t.Errorf("%v, %d steps", err, len(res.Steps))
	}
}

// A context that ends when the last response has arrived takes nothing away from it.
func TestG9_TheEndOfTheContextComesTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client, _ := scripted(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			for ev, err := range llmtest.Text("ok")(ctx, req) {
				if ev.Type == llm.EventFinish {
					cancel()
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	})
	res, err := generate.Generate(ctx, client, generate.Options{Model: "m", Prompt: "go"})
	if err != nil || res.Text() != "ok" {
		t.Errorf("%q, %v", res.Text(), err)
	}
}
