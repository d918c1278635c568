package fleet

import (
	"encoding/json"
	"time"

	"github.com/attractor-go/attractor/agent"
)

// DefaultTenant is the tenant of tasks that name none.
const DefaultTenant = "default"

// Task describes one piece of work. It does not change once it is submitted.
type Task struct {
	// ID names the task, and its session, within its tenant. A task that is submitted twice with
	// one ID runs once.
	ID     string `json:"id"`
	Tenant string `json:"tenant,omitempty"` // empty means DefaultTenant
	Prompt string `json:"prompt"`

	// Repo is cloned into a new workspace. Dir is a directory of the worker's machine to work in,
	// for workers that allow it. Without either the workspace is empty. At most one of the two is
	// set.
	Repo *Repo  `json:"repo,omitempty"`
	Dir  string `json:"dir,omitempty"`
	// Include holds patterns, as in a .gitignore file, of ignored files that survive a machine
	// nevertheless.
	Include []string `json:"include,omitempty"`
	// Artifacts holds patterns of files of the workspace to keep when the task has ended, besides
	// the patch.
	Artifacts []string `json:"artifacts,omitempty"`

	// Environment names what the workers call the place of the task's commands. Empty means
	// "local".
	Environment string `json:"environment,omitempty"`
	Agent       Spec   `json:"agent,omitzero"`
	// Eval judges what the agent has left. Nil judges nothing.
	Eval   *Eval  `json:"eval,omitempty"`
	Budget Budget `json:"budget,omitzero"`
	// Deadline ends the task, whatever it is doing. Zero means none.
	Deadline time.Time         `json:"deadline,omitzero"`
	Labels   map[string]string `json:"labels,omitempty"`
}

// Repo names what to clone.
type Repo struct {
	URL string `json:"url"`           // https:// or ssh://, or user@host:path
	Ref string `json:"ref,omitempty"` // a branch, tag or commit; empty means the repository's default branch
	// Credential is the name under which workers know what the URL needs. Empty means none.
	Credential string `json:"credential,omitempty"`
}

// Spec says which agent works on a task. What is empty is up to the worker.
type Spec struct {
	Profile  string `json:"profile,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Effort   string `json:"effort,omitempty"`
	// MaxTurns bounds the model calls of the task; 0 means the worker's bound.
	MaxTurns int `json:"max_turns,omitempty"`
	// Schema is a JSON schema that the final answer fits.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Checks holds commands that succeed when the task is done.
	Checks []string `json:"checks,omitempty"`
	// Instructions are added to the system prompt.
	Instructions string `json:"instructions,omitempty"`
}

// Budget limits what a task may use. Zero means no limit.
type Budget struct {
	Tokens int      `json:"tokens,omitempty"`
	USD    float64  `json:"usd,omitempty"`
	Time   Duration `json:"time,omitempty"` // of processing
}

// Agent returns the budget of a session.
func (b Budget) Agent() agent.Budget {
	return agent.Budget{Tokens: b.Tokens, USD: b.USD, Time: time.Duration(b.Time)}
}

// Duration is a time.Duration whose text is that of [time.ParseDuration].
type Duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// State says where a task is.
type State string

// The states of a task. The last four are final.
const (
	Queued  State = "queued"  // waits for a worker
	Running State = "running" // a worker has it
	Paused  State = "paused"  // waits in the queue until Status.NotBefore, such as for the end of a provider's outage

	Done     State = "done"     // the session came to its end; Status.Result says how
	Failed   State = "failed"   // it cannot be done; Status.Reason says why
	Canceled State = "canceled" // somebody has canceled it
	Poisoned State = "poisoned" // it has ended too many workers
)

// Final reports whether a task stays in the state.
func (s State) Final() bool { return s == Done || s == Failed || s == Canceled || s == Poisoned }

// Status says what has become of a task. Its owner changes it.
type Status struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	State  State  `json:"state"`
	// Reason says, in words for a person, why the task is in its state: what it waits for, or why
	// it failed.
	Reason string `json:"reason,omitempty"`
	// Worker is the name of the task's owner, or of the last one.
	Worker string `json:"worker,omitempty"`
	// Attempt counts the workers that have claimed the task, and Deaths holds those that were not
	// heard of again.
	Attempt int     `json:"attempt,omitempty"`
	Deaths  []Death `json:"deaths,omitempty"`
	// Failures counts how often in a row owners could not open the task, or go on with it, for a
	// reason that may pass.
	Failures int `json:"failures,omitempty"`
	// Waits says that the task has asked for something that only a person can give; see Asks.
	Waits bool `json:"waits,omitempty"`

	Submitted time.Time `json:"submitted,omitzero"`
	Started   time.Time `json:"started,omitzero"` // by its first owner
	Claimed   time.Time `json:"claimed,omitzero"` // by its last owner
	Ended     time.Time `json:"ended,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"`

	Result    *agent.Result     `json:"result,omitempty"`
	Verdict   *Verdict          `json:"verdict,omitempty"` // of the task's Eval
	Artifacts []Artifact        `json:"artifacts,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// Death is the end of a worker that had a task and did not give it back.
type Death struct {
	Worker string    `json:"worker"`
	From   time.Time `json:"from"` // when it claimed the task
	At     time.Time `json:"at"`   // when the next worker did
	// Survived says that the worker came back: it was cut off, or its machine was stopped. Such a
	// death does not count for poison.
	Survived bool `json:"survived,omitempty"`
	// Left says what the task was doing: the calls whose outcome nobody knows.
	Left []string `json:"left,omitempty"`
}

// Artifact is a file that a task has left.
type Artifact struct {
	Name string `json:"name"` // such as patch, or a path in the workspace
	Size int64  `json:"size"` // in bytes
	Hash string `json:"hash"` // SHA-256, in lower-case hex
}
