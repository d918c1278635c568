package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// scripted returns the options of the examples' sessions: a model with scripted answers, and files
// in memory. A real program uses a client of llm/providers, an env.Local and a profile of
// profile/anthropic, openai or gemini instead.
func scripted(answers ...llmtest.Step) agent.Options {
	return agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", answers...)}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You fix spelling.",
			Tools: []tool.Tool{coding.ReadFile(), coding.EditFile()}},
		Env: envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}),
	}
}

// readCall and fixCall are calls of the examples' models.
var (
	readCall = llmtest.Call("read_file", `{"file_path":"greet.txt"}`)
	fixCall  = llmtest.Call("edit_file", `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)
)

// A session does a task while its host prints events. The model is scripted, and the files are in
// memory: a real program has a client of llm/providers, one of the profiles, and an env.Local.
func Example() {
	ctx := context.Background()
	s, err := agent.New(ctx, agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", llmtest.Calls(readCall),
			llmtest.Calls(fixCall), llmtest.Text("Fixed."))}},
		Profile: profile.Profile{Provider: "test", Model: "model-1", Prompt: "You fix spelling.",
			Tools: []tool.Tool{coding.ReadFile(), coding.EditFile()}},
		Env:    envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}),
		Policy: agent.Policy{MaxTurns: 50, Budget: agent.Budget{Tokens: 100_000}},
		OnEvent: func(ev agent.Event) {
			if e, ok := ev.(*agent.ToolCallEnd); ok {
				for _, change := range e.Changes {
					fmt.Println(e.Name, change.Kind, change.Path)
				}
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "fix the greeting")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Reason, result.Text, result.Turns, "turns")
	// Output:
	// edit_file modified /work/greet.txt
	// completed Fixed. 3 turns
}

// The events of one task are a loop. Leaving it early would interrupt the task.
func ExampleSession_Run() {
	ctx := context.Background()
	s, err := agent.New(ctx, scripted(llmtest.Calls(readCall), llmtest.Calls(fixCall), llmtest.Text("Fixed.")))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for event, err := range s.Run(ctx, "fix the greeting") {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agent.ToolCallStart:
			fmt.Println(e.Name)
		case *agent.AssistantTextEnd:
			fmt.Println(e.Text)
		}
	}
	fmt.Println(s.Result().Reason)
	// Output:
	// read_file
	// edit_file
	// Fixed.
	// completed
}

// A program that may be killed at any time is simply run again: it goes on with its session, and a
// task with a key is given only once.
func ExampleOpen() {
	ctx := context.Background()
	store := journal.NewMemoryStore(false) // in a real program, journal.NewDir(path)
	o := scripted(llmtest.Calls(readCall), llmtest.Text("It says wrold."))
	o.ID = "proofreading"
	for range 2 { // the second time stands for a second process
		s, err := agent.Open(ctx, store, o)
		if err != nil {
			log.Fatal(err)
		}
		result, err := s.Submit(ctx, "read the greeting", agent.Key("read"))
		if err := errors.Join(err, s.Close()); err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Text, len(s.History()), "turns")
	}
	// Output:
	// It says wrold. 4 turns
	// It says wrold. 4 turns
}

// When a model call has finally failed, a session continues with another model, also of another
// provider.
func ExampleOptions_fallbacks() {
	ctx := context.Background()
	o := scripted(llmtest.Calls(fixCall), llmtest.Error(llm.Errorf(llm.ErrQuota, "the credit is used up")))
	o.Client.Providers = append(o.Client.Providers, llmtest.NewProvider("other", llmtest.Text("Fixed.")))
	o.Fallbacks = agent.FallbackPolicy{
		Models:      []agent.FallbackModel{{Provider: "other", Model: "model-2"}},
		ReturnAfter: 10 * time.Minute,
	}
	o.OnEvent = func(ev agent.Event) {
		if e, ok := ev.(*agent.ModelChanged); ok {
			fmt.Printf("%s failed: %s\n", e.From, e.Text)
		}
	}
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Submit(ctx, "fix the greeting"); err != nil {
		log.Fatal(err)
	}
	for _, turn := range s.History() {
		if turn.Kind == agent.TurnAssistant {
			fmt.Println(turn.Message.Model)
		}
	}
	// Output:
	// test/model-1 failed: the credit is used up
	// model-1
	// model-2
}

// A task can have a Go value as its result.
func ExampleDo() {
	type greeting struct {
		Text    string `json:"text" jsonschema:"the greeting as it is now"`
		Correct bool   `json:"correct"`
	}
	o := scripted(llmtest.Calls(readCall),
		llmtest.Calls(llmtest.Call("final_result", `{"text":"Hello, wrold!","correct":false}`)))
	found, result, err := agent.Do[greeting](context.Background(), o, "is the greeting spelled right?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %v, %d turns\n", found.Text, found.Correct, result.Turns)
	// Output:
	// "Hello, wrold!" false, 2 turns
}

// An engine drives a session step by step. Each step could run in another process, because its
// outcome is in the journal.
func ExampleSession_Advance() {
	ctx := context.Background()
	s, err := agent.New(ctx, scripted(llmtest.Calls(readCall), llmtest.Text("It says wrold.")))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(ctx, "read the greeting", agent.Key("task-17")); err != nil {
		log.Fatal(err)
	}
	for {
		step, err := s.Advance(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(step.Act)
		if step.Act == agent.ActRest {
			break
		}
	}
	fmt.Println(s.Result().Text)
	// Output:
	// call_model
	// run_calls
	// call_model
	// end_input
	// rest
	// It says wrold.
}

// A session is given away in the middle of its task, and continues where its journal is opened
// next.
func ExampleSession_Release() {
	ctx := context.Background()
	store := journal.NewMemoryStore(false) // or journal.NewDir(path)
	work := scripted(llmtest.Calls(readCall), llmtest.Text("It says wrold."))

	work.ID = "s-1"
	first, err := agent.Open(ctx, store, work)
	if err != nil {
		log.Fatal(err)
	}
	if err := first.Begin(ctx, "read the greeting"); err != nil {
		log.Fatal(err)
	}
	step, err := first.Advance(ctx)
	fmt.Println(step.Act, err)
	if err := first.Release(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = first.Advance(ctx)
	fmt.Println("released:", errors.Is(err, agent.ErrReleased))

	second, err := agent.Open(ctx, store, work)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	result, err := second.Continue(ctx)
	fmt.Println(result.Text, err)
	// Output:
	// call_model <nil>
	// released: true
	// It says wrold. <nil>
}
