package agent_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// A budget has ended an input. The host raises the budget and continues the input.
func ExampleSession_Set() {
	ctx := context.Background()
	o := scripted(llmtest.Calls(readCall), llmtest.Text("It says wrold."))
	o.MaxTurns = 1
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "read the greeting")
	fmt.Println(result.Reason, err)

	policy := s.Policy()
	policy.MaxTurns = 10
	if err := s.Set(ctx, agent.Settings{Policy: &policy}); err != nil {
		log.Fatal(err)
	}
	result, err = s.Continue(ctx)
	fmt.Println(result.Reason, result.Text, err)
	// Output:
	// max_turns <nil>
	// completed It says wrold. <nil>
}

// Steering can have an image in addition to its text. Here it waits for the next task, since the
// session is idle.
func ExampleSession_Steer() {
	ctx := context.Background()
	s, err := agent.New(ctx, scripted(llmtest.Text("I see it.")))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	screenshot := llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG)} // the bytes of the file
	if err := s.Steer(ctx, "this is how it looks", agent.Attach(screenshot)); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Submit(ctx, "what is wrong with the page?"); err != nil {
		log.Fatal(err)
	}
	for _, turn := range s.History() {
		fmt.Println(turn.Kind, turn.Message.Parts.Text(), len(turn.Message.Parts), "parts")
	}
	// Output:
	// user what is wrong with the page? 1 parts
	// steering this is how it looks 2 parts
	// assistant I see it. 1 parts
}

// Repeated calls end the input if LoopPolicy.EndInput is set.
func ExampleLoopPolicy() {
	ctx := context.Background()
	o := scripted(slices.Repeat([]llmtest.Step{llmtest.Calls(readCall)}, 10)...)
	o.Loops.EndInput = true
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "read the greeting")
	fmt.Println(result.Reason, "after", result.ToolRounds, "rounds", err)
	// Output:
	// loop after 5 rounds <nil>
}

// A fork continues from an earlier turn of a session, and leaves the session unchanged.
func ExampleFork() {
	ctx := context.Background()
	store := journal.NewMemoryStore(false) // or journal.NewDir(path)
	o := scripted(llmtest.Text("Hello."), llmtest.Text("In French: Bonjour."), llmtest.Text("In German: Hallo."))
	o.ID = "s-1"
	s, err := agent.Open(ctx, store, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, task := range []string{"say hello", "in French"} {
		if _, err := s.Submit(ctx, task); err != nil {
			log.Fatal(err)
		}
	}

	o.ID = "s-2"
	if o.Journal, err = agent.Fork(ctx, store, "s-1", 2, o.ID, ""); err != nil {
		log.Fatal(err)
	}
	fork, err := agent.Resume(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer fork.Close()
	if _, err := fork.Submit(ctx, "in German"); err != nil {
		log.Fatal(err)
	}
	for _, turn := range fork.History() {
		fmt.Println(turn.Message.Parts.Text())
	}
	// Output:
	// say hello
	// Hello.
	// in German
	// In German: Hallo.
}

// The command's --json prints one event per line. A program that reads them gets the same values as
// OnEvent.
func ExampleUnmarshalEvent() {
	line := `{"kind":"TOOL_CALL_END","session_id":"s-1","seq":7,"call_id":"c1","name":"read_file","output":"Hello, wrold!","duration_ms":3}`
	ev, err := agent.UnmarshalEvent([]byte(line))
	if err != nil {
		log.Fatal(err)
	}
	switch e := ev.(type) {
	case *agent.ToolCallEnd:
		fmt.Println(e.Seq, e.Name, e.Output)
	}
	// Output:
	// 7 read_file Hello, wrold!
}
