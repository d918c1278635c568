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
		Description: "Hands a task to an agent that works by itself, with the same tools on the same files, and " +
			"returns its final report. Several calls in one response run at the same time.",
		Parameters: invokeAgentParameters("There is one agent, generalist."),
	}, runAgent)
	def := t.ToolDefinition
	def.Parameters = invokeAgentParameters(
		"The name of an agent in the list of this tool's description, or generalist, an agent like you.")
	t.ForAgents = coding.ListAgents(def)
	t.Needs, t.Instead = tool.NeedsAgents, coding.Agents()[0].Instead
	t.Limit = tool.Limit{Chars: 20_000, Keep: tool.KeepHeadTail} // as for the shared tools for agents
	t.Guidance = coding.SpawnGuidance
	return tool.WithAccess(t, func(args invokeAgentArgs) tool.Access {
		access := tool.Access{Effect: tool.Writes,
			Command: fmt.Sprintf("invoke_agent %s: %s", args.AgentName, args.Prompt), About: args.AgentName}
		if args.WaitForPrevious {
			access.Effect = tool.Exclusive
		}
		return access
	})
}

func runAgent(ctx context.Context, call *tool.Call, args invokeAgentArgs) (tool.Result, error) {
	status, err := coding.StartAgent(ctx, call, tool.AgentTask{Task: args.Prompt, Agent: args.AgentName}, generalist,
		"agent_name")
	if err != nil {
		return tool.Result{}, err
	}
	agents := call.Session.Agents()
	report, err := agents.Wait(ctx, status.ID)
	_, closeErr := agents.Close(context.WithoutCancel(ctx), status.ID)
	if err = errors.Join(err, closeErr); err != nil {
		return tool.Result{}, err
	}
	return coding.AgentResult(status.ID, report, strings.TrimSpace(report.Output))
}
