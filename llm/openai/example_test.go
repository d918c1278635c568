package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/openai"
)

// Ask a model that reasons. What it thought comes back as a summary, before the answer.
func ExampleNew() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "17 has no divisor up to 4.",
		Text: "Yes."}), fakellm.Options{}))
	defer server.Close() // it stands in for api.openai.com

	provider, err := openai.New(openai.Options{APIKey: "a-key", BaseURL: server.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	client := &llm.Client{Providers: []llm.Provider{provider}}
	resp, err := client.Complete(context.Background(),
		&llm.Request{Model: "gpt-6.1-sol", Effort: "low", Messages: []llm.Message{llm.User("Is 17 prime?")}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Reasoning())
	fmt.Println(resp.Text())
	// Output:
	// 17 has no divisor up to 4.
	// Yes.
}

// Parameters that package llm has no field for are sent as they are. The server stores nothing,
// whatever they are.
func ExampleProvider() {
	server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "Hello."}), fakellm.Options{})
	listener := httptest.NewServer(server)
	defer listener.Close()

	provider, err := openai.New(openai.Options{APIKey: "a-key", BaseURL: listener.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	req := &llm.Request{Model: "gpt-6.1-sol", Messages: []llm.Message{llm.User("Hello?")},
		Options: map[string]json.RawMessage{
			"openai": json.RawMessage(`{"service_tier": "flex", "text": {"verbosity": "low"}}`)}}
	if _, err := llm.Collect(provider.Stream(context.Background(), req)); err != nil {
		log.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(server.Requests()[0].Body, &body); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s %s\n", body["service_tier"], body["text"], body["store"])
	// Output: "flex" {"verbosity":"low"} false
}
