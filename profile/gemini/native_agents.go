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

const invokeAgentParameters = `{
	"type": "object",
	"properties": {
		"agent_name": {"type": "string", "description": "There is one agent, generalist."},
		"prompt": {"type": "string", "description": "What the agent is to do, with everything that it has to know: it sees nothing of this conversation."},
		"wait_for_previous": {"type": "boolean", "description": "Run this call after the ones before it in the same answer. Default: false."}
	},
	"required": ["agent_name", "prompt"]
}`

// generalist is the one agent that there is. gemini-cli has one of this name too.
const generalist = "generalist"

// invokeAgent starts a subagent, waits for it and ends it: nothing in this dialect speaks to it again.
func invokeAgent() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "invoke_agent",
		Description: "Hands a task to an agent that works by itself, with the same tools on the same files, and returns its final report. Several calls " +
			"in one answer run at the same time.",
		Parameters: json.RawMessage(invokeAgentParameters),
	}, runAgent)
	t.Needs, t.Instead = tool.NeedsAgents, coding.Agents()[0].Instead
	t.Limit = tool.Limit{Chars: 20_000, Keep: tool.KeepHeadTail} // as the tools for agents have it
	t.Guidance = coding.SpawnGuidance
	return tool.WithAccess(t, func(args invokeAgentArgs) tool.Access {
		access := tool.Access{Effect: tool.Writes, Command: fmt.Sprintf("invoke_agent %s: %s", args.AgentName, args.Prompt)}
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
	if args.AgentName != generalist {
		return tool.Result{}, fmt.Errorf("there is no agent %q; the only one is %s", args.AgentName, generalist)
	}
	agents := call.Session.Agents()
	status, err := agents.Spawn(ctx, tool.AgentTask{Task: args.Prompt})
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
	result.Structured, err = json.Marshal(coding.AgentReport{AgentID: status.ID, Success: report.Success, TurnsUsed: report.TurnsUsed})
	return result, err
}
