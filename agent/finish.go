package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// askToStop asks BeforeStop. Its prompt becomes a turn; without one the input ends, unless steering has come meanwhile.
func (s *Session) askToStop(ctx context.Context, step Step) error {
	s.mu.Lock()
	in := s.state.Input
	stop := Stop{Session: s.ID(), Agent: s.agentID, Text: in.Final, Reason: step.Reason, Turns: in.Turns, ToolRounds: in.Rounds, Confirms: in.Confirms}
	s.mu.Unlock()
	prompt, err := host(ctx, s, "BeforeStop", s.grace, func() (string, error) { return s.confirm(ctx, stop) })
	switch {
	case isHostError(err):
		return err
	case errors.Is(err, ErrStuck):
		s.warnOfStuck(err)
	case err != nil:
		s.events.emit(&Warning{Code: "before_stop_failed", Text: err.Error()})
	}
	if ctx.Err() != nil {
		return nil // the next decision sees it
	}
	defer s.events.flush()
	return s.update(context.Background(), func() ([]record, error) {
		switch {
		case err == nil && strings.TrimSpace(prompt) != "":
			return []record{turnRecord{Origin: OriginStop, Text: validText(prompt), Source: sourceHook}}, nil
		case step.Reason == Completed && s.state.Queued(Steering) != nil:
			return nil, nil
		}
		return []record{endRecord{Reason: step.Reason}}, nil
	})
}

// registryOf makes the registry of a session that is given these tools: without those whose needs it does not meet, and with the one
// by which a structured result comes.
func (s *Session) registryOf(p *Policy, lists ...[]tool.Tool) (*tool.Registry, error) {
	if p.resultTool() != "" {
		lists = append(lists, []tool.Tool{finalResult(p.Result.Schema)})
	}
	registry := new(tool.Registry)
	for _, tools := range lists {
		if err := registry.Use(tools, s.meets); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
	}
	return registry, nil
}

// meets reports whether the session has what a tool needs.
func (s *Session) meets(t *tool.Tool) bool { return meets(t, s.agents != nil, s.questions != nil) }

// meets reports whether a session with or without subagents and answers to questions has what a tool needs.
func meets(t *tool.Tool, agents, answers bool) bool {
	return (t.Needs != tool.NeedsAgents || agents) && (t.Needs != tool.NeedsAnswers || answers)
}

// resultTool is the name of the tool by whose arguments a structured result comes.
const resultTool = "final_result"

// resultTool returns the tool by which the structured result comes, empty when there is none.
func (p *Policy) resultTool() string {
	if p.Result == nil {
		return ""
	}
	return p.Result.Tool
}

// offers reports whether the model is told of a tool.
func (s *State) offers(name string) bool {
	return slices.ContainsFunc(s.tools, func(d llm.ToolDefinition) bool { return d.Name == name })
}

// withResultTool returns the tools of a session that was resumed with another schema for its result, nil when the model knows it.
func (s *Session) withResultTool(p *Policy) []llm.ToolDefinition {
	t, ok := s.registry.Get(p.resultTool())
	if !ok {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(s.state.tools), func(d llm.ToolDefinition) bool { return d.Name == t.Name })
	tools := append(others, t.ToolDefinition)
	if same, err := sameTools(tools, s.state.tools); err == nil && same {
		return nil
	}
	return tools
}

// finalResult takes the structured result.
func finalResult(schema json.RawMessage) tool.Tool {
	return tool.Tool{
		ToolDefinition: llm.ToolDefinition{Name: resultTool, Parameters: schema,
			Description: "Ends the task. The arguments are its result: call it once, when everything is done."},
		Access: func(string) (tool.Access, error) { return tool.Access{Effect: tool.ReadOnly}, nil },
		Run: func(_ context.Context, call *tool.Call) (tool.Result, error) {
			result := tool.Text("The result was taken.")
			result.Done, result.Final = true, call.Args
			return result, nil
		},
	}
}

// format asks the provider for the structured result, where the answer's text is it.
func (p *Policy) format() *llm.Format {
	if p.Result == nil || p.Result.Tool != "" {
		return nil
	}
	return &llm.Format{Name: "result", Schema: p.Result.Schema}
}
