package providers_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/llm/providertest"
)

// TestSmoke runs the steps of the client's specification (section 8.10) against the real APIs, for
// each provider whose key is in the environment. It costs a few cents.
//
//	ANTHROPIC_API_KEY=... OPENAI_API_KEY=... GEMINI_API_KEY=... go test -v -run TestSmoke ./llm/providers
//
// ATTRACTOR_SMOKE_MODEL_<PROVIDER> names another model than the newest one of the catalog.
func TestSmoke(t *testing.T) {
	for _, v := range vendors() {
		t.Run(v.name, func(t *testing.T) {
			kind, err := providers.Find(v.name)
			if err != nil {
				t.Fatal(err)
			}
			config, _ := kind.Config(os.Getenv)
			if config.APIKey == "" {
				t.Skipf("no key: set %s to run this against the real API", strings.Join(kind.KeyVars, " or "))
			}
			p, err := kind.New(config)
			if err != nil {
				t.Fatal(err)
			}
			model := os.Getenv("ATTRACTOR_SMOKE_MODEL_" + strings.ToUpper(v.name))
			if newest, ok := catalog.New().Latest(v.name, "reasoning", "image"); model == "" && ok {
				model = newest.ID
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			smoke(ctx, t, &llm.Client{Providers: []llm.Provider{p}, Models: catalog.New().Get}, v.name, model)
		})
	}
}

func smoke(ctx context.Context, t *testing.T, client *llm.Client, provider, model string) {
	t.Run("text", func(t *testing.T) {
		r, err := generate.Generate(ctx, client, generate.Options{Model: model, Prompt: "Say hello in one sentence.",
			MaxTokens: 2000})
		if err != nil || r.Text() == "" || r.Usage.Input == 0 || r.Usage.Output == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	})
	t.Run("stream", func(t *testing.T) {
		events, err := providertest.Contract(t, client.Stream(ctx,
			&llm.Request{Model: model, MaxTokens: 2000, Messages: []llm.Message{llm.User("Write a haiku.")}}))
		if err != nil || events[len(events)-1].Response.Text() == "" {
			t.Fatal(err)
		}
	})
	t.Run("parallel tools", func(t *testing.T) {
		var ran []string
		r, err := generate.Generate(ctx, client, generate.Options{Model: model,
			Prompt: "What is the weather in San Francisco and in New York? Ask for both.",
			Tools:  []generate.Tool{weather(&ran)}, MaxToolRounds: generate.Rounds(3), MaxTokens: 4000})
		slices.Sort(ran)
		if err != nil || !strings.Contains(fmt.Sprint(ran), "New York") || !strings.Contains(fmt.Sprint(ran),
			"San Francisco") || r.Text() == "" {
			t.Fatalf("ran for %q: %v", ran, err)
		}
	})
	t.Run("image", func(t *testing.T) {
		r, err := client.Complete(ctx, &llm.Request{Model: model, MaxTokens: 2000, Messages: []llm.Message{
			llm.User("What colour is this? One word.", llm.Media{MIME: "image/png", Data: redSquare()})}})
		if err != nil || !strings.Contains(strings.ToLower(r.Text()), "red") {
			t.Fatalf("%+v, %v", r, err)
		}
	})
	t.Run("structured output", func(t *testing.T) {
		type person struct {
			Name string `json:"name"`
			Age  int    `json:"age"`
		}
		got, _, err := generate.Object[person](ctx, client,
			generate.Options{Model: model, Prompt: "Alice is 30 years old. Who is it?", MaxTokens: 2000})
		if err != nil || got != (person{"Alice", 30}) {
			t.Fatalf("%+v, %v", got, err)
		}
	})
	t.Run("reasoning", func(t *testing.T) {
		r, err := client.Complete(ctx, &llm.Request{Model: model, Effort: "high", MaxTokens: 16000,
			Messages: []llm.Message{llm.User("How many primes are there below 60?")}})
		if err != nil || !strings.Contains(r.Text(), "17") {
			t.Fatalf("%+v, %v", r, err)
		}
	})
	t.Run("wrong model", func(t *testing.T) {
		_, err := client.Complete(ctx, &llm.Request{Provider: provider, Model: "no-such-model-anywhere",
			Messages: []llm.Message{llm.User("x")}})
		if err == nil || llm.Retryable(err) {
			t.Fatalf("%v", err)
		}
	})
}
