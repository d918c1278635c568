package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Session is what a tool may ask the session that called it. Package agent implements it; [Plain] is one without an agent. It
// is safe for concurrent use.
type Session interface {
	// Outputs keeps whole outputs of which the model saw a part; nil when the session keeps none.
	Outputs() Outputs
	// History has the turns of the conversation that the model does not see any more; nil when none are kept.
	History() History
	// Processes are the session's background commands; nil when it allows none.
	Processes() Processes
	// Agents are the session's subagents; nil when it may have none.
	Agents() Agents
	// Files are what the session has seen of files; nil when it does not remember, and nothing depends on it.
	Files() Files
	// Ask puts a question to whoever gave the task and waits for the answer, which fits the question's form. ErrNobody when there is no one
	// to ask. A form that is no JSON Schema of an object is an error.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Note keeps a JSON value under a kind in the session's journal, where it survives compactions, a resume and a fork. A text goes to the
	// model before its next answer.
	Note(ctx context.Context, kind string, data json.RawMessage, text string) error
	// State is a tool's memory in this session: the value of init at the first call with this key, the same value later. Keys
	// are of an unexported type of the tool's package.
	State(key any, init func() any) any
}

// Outputs keeps what calls printed, by id, for as long as the session lives.
type Outputs interface {
	// Create opens a new output for writing. Its id is the call's, made unique.
	Create(callID string) (id string, w io.WriteCloser, err error)
	// Open reads an output back.
	Open(id string) (r io.ReadSeekCloser, err error)
}

// History gives back the turns that compactions have replaced by a summary.
type History interface {
	// Turns yields the replaced turns from number first to number last, in order. An error is the last that comes.
	Turns(ctx context.Context, first, last int) iter.Seq2[Turn, error]
}

// Turn is one turn of a conversation, as text.
type Turn struct {
	Number int
	Kind   string // user, steering, assistant, tool_results
	Text   string // ends with a line break
}

// Processes keeps a session's background commands: those started as such, and what commands left running. All of them end with
// the session. Ids are never used again; one from before a restart says so.
type Processes interface {
	// Start runs a command that outlives the call. Its output is kept for Read.
	Start(ctx context.Context, e env.Environment, cmd env.Command) (id string, err error)
	// Adopt takes over what a command that has ended left running.
	Adopt(p env.Process, cmd env.Command, left []string) (id string)
	// Read waits until a command has ended or the time is over, and returns what it has printed since the last Read, and nothing else, as
	// the Content. Its Ran says where the command is.
	Read(ctx context.Context, id string, wait time.Duration) (Result, error)
	// Write sends input to a running command, waiting until it has taken it. EndInput says that there is no more.
	Write(ctx context.Context, id, input string) error
	EndInput(ctx context.Context, id string) error
	// Kill ends a command's whole tree, and returns when it is gone. It does nothing for one that has ended and left nothing.
	Kill(ctx context.Context, id string) error
}

// Agents keeps a session's subagents.
type Agents interface {
	Spawn(ctx context.Context, task AgentTask) (AgentStatus, error)
	Send(ctx context.Context, id, message string) (AgentStatus, error)
	// Wait blocks until the agent has finished its input.
	Wait(ctx context.Context, id string) (AgentResult, error)
	Close(ctx context.Context, id string) (AgentStatus, error)
}

// Files is a session's memory of the contents of files: what the results of its calls have in [Result.Seen] and [Result.Changes].
type Files interface {
	// Seen returns the content that the session has seen last of a file, by its path as in [Seen], and whether it has seen any.
	Seen(path string) (h env.Hash, ok bool)
}

// AgentTask holds what a subagent is started with. Only Task is required; everything else is that of the agent's definition, or else of the
// session.
type AgentTask struct {
	Task string `json:"task,omitempty"`
	// Agent names one of the agents that the host has defined; empty means a general one, like the session.
	Agent string `json:"agent,omitempty"`
	// Instructions are added to the end of its system prompt, behind those of its definition.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the names of the tools that it may have, of those that it would have; nil means all of them.
	Tools    []string `json:"tools,omitzero"`
	Dir      string   `json:"dir,omitempty"` // inside the environment
	Model    string   `json:"model,omitempty"`
	Effort   string   `json:"effort,omitempty"`
	MaxTurns int      `json:"max_turns,omitempty"`
}

// AgentKind holds what the model is told of an agent that it can choose by its name.
type AgentKind struct {
	Name        string
	Description string // when to choose it
}

// UnknownAgentError is the error of [Agents].Spawn for a task that names an agent which the host has not defined.
type UnknownAgentError struct {
	Name    string
	Defined []string // names
}

// Error names the agents that are defined.
func (e *UnknownAgentError) Error() string {
	if len(e.Defined) == 0 {
		return fmt.Sprintf("there is no agent %q, because none is defined here; leave the name out", e.Name)
	}
	return fmt.Sprintf("there is no agent %q; choose one of %s, or leave the name out", e.Name, strings.Join(e.Defined, ", "))
}

// AgentStatus is where a subagent is.
type AgentStatus struct {
	ID     string `json:"agent_id"`
	Status string `json:"status"` // running, completed, failed, closed
}

// AgentResult is what a subagent came to.
type AgentResult struct {
	Output    string `json:"output"`
	Success   bool   `json:"success"`
	TurnsUsed int    `json:"turns_used"`
}

// Plain is a session without an agent, for running single tools. Its zero value is ready.
type Plain struct{ memory Memory }

// Outputs implements [Session].
func (p *Plain) Outputs() Outputs { return nil }

// History implements [Session].
func (p *Plain) History() History { return nil }

// Processes implements [Session].
func (p *Plain) Processes() Processes { return nil }

// Agents implements [Session].
func (p *Plain) Agents() Agents { return nil }

// Files implements [Session].
func (p *Plain) Files() Files { return nil }

// Ask implements [Session].
func (p *Plain) Ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNobody }

// Note implements [Session]. Nothing is kept: there is no journal.
func (p *Plain) Note(context.Context, string, json.RawMessage, string) error { return nil }

// State implements [Session].
func (p *Plain) State(key any, init func() any) any { return p.memory.State(key, init) }

// Memory implements Session.State. Its zero value is ready.
type Memory struct {
	mu     sync.Mutex
	values map[any]any
}

// State returns the value that the first call with this key made.
func (m *Memory) State(key any, init func() any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	if !ok {
		v = init()
		if m.values == nil {
			m.values = map[any]any{}
		}
		m.values[key] = v
	}
	return v
}
