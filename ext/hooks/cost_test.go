//go:build unix

package hooks_test

import (
	"context"
	"testing"
	"time"

	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// A call that no hook is about, in a session that has hooks for other events, against the same call
// in a session without hooks, which has none of the doors.
func BenchmarkM9_OtherCalls(b *testing.B) {
	h := newHooks(b, hook(b, hooks.SessionEnd, "true"))
	def := llm.ToolDefinition{Name: "noop", Description: "Does nothing.",
		Parameters: []byte(`{"type": "object", "properties": {}}`)}
	registry, err := tool.NewRegistry(tool.New(def, func(context.Context, *tool.Call, struct{}) (tool.Result,
		error) {
		return tool.Result{}, nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	allow := func(context.Context, tool.Request) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	judged := func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		if _, err := h.BeforeRules(ctx, req); err != nil {
			return tool.Decision{}, err
		}
		return allow(ctx, req)
	}
	call := llm.ToolCall{ID: "c", Name: "noop", Args: "{}"}
	ctx := context.Background()
	b.ReportAllocs()
	var with, without time.Duration
	for b.Loop() {
		begin := time.Now()
		registry.Run(ctx, call, tool.Call{}, judged, h.Middleware)
		between := time.Now()
		registry.Run(ctx, call, tool.Call{}, allow)
		with, without = with+between.Sub(begin), without+time.Since(between)
	}
	b.ReportMetric(float64(with)/float64(without), "ratio")
}
