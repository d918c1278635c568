// Customtool gives the agent a tool of its own: a Go function that looks up a ticket in
// tickets.json.
//
//	$ customtool "What is OPS-17 about?"
//	The ticket says: OPS-17, open: Timeout when saving large orders
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// lookup holds the arguments of the tool. The model sees their schema, made from the tags.
type lookup struct {
	Ticket string `json:"ticket" jsonschema:"the ticket's key, such as OPS-17"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func showTicket(ctx context.Context, call *tool.Call, args lookup) (tool.Result, error) {
	file, err := call.Env.Open(ctx, "tickets.json")
	if err != nil {
		return tool.Result{}, err
	}
	defer file.Close()
	var tickets map[string]struct{ State, Title string }
	if err := json.NewDecoder(file).Decode(&tickets); err != nil {
		return tool.Result{}, err
	}
	ticket, ok := tickets[args.Ticket]
	if !ok { // The model reads this and can try another key.
		return tool.Errorf("there is no ticket %q", args.Ticket), nil
	}
	return tool.Text(fmt.Sprintf("%s, %s: %s", args.Ticket, ticket.State, ticket.Title)), nil
}

func run(ctx context.Context, task string) error {
	ticket := tool.New(llm.ToolDefinition{Name: "ticket", Description: "Shows the state and the title of a ticket."},
		showTicket)
	// Declaring what a call reads lets calls without conflicts run at the same time.
	ticket = tool.WithAccess(ticket, func(lookup) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{"tickets.json"}}
	})
	session, err := attractor.Open(ctx,
		attractor.Config{Options: func(o *agent.Options) { o.Tools = append(o.Tools, ticket) }})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	fmt.Println(result.Text) // there is a result, also beside an error
	return err
}
