package coding

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type spawnAgentArgs struct {
	Task       string `json:"task" jsonschema:"What the agent is to do, with everything that it has to know: it sees nothing of this conversation."`
	WorkingDir string `json:"working_dir,omitempty" jsonschema:"The directory that it works in. Default: yours."`
	Model      string `json:"model,omitempty" jsonschema:"The model that it uses. Default: the same one."`
	MaxTurns   int    `json:"max_turns,omitempty" jsonschema:"How many turns it may take. Default: no limit."`
	Isolation  string `json:"isolation,omitempty" jsonschema:"worktree: in a git worktree of its own."`
}

// spawnKindArgs holds the arguments of spawn_agent in a session with defined agents.
type spawnKindArgs struct {
	spawnAgentArgs
	Agent string `json:"agent,omitempty" jsonschema:"The name of an agent in the list of this tool's description. Default: one like you."`
}

type agentArgs struct {
	AgentID string `json:"agent_id" jsonschema:"The id that the agent got when it was started."`
}

type sendInputArgs struct {
	AgentID string `json:"agent_id" jsonschema:"The id that the agent got when it was started."`
	Message string `json:"message" jsonschema:"The message. A working agent sees it before its next response; a finished one goes back to work on it."`
}

// SpawnGuidance is the part of the system prompt about subagents, whatever the tools are called.
const SpawnGuidance = "Most tasks need no agents. Give an agent a self-contained part, with the paths and facts that " +
	"it needs, keep two agents out of the same files, and wait for every agent before your final answer. Check what " +
	"they report before you rely on it."

// Agents returns the tools for subagents: spawn_agent, send_input, wait and close_agent. Sessions
// that may have no subagents do not offer them. Calls that send to an agent or end it keep their
// place among the calls of a response; agents are started and waited for in parallel.
func Agents() []tool.Tool {
	def := llm.ToolDefinition{Name: "spawn_agent", Parameters: schema("spawn_agent"),
		Description: "Starts an agent that works on a part of the task by itself, at the same time, " +
			"with the same tools and files, and returns its id at once. Use it for parts that do not depend on each " +
			"other, and for searches whose details you do not need. wait returns its result."}
	spawn := agentTool(tool.Writes, def, spawnAgent)
	def.Parameters = schema("spawn_agent_of_kind")
	ofKind := agentTool(tool.Writes, def, spawnAgent).ToolDefinition
	spawn = tool.WithAccess(spawn,
		func(args spawnKindArgs) tool.Access { return tool.Access{Effect: tool.Writes, About: args.Agent} })
	spawn.ForAgents = ListAgents(ofKind)
	spawn.Guidance, spawn.Instead = SpawnGuidance, replaces("spawn_agent")
	return []tool.Tool{
		spawn,
		agentTool(tool.Exclusive, llm.ToolDefinition{Name: "send_input", Parameters: schema("send_input"),
			Description: "Sends a message to an agent."}, sendInput),
		agentTool(tool.ReadOnly, llm.ToolDefinition{Name: "wait", Parameters: schema("wait"),
			Description: "Waits until an agent has finished and returns its result."}, waitForAgent),
		agentTool(tool.Exclusive, llm.ToolDefinition{Name: "close_agent", Parameters: schema("close_agent"),
			Description: "Ends an agent, whatever it is doing, and returns its last status."}, closeAgent),
	}
}

// agentTool returns a tool for subagents that runs a function and gives its answer to the model as
// JSON.
func agentTool[Args any](effect tool.Effect, def llm.ToolDefinition,
	run func(context.Context, tool.Agents, Args) (answer, data any, err error)) tool.Tool {
	t := tool.New(def, func(ctx context.Context, call *tool.Call, args Args) (tool.Result, error) {
		agents := sessionOf(call).Agents()
		if agents == nil {
			return tool.Result{}, errNoAgents()
		}
		answer, data, err := run(ctx, agents, args)
		if err != nil {
			return tool.Result{}, err
		}
		text, err := texts.PlainJSON(answer) // a model reads it
		if err != nil {
			return tool.Result{}, err
		}
		result := tool.Text(string(text))
		result.Structured, err = json.Marshal(data)
		return result, err
	})
	t.Needs = tool.NeedsAgents
	t.Limit = tool.Limit{Chars: -1} // the output is truncated inside the JSON
	return tool.WithAccess(t, func(Args) tool.Access { return tool.Access{Effect: effect} })
}

// agentOutputLimit limits the output of an agent that the waiting agent sees.
var agentOutputLimit = tool.Limit{Chars: 20_000, Keep: tool.KeepHeadTail}

// AgentReport holds the Structured result of a call that returns an agent's report. The report
// itself is text.
type AgentReport struct {
	AgentID   string `json:"agent_id"`
	Success   bool   `json:"success"`
	TurnsUsed int    `json:"turns_used"`
}

func spawnAgent(ctx context.Context, agents tool.Agents, args spawnKindArgs) (answer, data any, err error) {
	if args.MaxTurns < 0 {
		return nil, nil, fmt.Errorf("max_turns is %d; it must be 1 or more, or left out", args.MaxTurns)
	}
	status, err := agents.Spawn(ctx, tool.AgentTask{Task: args.Task, Agent: args.Agent, Dir: args.WorkingDir,
		Model: args.Model, MaxTurns: args.MaxTurns, Isolation: args.Isolation})
	return status, status, err
}

func sendInput(ctx context.Context, agents tool.Agents, args sendInputArgs) (answer, data any, err error) {
	status, err := agents.Send(ctx, args.AgentID, args.Message)
	return status, status, err
}

func waitForAgent(ctx context.Context, agents tool.Agents, args agentArgs) (answer, data any, err error) {
	result, err := agents.Wait(ctx, args.AgentID)
	if err != nil {
		return nil, nil, err
	}
	result.Output, _ = agentOutputLimit.Apply(result.Output, tool.Gap{},
		"Send the agent a question about what is missing.")
	return result, AgentReport{args.AgentID, result.Success, result.TurnsUsed}, nil
}

func closeAgent(ctx context.Context, agents tool.Agents, args agentArgs) (answer, data any, err error) {
	status, err := agents.Close(ctx, args.AgentID)
	return status, status, err
}
