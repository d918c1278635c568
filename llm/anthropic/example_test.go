package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A conversation of two requests. The second one begins with the bytes of the first, so the vendor
// reads that part from its cache.
func ExampleNew() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "Bern."}, fakellm.Turn{Text: "Ottawa."}),
		fakellm.Options{}))
	defer server.Close() // it stands in for api.anthropic.com

	provider, err := anthropic.New(anthropic.Options{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	client := &llm.Client{Providers: []llm.Provider{provider}}
	req := &llm.Request{Model: "claude-sonnet-5-5", Memo: new(llm.Memo),
		Messages: []llm.Message{llm.System("Answer in one word.")}}
	for _, question := range []string{"The capital of Switzerland?", "And of Canada?"} {
		req.Messages = append(req.Messages, llm.User(question))
		resp, err := client.Complete(context.Background(), req)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(resp.Text(), resp.Usage.CacheRead > 0)
		req.Messages = append(req.Messages, resp.Message)
	}
	// Output:
	// Bern. false
	// Ottawa. true
}

// Parameters that package llm has no field for are sent as they are, and beta features are switched
// on by their names.
func ExampleProvider() {
	server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "Hello."}), fakellm.Options{})
	listener := httptest.NewServer(server)
	defer listener.Close()

	provider, err := anthropic.New(anthropic.Options{APIKey: "a-key", BaseURL: listener.URL})
	if err != nil {
		log.Fatal(err)
	}
	req := &llm.Request{Model: "claude-sonnet-5-5", Messages: []llm.Message{llm.User("Hello?")},
		Options: map[string]json.RawMessage{
			"anthropic": json.RawMessage(
				`{"service_tier": "standard_only", "beta_headers": ["context-management-2025-06-27"]}`)}}
	if _, err := llm.Collect(provider.Stream(context.Background(), req)); err != nil {
		log.Fatal(err)
	}
	sent := server.Requests()[0]
	var body struct {
		ServiceTier string `json:"service_tier"`
	}
	if err := json.Unmarshal(sent.Body, &body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(body.ServiceTier, sent.Header.Get("anthropic-beta"))
	// Output: standard_only context-management-2025-06-27
}
