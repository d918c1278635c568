// Ownprovider works with a company's own model server, which speaks Chat Completions. ACME_URL has
// to be set. A server with a wire format of its own is an llm.Provider that is written as
// docs/adding/provider.md shows.
//
//	$ ownprovider "What does this project do?"
//	acme/writer-1: It greets whoever runs it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/openaichat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	acme, err := openaichat.New(openaichat.Options{Name: "acme", BaseURL: os.Getenv("ACME_URL")})
	if err != nil {
		return err
	}
	session, err := attractor.Open(ctx, attractor.Config{Providers: []llm.Provider{acme}, Model: "acme/writer-1",
		ContextWindow: 128_000})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", session.Model(), result.Text)
	return nil
}
