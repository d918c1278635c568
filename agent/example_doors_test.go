package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// A middleware prevents all changes, and records each call that wanted one.
func ExampleOptions_middleware() {
	ctx := context.Background()
	o := scripted(llmtest.Calls(readCall), llmtest.Calls(fixCall), llmtest.Text("I may not change it."))
	o.Middleware = []tool.Middleware{func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if c.Access.Effect == tool.ReadOnly {
				return next(ctx, c)
			}
			wanted, err := json.Marshal(c.Access.Paths)
			if err == nil {
				err = c.Session.Note(ctx, "example.wanted", wanted, "")
			}
			return tool.Errorf("Files cannot be changed today. Say what you would change."), err
		}
	}}
	o.OnEvent = func(ev agent.Event) {
		if note, ok := ev.(*agent.NoteWritten); ok {
			fmt.Println(note.Note, string(note.Data))
		}
	}
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "fix the greeting")
	fmt.Println(result.Text, err)
	// Output:
	// example.wanted ["/work/greet.txt"]
	// I may not change it. <nil>
}

// BeforeInput refuses or changes a message before it is recorded.
func ExampleOptions_beforeInput() {
	ctx := context.Background()
	o := scripted(llmtest.Text("I see."))
	o.BeforeInput = func(_ context.Context, m agent.Message) (agent.Message, error) {
		if strings.Contains(m.Text, "BEGIN PRIVATE KEY") {
			return m, errors.New("keys do not belong into a conversation")
		}
		m.Text = strings.ReplaceAll(m.Text, "hunter2", "[secret]")
		return m, nil
	}
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	_, err = s.Submit(ctx, "-----BEGIN PRIVATE KEY-----")
	fmt.Println(err)
	if _, err := s.Submit(ctx, "the password is hunter2"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.History()[0].Message.Parts.Text())
	// Output:
	// agent: the message was refused: keys do not belong into a conversation
	// the password is [secret]
}

// Tools join a running session, for example those of a server that has just been connected.
func ExampleSession_AddTools() {
	ctx := context.Background()
	s, err := agent.New(ctx, scripted(
		llmtest.Calls(llmtest.Call("ticket", `{"key":"OPS-17"}`)),
		llmtest.Text("It is about the greeting.")))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	type lookup struct {
		Key string `json:"key" jsonschema:"the ticket's key, such as OPS-17"`
	}
	ticket := tool.New(llm.ToolDefinition{Name: "ticket", Description: "Shows a ticket."},
		func(_ context.Context, _ *tool.Call, args lookup) (tool.Result, error) {
			fmt.Println("looked up", args.Key)
			return tool.Text("The greeting is misspelled."), nil
		})
	if err := s.AddTools(ctx, ticket); err != nil {
		log.Fatal(err)
	}
	result, err := s.Submit(ctx, "what is OPS-17 about?")
	fmt.Println(result.Text, err)
	if err := s.RemoveTools(ctx, "ticket"); err != nil {
		log.Fatal(err)
	}
	for _, t := range s.Tools() {
		fmt.Println(t.Name)
	}
	// Output:
	// looked up OPS-17
	// It is about the greeting. <nil>
	// read_file
	// edit_file
}

// Two sessions share one budget. A ledger of your own can keep it in a database, for sessions of
// several processes.
func ExampleLedger() {
	ctx := context.Background()
	shared := agent.NewLedger(agent.Budget{Tokens: 4_000})
	for _, answer := range []string{strings.Repeat("many words ", 1_400), "never said"} {
		o := scripted(llmtest.Text(answer))
		o.Ledger = shared
		s, err := agent.New(ctx, o)
		if err != nil {
			log.Fatal(err)
		}
		result, err := s.Submit(ctx, "tell me everything")
		if err := errors.Join(err, s.Close()); err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Reason, result.Turns)
	}
	// Output:
	// completed 1
	// budget_tokens 0
}
