package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// scripted returns a server that stands in for a vendor's API: it speaks all formats and answers
// from a script.
func scripted(turns ...fakellm.Turn) *httptest.Server {
	return httptest.NewServer(fakellm.New(fakellm.Script(turns...), fakellm.Options{}))
}

// claude returns a client of one provider.
func claude(baseURL string) *llm.Client {
	p, err := anthropic.New(anthropic.Options{APIKey: "a-key", BaseURL: baseURL})
	if err != nil {
		log.Fatal(err)
	}
	return &llm.Client{Providers: []llm.Provider{p}}
}

// Stream text as the model writes it. The last event has the whole response.
func ExampleClient_Stream() {
	server := scripted(fakellm.Turn{Text: "Small waves, in the end, wear down the cliff."})
	defer server.Close()
	client := claude(server.URL)

	req := &llm.Request{Model: "claude-sonnet-4-5",
		Messages: []llm.Message{llm.User("One sentence about persistence.")}}
	for ev, err := range client.Stream(context.Background(), req) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev.Type {
		case llm.EventTextDelta:
			fmt.Printf("%q\n", ev.Delta)
		case llm.EventFinish:
			fmt.Println(ev.Response.Finish.Reason)
		}
	}
	// Output:
	// "Small waves, in "
	// "the end, wear "
	// "down the cliff."
	// stop
}

// Let the model call a tool, by hand: run its calls, append its message and the results, and call
// it again. Package generate has this loop ready-made.
func ExampleClient_Complete() {
	server := scripted(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "temperature", Args: []byte(`{"city":"Oslo"}`)}}},
		fakellm.Turn{Text: "It is 7 °C in Oslo."})
	defer server.Close()
	client := claude(server.URL)

	req := &llm.Request{Model: "claude-sonnet-4-5", Messages: []llm.Message{llm.User("How warm is it in Oslo?")},
		Tools: []llm.ToolDefinition{{Name: "temperature", Description: "Says how warm a city is, in degrees Celsius.",
			Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}},
		Memo: new(llm.Memo), // encodes only the new messages of the conversation
	}
	for {
		resp, err := client.Complete(context.Background(), req)
		if err != nil {
			log.Fatal(err)
		}
		calls := resp.ToolCalls()
		if len(calls) == 0 {
			fmt.Println(resp.Text())
			return
		}
		var results []llm.ToolResult
		for _, call := range calls {
			fmt.Println("->", call.Name, call.Args)
			results = append(results, llm.ToolResult{CallID: call.ID, Name: call.Name, Content: llm.TextParts("7")})
		}
		req.Messages = append(req.Messages, resp.Message, llm.ToolResults(results...))
	}
	// Output:
	// -> temperature {"city":"Oslo"}
	// It is 7 °C in Oslo.
}

// Ask for a response of a given form and read it into a struct. Package generate infers the schema
// and checks the response.
func ExampleFormat() {
	server := scripted(fakellm.Turn{Text: `{"name":"Ada","born":1815}`})
	defer server.Close()
	client := claude(server.URL)

	resp, err := client.Complete(context.Background(), &llm.Request{Model: "claude-sonnet-4-5",
		Messages: []llm.Message{llm.User("Who wrote the first program?")},
		Format: &llm.Format{Name: "person",
			Schema: []byte(`{"type":"object","properties":{"name":{"type":"string"},"born":{"type":"integer"}},
			"required":["name","born"],"additionalProperties":false}`)}})
	if err != nil {
		log.Fatal(err)
	}
	var person struct {
		Name string
		Born int
	}
	if err := json.Unmarshal([]byte(resp.Text()), &person); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", person)
	// Output: {Name:Ada Born:1815}
}

// Continue a conversation with another vendor's model. Repair removes what only the first vendor
// can read, here its thinking, and gives the open call a result.
func ExampleRepair() {
	server := scripted(
		fakellm.Turn{Thinking: "I should look at the file.", Text: "I look.",
			Calls: []fakellm.Call{{Name: "read_file"}}},
		fakellm.Turn{Text: "Never mind the file: it is about waves."})
	defer server.Close()
	client := claude(server.URL)
	gpt, err := openai.New(openai.Options{APIKey: "another-key", BaseURL: server.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	client.Providers = append(client.Providers, gpt)

	req := &llm.Request{Provider: "anthropic", Model: "claude-sonnet-4-5",
		Messages: []llm.Message{llm.User("What is it about?")},
		Tools:    []llm.ToolDefinition{{Name: "read_file", Parameters: []byte(`{"type":"object"}`)}}}
	for _, next := range []struct{ provider, model string }{{"anthropic", "claude-sonnet-4-5"}, {"openai", "gpt-5.1"}} {
		req.Provider, req.Model = next.provider, next.model
		req.Messages = llm.Repair(req.Messages, next.provider)
		resp, err := client.Complete(context.Background(), req)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", resp.Provider, resp.Text())
		req.Messages = append(req.Messages, resp.Message)
	}
	for _, m := range req.Messages {
		fmt.Printf("%s with %T\n", m.Role, m.Parts[0])
	}
	// Output:
	// anthropic: I look.
	// openai: Never mind the file: it is about waves.
	// user with llm.Text
	// assistant with llm.Text
	// tool with llm.ToolResult
	// assistant with llm.Text
}

// Wrap every request; the first middleware is outermost. Log writes a line for each attempt,
// because Retry is outside of it. The other middleware is our own.
func ExampleMiddleware() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "At last.", Usage: &llm.Usage{Input: 12,
		Output: 3}}),
		fakellm.Options{Faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus,
			Status: http.StatusServiceUnavailable}}}))
	defer server.Close()
	client := claude(server.URL)

	quiet := func(_ []string, a slog.Attr) slog.Attr { // values that differ from run to run
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: quiet}))
	brief := func(next llm.Handler) llm.Handler {
		return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			limited := *req // never change the request itself
			limited.MaxTokens = 100
			return next(ctx, &limited)
		}
	}
	client.Middleware = []llm.Middleware{
		brief,
		llm.Retry(llm.RetryPolicy{Base: time.Millisecond}, nil),
		llm.Log(logger),
	}
	resp, err := client.Complete(context.Background(),
		&llm.Request{Model: "claude-sonnet-4-5", Messages: []llm.Message{llm.User("Are you there?")}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Text())
	// Output:
	// level=WARN msg="model call" provider=anthropic model=claude-sonnet-4-5 error_kind=overloaded status=503 code=api_error
	// level=INFO msg="model call" provider=anthropic model=claude-sonnet-4-5 finish=stop input_tokens=12 cache_read_tokens=0 output_tokens=3
	// At last.
}

// Use a server of your own that speaks Chat Completions, such as Ollama, llama.cpp or vLLM. It
// needs no key.
func Example_localServer() {
	server := scripted(fakellm.Turn{Text: "Hello from next door."})
	defer server.Close()

	// http://localhost:11434/v1
	local, err := openaichat.New(openaichat.Options{Name: "ollama", BaseURL: server.URL + "/v1"})
	if err != nil {
		log.Fatal(err)
	}
	client := &llm.Client{Providers: []llm.Provider{local}}
	resp, err := client.Complete(context.Background(),
		&llm.Request{Model: "qwen3", Messages: []llm.Message{llm.User("Hello?")}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Text())
	// Output: Hello from next door.
}
