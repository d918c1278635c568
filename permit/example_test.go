package permit_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// People who are elsewhere answer by the id of what is asked. A session makes the calls of
// Authorize and Approve by itself.
func ExampleInbox() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	set, err := rules.Load(rules.Dirs{Work: local.WorkDir()})
	if err != nil {
		log.Fatal(err)
	}

	asks := make(chan permit.Ask, 100) // for a page that shows them
	inbox := permit.NewInbox(func(ask permit.Ask) { asks <- ask }, nil)
	gate := permit.NewGate(permit.ModeAsk, set, local)
	gate.Ask = inbox.Approve
	go func() { // what the page's handler does
		ask := <-asks
		fmt.Println("May it run", ask.Approval.Access.Command)
		if err := inbox.Decide(ask.ID, permit.Answer{Reason: "not on a Friday"}); err != nil {
			log.Print(err)
		}
	}()

	registry, err := tool.NewRegistry(coding.Shell(0))
	if err != nil {
		log.Fatal(err)
	}
	c := tool.Call{Env: local}
	call, asked := registry.Authorize(ctx,
		registry.Prepare(llm.ToolCall{ID: "1", Name: "shell", Args: `{"command":"make release"}`}), c, gate.Authorize)
	if asked {
		call, _ = registry.Authorize(ctx, call, c, gate.Approve)
	}
	fmt.Println(call.Outcome.Model.Text())
	// Output:
	// May it run make release
	// Error: the call of shell was not permitted: not on a Friday
}
