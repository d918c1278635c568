package longsession

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// Write runs a session with one input and this many rounds, and keeps its journal in the store
// under an id. Each round has a text, one call with effects and a result of some lines.
func Write(ctx context.Context, store journal.Store, id string, rounds int) (err error) {
	dir, err := os.MkdirTemp("", "longsession-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	var memory journal.Memory // a session on a disk would wait for it twice a round
	o := Options(local, rounds)
	o.ID, o.Journal = id, &memory
	s, err := agent.New(ctx, o)
	if err != nil {
		return err
	}
	result, err := s.Submit(ctx, "Rename the field in every file of the project and run the tests after each change.")
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if result.ToolRounds != rounds {
		return fmt.Errorf("the session ended after %d rounds: %s", result.ToolRounds, result.Reason)
	}
	return keep(ctx, store, id, &memory)
}

// keep copies a log into a store.
func keep(ctx context.Context, store journal.Store, id string, from journal.Reader) (err error) {
	log, err := store.Create(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var batch []journal.Record
	for r, err := range from.Records(ctx, 1) {
		if err != nil {
			return err
		}
		if batch = append(batch, r); r.N == 1 { // a header comes with the next record
			continue
		}
		if err := log.Append(ctx, log.Len()+1, batch...); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return nil
}

// Options returns the options of a session whose model makes one call in each of its first rounds
// and then is done. With no rounds, they are those for resuming such a session.
func Options(e env.Environment, rounds int) agent.Options {
	return agent.Options{Client: &llm.Client{Providers: []llm.Provider{&model{rounds: rounds}}}, Env: e,
		System:  strings.Repeat("You work on the files of a project. ", 400),
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: tools()}}
}

type args struct {
	Command string `json:"command" jsonschema:"the command to run"`
}

// tools returns a tool that is called, and as many others as a profile has.
func tools() []tool.Tool {
	all := make([]tool.Tool, 12)
	for i := range all {
		definition := llm.ToolDefinition{Name: fmt.Sprintf("tool_%d", i),
			Description: strings.Repeat("Runs a command and returns its output. ", 20)}
		t := tool.New(definition, func(_ context.Context, call *tool.Call, a args) (tool.Result, error) {
			return tool.Text(strings.Repeat(a.Command+": \"ok\"\n", 20)), nil
		})
		all[i] = tool.WithAccess(t, func(a args) tool.Access {
			return tool.Access{Effect: tool.Writes, Command: a.Command}
		})
	}
	return all
}

// model is the scripted model.
type model struct{ asked, rounds int }

// Name implements [llm.Provider].
func (m *model) Name() string { return "test" }

// Stream implements [llm.Provider].
func (m *model) Stream(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	m.asked++
	text := fmt.Sprintf("The tests of package %d pass. Next comes the \"other\" one:\n\n- rename the field\n- run "+
		"its tests", m.asked)
	message := llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: text}}}
	finish := llm.Finish{Reason: llm.FinishStop}
	if m.asked <= m.rounds {
		finish.Reason = llm.FinishToolCalls
		message.Parts = append(message.Parts, llm.ToolCall{ID: fmt.Sprintf("call_%d", m.asked), Name: "tool_0",
			Args: fmt.Sprintf(`{"command":"sed -i s/old/new/ file_%d.go"}`, m.asked)})
	}
	resp := &llm.Response{ID: fmt.Sprintf("response_%d", m.asked), Provider: "test", Model: "model-1", Message: message,
		Finish: finish, Usage: llm.Usage{Input: 100, Output: 50}}
	return func(yield func(llm.StreamEvent, error) bool) {
		if yield(llm.StreamEvent{Type: llm.EventTextDelta, Delta: text}, nil) {
			yield(llm.StreamEvent{Type: llm.EventFinish, Response: resp}, nil)
		}
	}
}
