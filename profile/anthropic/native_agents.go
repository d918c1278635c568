package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type agentArgs struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Model       string `json:"model"`
	Effort      string `json:"effort"`
	Background  bool   `json:"run_in_background"`
	Isolation   string `json:"isolation"`
}

// agentParameters returns the parameters of the tool Agent, whose subagent_type is described by
// kinds.
func agentParameters(kinds string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(agentSchema, kinds))
}

const agentSchema = `{
	"type": "object",
	"properties": {
		"description": {"type": "string", "description": "The task in three to five words, for the person who watches."},
		"prompt": {"type": "string", "description": "What the agent is to do, with everything that it has to know: it sees nothing of this conversation."},
		"subagent_type": {"type": "string", "description": "%s"},
		"model": {"type": "string", "enum": ["sonnet", "opus", "haiku", "fable"], "description": "The model that it uses. Default: the same one."},
		"effort": {"type": "string", "enum": ["low", "medium", "high", "xhigh", "max"], "description": "How hard it thinks. Default: as hard as you do."},
		"run_in_background": {"type": "boolean", "description": "Go on at once; wait gives you the result later. Default: false, the call returns when the agent has finished."},
		"isolation": {"type": "string", "enum": ["worktree", "remote"], "description": "worktree: it works in a git worktree and on a branch of its own, made from the last commit; its report says where its changes are, and ends it, so SendMessage gives it no more to do. Needs a git repository. Default: it works on the same files as you."}
	},
	"required": ["description", "prompt"],
	"additionalProperties": false
}`

// generalPurpose is the type of agent that always exists.
const generalPurpose = "general-purpose"

// models maps the names that the tool Agent takes to the newest model of each size.
var models = map[string]string{
	"":       "",
	"sonnet": DefaultModel,
	"opus":   "claude-opus-5-5",
	"haiku":  "claude-haiku-5-5",
	"fable":  "claude-fable-5-2",
}

// agentTool returns the tool Agent. It starts a subagent and waits for it, unless run_in_background
// is set. That is not the default, as it is in Claude Code, because nothing here tells the model
// between its turns that an agent has ended.
func agentTool() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "Agent",
		Description: "Hands a task to an agent that works by itself, with the same tools on the same files, and " +
			"returns its final report. Several calls in one response run at the same time. The report names the " +
			"agent's id, by which SendMessage gives it more to do.",
		Parameters: agentParameters("There is one type, general-purpose, which is the default."),
	}, runAgent)
	def := t.ToolDefinition
	def.Parameters = agentParameters(
		"The name of an agent in the list of this tool's description. Default: general-purpose, an agent like you.")
	t.ForAgents = coding.ListAgents(def)
	t.Guidance = coding.SpawnGuidance
	spawn := sharedAgentTool("spawn_agent")
	t.Limit, t.Needs, t.Instead = spawn.Limit, spawn.Needs, spawn.Instead
	return tool.WithAccess(t, func(args agentArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Command: fmt.Sprintf("Agent %q: %s", args.Description, args.Prompt),
			About: args.Type}
	})
}

func runAgent(ctx context.Context, call *tool.Call, args agentArgs) (tool.Result, error) {
	status, err := coding.StartAgent(ctx, call, tool.AgentTask{Task: args.Prompt, Agent: args.Type,
		Model: models[args.Model], Effort: args.Effort, Isolation: args.Isolation}, generalPurpose, "subagent_type")
	if err != nil {
		return tool.Result{}, err
	}
	if args.Background {
		result := tool.Text(fmt.Sprintf(
			"Agent %s works in the background. wait returns its report, SendMessage talks to it, TaskStop ends it.",
			status.ID))
		result.Structured, err = json.Marshal(status)
		return result, err
	}
	agents := call.Session.Agents()
	report, err := agents.Wait(ctx, status.ID)
	if err != nil { // nobody waits for the agent any more
		_, closeErr := agents.Close(context.WithoutCancel(ctx), status.ID)
		return tool.Result{}, errors.Join(err, closeErr)
	}
	return coding.AgentResult(status.ID, report, fmt.Sprintf("%s\n\n[Agent %s has finished after %d turns.]",
		strings.TrimSpace(report.Output), status.ID, report.TurnsUsed))
}

type sendMessageArgs struct {
	To      string `json:"to"`
	Message string `json:"message"`
}

const sendMessageParameters = `{
	"type": "object",
	"properties": {
		"to": {"type": "string", "description": "The agent's id."},
		"summary": {"type": "string", "maxLength": 200, "description": "The message in a few words, for the person who watches."},
		"message": {"type": "string", "default": "", "description": "The message. A working agent sees it before its next response; a finished one goes back to work on it, and wait returns its result."},
		"notify_when_idle": {"type": "boolean", "description": "Has no effect: use wait."}
	},
	"required": ["to", "message"],
	"additionalProperties": false
}`

func sendMessage() tool.Tool {
	return tool.Adapt(sharedAgentTool("send_input"), llm.ToolDefinition{
		Name:        "SendMessage",
		Description: "Sends a message to an agent.",
		Parameters:  json.RawMessage(sendMessageParameters),
	}, func(args sendMessageArgs) (any, error) {
		return map[string]any{"agent_id": args.To, "message": args.Message}, nil
	}, nil)
}

type taskStopArgs struct {
	TaskID  string `json:"task_id"`
	ShellID string `json:"shell_id"`
}

// task returns the id of what is to be stopped. Both parameters mean the same.
func (a taskStopArgs) task() string { return cmp.Or(a.TaskID, a.ShellID) }

const taskStopParameters = `{
	"type": "object",
	"properties": {
		"task_id": {"type": "string", "description": "The number of a command in the background, or the id of an agent."},
		"shell_id": {"type": "string", "description": "Another name of task_id."}
	},
	"additionalProperties": false
}`

// taskStop returns the tool TaskStop, which ends a background command, whose id is a number, or an
// agent.
func taskStop() tool.Tool {
	process, agent := dialect().Process(), sharedAgentTool("close_agent")
	t := tool.New(llm.ToolDefinition{
		Name: "TaskStop",
		Description: "Ends a command in the background with everything that it started, or an agent, whatever it " +
			"is doing.",
		Parameters: json.RawMessage(taskStopParameters),
	}, func(ctx context.Context, call *tool.Call, args taskStopArgs) (tool.Result, error) {
		id := args.task()
		if id == "" {
			return tool.Result{}, errors.New(
				"task_id is missing; give the number of the command, or the id of the agent")
		}
		if _, err := strconv.Atoi(id); err == nil {
			return process.RunAs(ctx, call, map[string]any{"id": id, "action": "kill"})
		}
		return agent.RunAs(ctx, call, map[string]any{"agent_id": id})
	})
	t.Limit = process.Limit
	t.Instead = []tool.Instead{{Of: []string{"KillShell", "KillBash", "job_kill", "close_agent"}}}
	return tool.WithAccess(t, func(args taskStopArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Command: "TaskStop " + args.task()}
	})
}
