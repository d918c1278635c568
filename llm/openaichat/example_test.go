package openaichat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// Two servers under names of their own. A request says which one it is for.
func ExampleNew() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "Hello."}), fakellm.Options{}))
	defer server.Close() // it stands in for both

	// http://localhost:11434/v1
	ollama, err := openaichat.New(openaichat.Options{Name: "ollama", BaseURL: server.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	// https://api.groq.com/openai/v1
	groq, err := openaichat.New(openaichat.Options{Name: "groq", APIKey: "a-key", BaseURL: server.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	client := &llm.Client{Providers: []llm.Provider{ollama, groq}, Default: "ollama"}
	for _, req := range []*llm.Request{{Model: "qwen3-coder"}, {Provider: "groq", Model: "openai/gpt-oss-120b"}} {
		req.Messages = []llm.Message{llm.User("Hello?")}
		resp, err := client.Complete(context.Background(), req)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", resp.Provider, resp.Text())
	}
	// Output:
	// ollama: Hello.
	// groq: Hello.
}

// Reasoning is sent back in the member in which it came, and only beside calls, because some
// servers need it there and others refuse it elsewhere.
func ExampleProvider() {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "I need the file.", Calls: []fakellm.Call{{Name: "read_file"}}},
		fakellm.Turn{Text: "It is empty."}), fakellm.Options{})
	listener := httptest.NewServer(server)
	defer listener.Close()

	provider, err := openaichat.New(openaichat.Options{BaseURL: listener.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	req := &llm.Request{Model: "deepseek-reasoner", Messages: []llm.Message{llm.User("What is in the file?")},
		Tools: []llm.ToolDefinition{{Name: "read_file", Parameters: []byte(`{"type":"object"}`)}}}
	first, err := llm.Collect(provider.Stream(context.Background(), req))
	if err != nil {
		log.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message,
		llm.ToolResults(llm.ToolResult{CallID: first.ToolCalls()[0].ID, Content: llm.TextParts("")}))
	if _, err := llm.Collect(provider.Stream(context.Background(), req)); err != nil {
		log.Fatal(err)
	}
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(server.Requests()[1].Body, &body); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body.Messages[1])
	// Output: {"role":"assistant","content":null,"reasoning_content":"I need the file.","tool_calls":[{"id":"call_0_0","type":"function","function":{"name":"read_file","arguments":"{}"}}]}
}
