package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type invokeAgentArgs struct {
	AgentName       string `json:"agent_name"`
	Prompt          string `json:"prompt"`
	WaitForPrevious bool   `json:"wait_for_previous"`
}

// invokeAgentParameters returns the parameters of invoke_agent, whose agent_name is described by
// names.
func invokeAgentParameters(names string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(invokeAgentSchema, names))
}

const invokeAgentSchema = `{
	"type": "object",
	"properties": {
		"agent_name": {"type": "string", "description": "%s"},
		"prompt": {"type": "string", "description": "What the agent is to do, with everything that it has to know: it sees nothing of this conversation."},
		"wait_for_previous": {"type": "boolean", "description": "Run this call after the ones before it in the same response. Default: false."}
	},
	"required": ["agent_name", "prompt"]
}`

// generalist is the agent that always exists. gemini-cli has one of this name too.
const generalist = "generalist"

// invokeAgent returns the tool invoke_agent. It starts a subagent, waits for it and closes it,
// because this dialect has no tool to talk to it again.
func invokeAgent() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "invoke_agent",
		Description: "Hands a task to an agent that works by itself, with the same tools on the same files, and returns its final report. Several calls " +
			"in one response run at the same time.",
		Parameters: invokeAgentParameters("There is one agent, generalist."),
	}, runAgent)
	def := t.ToolDefinition
	t.ForAgents = func(agents []tool.AgentKind) llm.ToolDefinition {
		listed := def
		listed.Description += "\n\n" + coding.ListAgents(agents)
		listed.Parameters = invokeAgentParameters(
			"The name of an agent in the list of this tool's description, or generalist, an agent like you.")
		return listed
	}
	t.Needs, t.Instead = tool.NeedsAgents, coding.Agents()[0].Instead
	t.Limit = tool.Limit{Chars: 20_000, Keep: tool.KeepHeadTail} // as for the shared tools for agents
	t.Guidance = coding.SpawnGuidance
	return tool.WithAccess(t, func(args invokeAgentArgs) tool.Access {
		access := tool.Access{Effect: tool.Writes, Command: fmt.Sprintf("invoke_agent %s: %s", args.AgentName,
			args.Prompt), About: args.AgentName}
		if args.WaitForPrevious {
			access.Effect = tool.Exclusive
		}
		return access
	})
}

func runAgent(ctx context.Context, call *tool.Call, args invokeAgentArgs) (tool.Result, error) {
	if call.Session == nil || call.Session.Agents() == nil {
		return tool.Result{}, errors.New("this session has no subagents; do the work yourself")
	}
	if strings.TrimSpace(args.Prompt) == "" {
		return tool.Result{}, errors.New("prompt is empty; say what the agent is to do")
	}
	if args.AgentName == generalist {
		args.AgentName = ""
	}
	agents := call.Session.Agents()
	status, err := agents.Spawn(ctx, tool.AgentTask{Task: args.Prompt, Agent: args.AgentName})
	var unknown *tool.UnknownAgentError
	if errors.As(err, &unknown) {
		names := strings.Join(append([]string{generalist}, unknown.Defined...), ", ")
		return tool.Result{}, fmt.Errorf(
			"there is no agent %q; call invoke_agent again with an agent_name of these: %s", args.AgentName, names)
	}
	if err != nil {
		return tool.Result{}, err
	}
	report, err := agents.Wait(ctx, status.ID)
	_, closeErr := agents.Close(context.WithoutCancel(ctx), status.ID)
	if err = errors.Join(err, closeErr); err != nil {
		return tool.Result{}, err
	}
	result := tool.Text(strings.TrimSpace(report.Output))
	result.IsError = !report.Success
	result.Structured, err = json.Marshal(coding.AgentReport{AgentID: status.ID, Success: report.Success,
		TurnsUsed: report.TurnsUsed})
	return result, err
}
