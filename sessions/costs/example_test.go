package costs_test

import (
	"context"
	"fmt"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/sessions/costs"
)

func ExampleRead() {
	ctx := context.Background()
	log := new(journal.Memory)
	model := llmtest.NewProvider("test", llmtest.Respond(llm.Response{Usage: llm.Usage{Input: 1000, Output: 10},
		Message: llm.Message{Parts: llm.TextParts("Hello.")}}))
	session, err := agent.New(ctx, agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}, Models: prices},
		Env: envtest.NewMemory(nil), Journal: log, System: "You are brief, but never rude to anybody.",
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	if _, err := session.Submit(ctx, "Greet me."); err != nil {
		fmt.Println(err)
		return
	}
	sum, err := costs.Read(ctx, log, prices)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("in all: $%.5f\n", sum.Total.USD)
	for _, p := range sum.Parts() {
		fmt.Printf("%s: $%.5f\n", p, p.USD)
	}
	// Output:
	// in all: $0.00105
	// the system prompt: $0.00082
	// the message of turn 1: $0.00018
}
