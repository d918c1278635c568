package otel_test

import (
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A program has a session report its spans. Here they are kept in memory; an exporter would send
// them.
func Example() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	o := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test",
			llmtest.Calls(llmtest.Call("read_file", `{"file_path":"greet.txt"}`)), llmtest.Text("It says hello."))}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You read.",
			Tools: []tool.Tool{coding.ReadFile()}},
		Env: envtest.NewMemory(map[string]string{"greet.txt": "Hello, world!\n"}),
	}
	otel.Instrument(&o, otel.Options{Tracers: tracers})
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Submit(ctx, "what does the greeting say?"); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	if err := tracers.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// chat model-1
	// execute_tool read_file
	// chat model-1
	// invoke_agent attractor
}
