//go:build unix

package otel_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// nowhere takes spans and drops them.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// BenchmarkN6_Round measures the processor time of a round with one call, with spans and metrics,
// and the ratio to one without.
func BenchmarkN6_Round(b *testing.B) {
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(nowhere{}))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	defer func() {
		if err := tracers.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	const rounds = 200
	var with, without time.Duration
	for b.Loop() {
		without += processorTime(b, func() { readRepeatedly(b, rounds, nil) })
		with += processorTime(b, func() {
			readRepeatedly(b, rounds,
				func(o *agent.Options) { otel.Instrument(o, otel.Options{Tracers: tracers, Meters: meters}) })
		})
	}
	b.ReportMetric(float64(with.Microseconds())/float64(b.N*rounds), "µs/round")
	b.ReportMetric(float64((with-without).Microseconds())/float64(b.N*rounds), "added-µs/round")
	b.ReportMetric(float64(with)/float64(without), "ratio")
}

// readRepeatedly runs a session whose model reads a file that often.
func readRepeatedly(b *testing.B, n int, more func(*agent.Options)) {
	steps := make([]llmtest.Step, 0, n+1)
	for i := range n {
		steps = append(steps, llmtest.Calls(llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read_file",
			Args: `{"file_path":"greet.txt"}`}))
	}
	o := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test",
			append(steps, llmtest.Text("Done."))...)}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You read.",
			Tools: []tool.Tool{coding.ReadFile()}},
		Env: envtest.NewMemory(map[string]string{"greet.txt": "Hello, world!\n"}),
	}
	if more != nil {
		more(&o)
	}
	s, err := agent.New(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	if r, err := s.Submit(b.Context(), "read"); err != nil || r.Text != "Done." {
		b.Fatal(r, err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// processorTime returns the processor time of this process while f runs.
func processorTime(b *testing.B, f func()) time.Duration {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}
