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

// Session gives a tool access to the session that called it. Package agent implements it; [Plain]
// works without an agent. It is safe for concurrent use.
type Session interface {
	// Outputs returns the store of truncated outputs, or nil if the session keeps none.
	Outputs() Outputs
	// History returns the turns that compactions have replaced, or nil if none are kept.
	History() History
	// Processes returns the session's background commands, or nil if it allows none.
	Processes() Processes
	// Agents returns the session's subagents, or nil if it may have none.
	Agents() Agents
	// Files returns what the session has seen of files, or nil if it does not track that; then
	// nothing depends on it.
	Files() Files
	// Ask puts a question to a person and waits for an answer that fits the question's form. It
	// returns ErrNobody if nobody can answer, and an error if the form is not the JSON Schema of an
	// object.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Note stores a JSON value under a kind in the session's journal, where it survives
	// compactions, resumes and forks. If text is not empty, the model reads it before its next
	// response.
	Note(ctx context.Context, kind string, data json.RawMessage, text string) error
	// Notes returns the newest note of each kind, also those from before a resume and from the
	// session that was forked. The map must not be changed.
	Notes() map[string]Note
	// State returns a tool's own value in this session. The first call with a key stores the result
	// of init; later calls return it. Keys should have an unexported type of the tool's package.
	State(key any, init func() any) any
}

// Note holds what Session.Note has stored under a kind.
type Note struct {
	Data json.RawMessage // compact JSON
	Text string          // for the model, empty if there was none
	// Replaced reports that a compaction has replaced the turn with the text, so that the model has
	// it no more.
	Replaced bool
}

// Outputs stores outputs of calls by id for as long as the session lives.
type Outputs interface {
	// Create opens a new output for writing. Its id is the call's, made unique.
	Create(callID string) (id string, w io.WriteCloser, err error)
	// Open opens an output for reading.
	Open(id string) (r io.ReadSeekCloser, err error)
}

// History holds turns that compactions have replaced by a summary.
type History interface {
	// Turns yields the replaced turns from number first to number last, in order. It stops after an
	// error.
	Turns(ctx context.Context, first, last int) iter.Seq2[Turn, error]
}

// Turn holds one turn of a conversation as text.
type Turn struct {
	Number int
	Kind   string // user, steering, assistant, tool_results
	Text   string // ends with a line break
}

// Processes keeps a session's background commands, and what other commands left running. All of
// them end with the session. Ids are never reused; the error for an id from before a restart says
// that the command has ended.
type Processes interface {
	// Start runs a command that outlives the call. Its output is kept for Read.
	Start(ctx context.Context, e env.Environment, cmd env.Command) (id string, err error)
	// Adopt takes over what a command that has ended left running.
	Adopt(p env.Process, cmd env.Command, left []string) (id string)
	// Read waits until the command has ended or the time is over. It returns what was printed since
	// the last Read as the Content, and the command's status as Ran.
	Read(ctx context.Context, id string, wait time.Duration) (Result, error)
	// Write sends input to a running command. It returns an error if the command has not read all
	// of it after some seconds; the rest is still delivered. EndInput closes the input.
	Write(ctx context.Context, id, input string) error
	EndInput(ctx context.Context, id string) error
	// Kill ends a command's whole tree and waits until it is gone. It does nothing if nothing of
	// the command is left.
	Kill(ctx context.Context, id string) error
}

// Agents keeps a session's subagents.
type Agents interface {
	// Spawn starts an agent and returns at once. An agent that the host has not defined is an
	// [*UnknownAgentError].
	Spawn(ctx context.Context, task AgentTask) (AgentStatus, error)
	// Send gives an agent a message. One that is at rest goes back to work on it.
	Send(ctx context.Context, id, message string) (AgentStatus, error)
	// Wait blocks until the agent is at rest, and returns its report.
	Wait(ctx context.Context, id string) (AgentResult, error)
	// Close ends an agent, whatever it is doing, and returns its last status.
	Close(ctx context.Context, id string) (AgentStatus, error)
}

// Files knows which contents of files a session has seen: those in [Result.Seen] and
// [Result.Changes] of its calls.
type Files interface {
	// Seen returns the content of a file that the session saw last. The path has the form of
	// [Seen.Path]. ok reports whether the session has seen the file.
	Seen(path string) (h env.Hash, ok bool)
}

// AgentTask describes what a subagent is to do. Only Task is required; the rest defaults to the
// agent's definition and then to the session.
type AgentTask struct {
	Task string `json:"task,omitempty"`
	// Agent names one of the agents that the host defined. Empty means a general one, like the
	// session.
	Agent string `json:"agent,omitempty"`
	// Instructions are appended to its system prompt, after those of its definition.
	Instructions string `json:"instructions,omitempty"`
	// Tools names the only tools that it may have. Nil means all that it would have.
	Tools []string `json:"tools,omitzero"`
	Dir   string   `json:"dir,omitempty"` // inside the environment
	// Isolation asks for surroundings that it shares with nobody, by the host's name for them, such
	// as worktree. Such an agent works on this task only, and ends with its report.
	Isolation string `json:"isolation,omitempty"`
	Model     string `json:"model,omitempty"`
	Effort    string `json:"effort,omitempty"`
	MaxTurns  int    `json:"max_turns,omitempty"`
}

// AgentKind describes an agent that the model can choose by its name.
type AgentKind struct {
	Name        string
	Description string // when to choose it
}

// UnknownAgentError is the error of [Agents].Spawn for a task that names an undefined agent.
type UnknownAgentError struct {
	Name    string
	Defined []string // names
}

// Error names the agents that are defined.
func (e *UnknownAgentError) Error() string {
	if len(e.Defined) == 0 {
		return fmt.Sprintf("there is no agent %q, because none is defined here; leave the name out", e.Name)
	}
	return fmt.Sprintf("there is no agent %q; choose one of %s, or leave the name out", e.Name,
		strings.Join(e.Defined, ", "))
}

// AgentStatus holds the status of a subagent.
type AgentStatus struct {
	ID     string `json:"agent_id"`
	Status string `json:"status"` // running, completed, failed, closed
}

// AgentResult holds the report of a subagent.
type AgentResult struct {
	Output    string `json:"output"`
	Success   bool   `json:"success"`
	TurnsUsed int    `json:"turns_used"`
}

// Plain implements [Session] without an agent, for running single tools. Its zero value is ready.
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

// Note implements [Session]. It keeps nothing: there is no journal.
func (p *Plain) Note(context.Context, string, json.RawMessage, string) error { return nil }

// Notes implements [Session].
func (p *Plain) Notes() map[string]Note { return nil }

// State implements [Session].
func (p *Plain) State(key any, init func() any) any { return p.memory.State(key, init) }

// Memory implements Session.State. Its zero value is ready.
type Memory struct {
	mu     sync.Mutex
	values map[any]any
}

// State returns the value for a key. The first call with the key stores the result of init.
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
