package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// resultTool is the name of the tool whose arguments are the structured result.
const resultTool = "final_result"

// resultTool returns the name of the tool that takes the structured result, empty if there is none.
func (p *Policy) resultTool() string {
	if p.Result == nil {
		return ""
	}
	return p.Result.Tool
}

// registryFor returns the registry of a session that gets another policy: with the tool of its
// structured result in place of the one before.
func (s *Session) registryFor(p *Policy) (*tool.Registry, error) {
	registry := s.registry.Clone()
	switch {
	case p.resultTool() != "":
		return registry, registry.Register(resultToolOf(p.Result.Schema))
	case s.state.Policy.resultTool() != "":
		registry.Retire(resultTool,
			"is not there any more, because no structured result is asked for; give the result as text")
	}
	return registry, nil
}

// toolsFor returns the tool definitions of a session that gets another policy, nil if they stay the
// same.
func (s *Session) toolsFor(p *Policy, registry *tool.Registry) ([]llm.ToolDefinition, error) {
	t, ok := registry.Get(p.resultTool())
	if !ok {
		return nil, nil
	}
	others := slices.DeleteFunc(slices.Clone(s.state.tools),
		func(d llm.ToolDefinition) bool { return d.Name == t.Name })
	tools, err := writtenTools(append(others, t.ToolDefinition))
	if err != nil {
		return nil, err
	}
	if sameJSON(tools, s.state.tools) {
		tools = nil
	}
	return tools, nil
}

// resultToolOf returns the tool that takes a structured result of this schema.
func resultToolOf(schema json.RawMessage) tool.Tool {
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

// format returns the format that the answer's text must have, nil if the text is free.
func (p *Policy) format() *llm.Format {
	if p.Result == nil || p.Result.Tool != "" {
		return nil
	}
	return &llm.Format{Name: "result", Schema: p.Result.Schema}
}
