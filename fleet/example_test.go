package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"os"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	claude "github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/tool"
)

// A worker and a client share an engine. This one is in memory; that of package natsfleet is
// reached from other machines, too.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	model := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "The tests pass now."}),
		fakellm.Options{}))
	defer model.Close()
	provider, err := wire.New(wire.Options{APIKey: "key", BaseURL: model.URL})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "workspaces-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	workspaces, err := workspace.New(workspace.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	engine := memfleet.New(memfleet.Options{})
	defer engine.Close()

	worker := fleet.Worker{Engine: engine, Workspaces: workspaces,
		Host: fleet.Sessions(func(context.Context, *fleet.Job) (agent.Options, error) {
			return agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile()},
				nil
		})}
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()

	space, err := engine.Open(ctx, fleet.DefaultTenant)
	if err != nil {
		log.Fatal(err)
	}
	client := fleet.NewClient(space)
	if _, _, err := client.Submit(ctx, fleet.Task{ID: "fix-1", Prompt: "Make the tests pass."}); err != nil {
		log.Fatal(err)
	}
	status, err := client.Wait(ctx, "fix-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.State, "-", status.Result.Text)

	cancel() // the worker gives away what it has
	fmt.Println(<-ended)
	// Output:
	// done - The tests pass now.
	// <nil>
}

// work runs a worker whose model follows a script, and which asks before each command. It returns
// the way to end it.
func work(engine fleet.Engine, turns ...fakellm.Turn) (end func() error) {
	dir, err := os.MkdirTemp("", "workspaces-")
	if err != nil {
		log.Fatal(err)
	}
	workspaces, err := workspace.New(workspace.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	model := httptest.NewServer(fakellm.New(fakellm.Script(turns...), fakellm.Options{}))
	provider, err := wire.New(wire.Options{APIKey: "key", BaseURL: model.URL})
	if err != nil {
		log.Fatal(err)
	}
	worker := fleet.Worker{Engine: engine, Workspaces: workspaces,
		Host: fleet.Sessions(func(context.Context, *fleet.Job) (agent.Options, error) {
			o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile()}
			o.Authorize = func(context.Context, tool.Request) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Ask}, nil
			}
			return o, nil
		})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	return func() error {
		cancel()
		err := <-ended
		model.Close()
		return errors.Join(err, os.RemoveAll(dir))
	}
}

// Watch a task, and answer what it asks. Anybody who may open the tenant's space can do so, from
// any machine, also while the task has no worker.
func ExampleClient_Watch() {
	ctx := context.Background()
	engine := memfleet.New(memfleet.Options{})
	defer engine.Close()
	end := work(engine, fakellm.Turn{Calls: []fakellm.Call{{Name: "shell",
		Args: []byte(`{"command":"echo It is live."}`)}}}, fakellm.Turn{Text: "Published."})

	space, err := engine.Open(ctx, fleet.DefaultTenant)
	if err != nil {
		log.Fatal(err)
	}
	client := fleet.NewClient(space)
	if _, _, err := client.Submit(ctx, fleet.Task{ID: "publish-1", Prompt: "Publish it."}); err != nil {
		log.Fatal(err)
	}
	for update, err := range client.Watch(ctx, "publish-1", 1) {
		switch {
		case err != nil:
			log.Fatal(err)
		case update.Status != nil && update.Status.Waits:
			for ask, err := range client.Asked(ctx, "publish-1") {
				if err != nil {
					log.Fatal(err)
				}
				fmt.Printf("May it run %s %s?\n", ask.Tool, ask.Args)
				if err := client.Answer(ctx, ask.Task, ask.ID, fleet.Answer{Allow: true, By: "Ada"}); err != nil {
					log.Fatal(err)
				}
			}
		case update.Status != nil && update.Status.State == fleet.Done:
			fmt.Println(update.Status.Result.Text)
		case update.Event != nil && update.N > 0: // a fact; the others are live pieces
			event, err := agent.UnmarshalEvent(update.Event)
			if err != nil {
				log.Fatal(err)
			}
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Print(e.Output)
			}
		}
	}
	if err := end(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// May it run shell {"command":"echo It is live."}?
	// It is live.
	// Published.
}
