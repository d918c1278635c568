package gemini_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/gemini"
)

// Ask about an image.
func ExampleNew() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "A red dot."}), fakellm.Options{}))
	defer server.Close() // it stands in for generativelanguage.googleapis.com

	provider, err := gemini.New(gemini.Options{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	client := &llm.Client{Providers: []llm.Provider{provider}}
	dot := llm.Media{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n...")} // llm.FilePart reads one from a file
	resp, err := client.Complete(context.Background(),
		&llm.Request{Model: "gemini-3-pro-preview", Messages: []llm.Message{llm.User("What is this?", dot)}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Text())
	// Output: A red dot.
}

// Parameters that package llm has no field for are sent as they are. Members of generationConfig
// replace single members.
func ExampleProvider() {
	server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "Hello."}), fakellm.Options{})
	listener := httptest.NewServer(server)
	defer listener.Close()

	provider, err := gemini.New(gemini.Options{APIKey: "a-key", BaseURL: listener.URL})
	if err != nil {
		log.Fatal(err)
	}
	req := &llm.Request{Model: "gemini-3-pro-preview", MaxTokens: 500, Messages: []llm.Message{llm.User("Hello?")},
		Options: map[string]json.RawMessage{
			"gemini": json.RawMessage(`{"labels": {"team": "search"}, "generationConfig": {"seed": 7}}`)}}
	if _, err := llm.Collect(provider.Stream(context.Background(), req)); err != nil {
		log.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(server.Requests()[0].Body, &body); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s\n", body["labels"], body["generationConfig"])
	// Output: {"team": "search"} {"maxOutputTokens":500,"seed":7}
}
