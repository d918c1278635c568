package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// A program meets an overloaded model, then one that calls a tool. The test sees what it has sent.
func ExampleNewProvider() {
	provider := llmtest.NewProvider("test",
		llmtest.Error(llm.Errorf(llm.ErrOverloaded, "try later")),
		llmtest.Calls(llmtest.Call("temperature", map[string]string{"city": "Oslo"})))
	client := &llm.Client{Providers: []llm.Provider{provider},
		Middleware: []llm.Middleware{llm.Retry(llm.RetryPolicy{Base: time.Millisecond}, nil)}}

	resp, err := client.Complete(context.Background(),
		&llm.Request{Model: "model-1", Messages: []llm.Message{llm.User("How warm is it in Oslo?")}})
	if err != nil {
		log.Fatal(err)
	}
	call := resp.ToolCalls()[0]
	fmt.Println(call.Name, call.Args)
	fmt.Println(len(provider.Requests()), "requests,", provider.Left(), "steps left")
	// Output:
	// temperature {"city":"Oslo"}
	// 2 requests, 0 steps left
}

// Cancel a request while the model is thinking. Gate says when the request has arrived, so the test
// needs no sleep.
func ExampleGate() {
	started := make(chan struct{})
	provider := llmtest.NewProvider("test", llmtest.Gate(started, nil, llmtest.Text("never sent")))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	_, err := llm.Collect(provider.Stream(ctx,
		&llm.Request{Model: "model-1", Messages: []llm.Message{llm.User("Hello?")}}))
	fmt.Println(errors.Is(err, llm.ErrAborted))
	// Output: true
}

// A conversation that is only appended to is read from the vendor's cache. The meter finds the
// request that changed an older message.
func ExampleMeter() {
	meter := llmtest.NewMeter(fakellm.New(fakellm.Script(fakellm.Turn{Text: "One."}, fakellm.Turn{Text: "Two."}),
		fakellm.Options{}))
	server := httptest.NewServer(meter)
	defer server.Close()
	p, err := anthropic.New(anthropic.Options{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}

	messages := []llm.Message{llm.User("Count.")}
	for range 2 {
		resp, err := llm.Collect(p.Stream(context.Background(),
			&llm.Request{Model: "claude-sonnet-5-5", Messages: messages}))
		if err != nil {
			log.Fatal(err)
		}
		messages = append(messages, resp.Message, llm.User("Go on."))
	}
	fmt.Println(len(meter.Breaks()))

	messages = slices.Clone(messages)
	messages[0] = llm.User("Count quickly.")
	if _, err := llm.Collect(p.Stream(context.Background(), &llm.Request{Model: "claude-sonnet-5-5",
		Messages: messages})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(meter.Breaks()))
	// Output:
	// 0
	// 1
}
