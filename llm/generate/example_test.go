package generate_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/generate"
)

// claude returns a client of a scripted server that stands in for the vendor's API.
func claude(turns ...fakellm.Turn) (client *llm.Client, stop func()) {
	server := httptest.NewServer(fakellm.New(fakellm.Script(turns...), fakellm.Options{}))
	p, err := anthropic.New(anthropic.Options{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	return &llm.Client{Providers: []llm.Provider{p}}, server.Close
}

// A Go function becomes a tool. The loop runs it and gives its result to the model.
func ExampleGenerate() {
	client, stop := claude(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "temperature", Args: []byte(`{"city":"Oslo"}`)},
			{Name: "temperature", Args: []byte(`{"city":"Rome"}`)}}},
		fakellm.Turn{Text: "Rome is warmer."})
	defer stop()

	type args struct {
		City string `json:"city" jsonschema:"the city's English name"`
	}
	temperature := generate.Func("temperature", "Says how warm a city is, in degrees Celsius.",
		func(_ context.Context, a args) (int, error) {
			return map[string]int{"Oslo": 7, "Rome": 19}[a.City], nil
		})
	res, err := generate.Generate(context.Background(), client, generate.Options{Model: "claude-sonnet-4-5",
		Prompt: "Which is warmer, Oslo or Rome?", Tools: []generate.Tool{temperature}})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range res.Steps[0].Results {
		fmt.Println("->", r.Content.Text())
	}
	fmt.Println(res.Text())
	// Output:
	// -> 7
	// -> 19
	// Rome is warmer.
}

// Read the text while it is generated, then the result.
func ExampleStream() {
	client, stop := claude(fakellm.Turn{Text: "Small waves, in the end, wear down the cliff."})
	defer stop()

	s := generate.Stream(context.Background(), client,
		generate.Options{Model: "claude-sonnet-4-5", Prompt: "One sentence about persistence."})
	for text, err := range s.Text() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", text)
	}
	res, err := s.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(res.Steps), res.Response().Finish.Reason)
	// Output:
	// "Small waves, in "
	// "the end, wear "
	// "down the cliff."
	// 1 stop
}

// Ask for a Go struct. Its schema is inferred, and the response is checked against it.
func ExampleObject() {
	client, stop := claude(fakellm.Turn{Calls: []fakellm.Call{{Name: "answer",
		Args: []byte(`{"name":"Ada","born":1815}`)}}})
	defer stop()

	type person struct {
		Name string `json:"name"`
		Born int    `json:"born" jsonschema:"the year"`
	}
	ada, _, err := generate.Object[person](context.Background(), client,
		generate.Options{Model: "claude-sonnet-4-5", Prompt: "Who wrote the first program?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", ada)
	// Output: {Name:Ada Born:1815}
}
