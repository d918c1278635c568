package fakellm_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// provider returns the real provider for Anthropic's API, with a server of ours in place of the
// vendor's.
func provider(server *httptest.Server) llm.Provider {
	p, err := wire.New(wire.Options{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// A session works through a script. Its tools and its requests are real.
func ExampleScript() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(
		fakellm.Turn{Text: "I read it.",
			Calls: []fakellm.Call{{Name: "read_file", Args: []byte(`{"file_path":"/work/greeting.txt"}`)}}},
		fakellm.Turn{Text: "It says hello."},
	), fakellm.Options{}))
	defer server.Close()

	ctx := context.Background()
	session, err := agent.New(ctx, agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{provider(server)}},
		Profile: anthropic.Profile(),
		Env:     envtest.NewMemory(map[string]string{"greeting.txt": "Hello!\n"}),
		OnEvent: func(event agent.Event) {
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Printf("%s: %s", e.Name, e.Output)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.Submit(ctx, "What does the greeting say?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	// Output:
	// read_file:   1 | Hello!
	// It says hello.
}

// A model of your own is a function of the request, which the server has decoded and checked.
func ExampleModel() {
	model := func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Turn{Text: fmt.Sprintf("Request %d has %d messages for %s.", r.N, len(r.Messages), r.Model)}
	}
	server := httptest.NewServer(fakellm.New(model, fakellm.Options{}))
	defer server.Close()

	req := &llm.Request{Model: "claude-sonnet-5-5", Messages: []llm.Message{llm.User("Hello?")}}
	resp, err := llm.Collect(provider(server).Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Text())
	// Output: Request 1 has 1 messages for claude-sonnet-5-5.
}

// The first request ends in the middle of the answer, the second is told to wait, the third is
// answered.
func ExampleFault() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "Small waves wear down the cliff."}),
		fakellm.Options{
			Faults: map[int]fakellm.Fault{
				1: {Kind: fakellm.FaultCut, After: 1},
				2: {Kind: fakellm.FaultStatus, Status: 429, Header: map[string]string{"retry-after": "30"}},
			}}))
	defer server.Close()

	req := &llm.Request{Model: "claude-sonnet-5-5",
		Messages: []llm.Message{llm.User("One sentence about persistence.")}}
	for range 3 {
		resp, err := llm.Collect(provider(server).Stream(context.Background(), req))
		switch {
		case errors.Is(err, llm.ErrStream), errors.Is(err, llm.ErrRateLimit):
			fmt.Println(llm.KindOf(err), llm.Retryable(err))
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(resp.Text())
		}
	}
	// Output:
	// stream true
	// rate_limit true
	// Small waves wear down the cliff.
}
