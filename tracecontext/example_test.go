package tracecontext_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tracecontext"
)

// The trace of an incoming request goes on in the requests to the model. Without OpenTelemetry,
// nothing else is needed.
func ExampleWith() {
	vendor := fakellm.New(fakellm.Script(fakellm.Turn{Text: "Hello."}), fakellm.Options{})
	server := httptest.NewServer(vendor)
	defer server.Close()
	provider, err := anthropic.New(anthropic.Options{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	incoming := http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}

	ctx := tracecontext.With(context.Background(), tracecontext.Fields{Parent: incoming.Get("traceparent")})
	if _, err := llm.Collect(provider.Stream(ctx, &llm.Request{Model: "claude-sonnet-5-5",
		Messages: []llm.Message{llm.User("Hello?")}})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(vendor.Requests()[0].Header.Get("traceparent"))
	fmt.Println(tracecontext.Environ(ctx)) // for a command of your own
	// Output:
	// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
	// [TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01]
}
