package fleet

import (
	"time"

	"github.com/attractor-go/attractor/agent"
)

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
