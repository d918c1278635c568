package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// ListAgents returns a [tool.Tool].ForAgents, which adds the agents that the model can choose to
// the description of def.
func ListAgents(def llm.ToolDefinition) func(agents []tool.AgentKind) llm.ToolDefinition {
	return func(agents []tool.AgentKind) llm.ToolDefinition {
		var b strings.Builder
		b.WriteString(def.Description + "\n\nAgents that you can choose by name:")
		for _, a := range agents {
			fmt.Fprintf(&b, "\n- %s: %s", a.Name, strings.Join(strings.Fields(a.Description), " "))
		}
		listed := def
		listed.Description = b.String()
		return listed
	}
}

// StartAgent starts an agent for a call of a dialect's tool. general is the tool's name for an
// agent like the calling one, and parameter the one that names the agent.
func StartAgent(ctx context.Context, call *tool.Call, task tool.AgentTask,
	general, parameter string) (tool.AgentStatus, error) {
	agents := sessionOf(call).Agents()
	if agents == nil {
		return tool.AgentStatus{}, errNoAgents()
	}
	if strings.TrimSpace(task.Task) == "" {
		return tool.AgentStatus{}, errors.New("prompt is empty; say what the agent is to do")
	}
	if task.Agent == general {
		task.Agent = ""
	}
	status, err := agents.Spawn(ctx, task)
	var unknown *tool.UnknownAgentError
	if errors.As(err, &unknown) {
		return status, fmt.Errorf("there is no agent %q; call again with one of these as %s: %s", task.Agent, parameter,
			strings.Join(append([]string{general}, unknown.Defined...), ", "))
	}
	return status, err
}

// errNoAgents returns the error of a call in a session that has no subagents.
func errNoAgents() error { return errors.New("this session has no subagents; do the work yourself") }

// AgentResult returns the result of a call that returns the report of an agent, with a text for the
// model.
func AgentResult(id string, report tool.AgentResult, text string) (tool.Result, error) {
	result := tool.Text(text)
	result.IsError = !report.Success
	var err error
	result.Structured, err = json.Marshal(AgentReport{AgentID: id, Success: report.Success,
		TurnsUsed: report.TurnsUsed})
	return result, err
}
