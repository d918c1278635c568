package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A session waits for a command's clean-up as long as the environment does, through any wrapper.
func TestJ9_WaitFollowsTheEnvironmentsGrace(t *testing.T) {
	for name, c := range map[string]struct {
		grace   time.Duration // of the session's options
		cleanup time.Duration
		took    time.Duration
	}{
		"shorter than the environment's": {2 * time.Second, 4 * time.Second, 4 * time.Second},
		"longer than the environment's":  {20 * time.Second, 4 * time.Second, 4 * time.Second},
		"killed at the end of it":        {2 * time.Second, time.Hour, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cleaned atomic.Bool
				e := &envtest.Memory{Grace: 6 * time.Second,
					Commands: func(ctx context.Context, _ env.Command) env.Exit {
						<-ctx.Done()
						time.Sleep(c.cleanup)
						cleaned.Store(true)
						return env.Exit{}
					}}
				model := llmtest.NewProvider("test",
					llmtest.Calls(llmtest.Call("shell", `{"command":"serve","timeout_ms":600000}`)))
				s, err := agent.New(context.Background(), agent.Options{
					Client: &llm.Client{Providers: []llm.Provider{model}}, Env: env.Protect(env.Sub(e, "."),
						env.DefaultProtection()), Limits: agent.Limits{Grace: c.grace},
					Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1",
						Tools: []tool.Tool{coding.Shell(time.Minute)}},
					OutputDir: t.TempDir(),
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				began := time.Now()
				if _, err := s.Submit(ctx, "serve"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Submit = %v", err)
				}
				if took := time.Since(began) - time.Second; took < c.took || took > c.took+time.Second {
					t.Errorf("the end of the input took %v, want %v and a little", took, c.took)
				}
				history := s.History()
				result := history[len(history)-1].Message.Parts[0].(llm.ToolResult)
				if strings.Contains(result.Content.Text(), "abandoned") ||
					cleaned.Load() != (c.cleanup < 6*time.Second) {
					t.Errorf("cleaned up: %t, and the result is %q", cleaned.Load(), result.Content.Text())
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Hour) // until the abandoned command has returned
			})
		})
	}
}

// Close returns no error if a background process cleans up for longer than ten times the session's
// own grace time.
func TestJ9_CloseFollowsTheEnvironmentsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &envtest.Memory{Grace: time.Minute, Commands: func(ctx context.Context, _ env.Command) env.Exit {
			<-ctx.Done()
			time.Sleep(40 * time.Second)
			return env.Exit{}
		}}
		model := llmtest.NewProvider("test",
			llmtest.Calls(llmtest.Call("shell", `{"command":"serve","run_in_background":true}`)),
			llmtest.Text("started"))
		s, err := agent.New(context.Background(), agent.Options{
			Client: &llm.Client{Providers: []llm.Provider{model}}, Env: e,
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1",
				Tools: []tool.Tool{coding.Shell(time.Minute)}},
			OutputDir: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if result, err := s.Submit(context.Background(), "serve"); err != nil || result.Text != "started" {
			t.Errorf("Submit = %+v, %v", result, err)
		}
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("Close took %v, want the 40 s of the process's clean-up", took)
		}
	})
}
