package check

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// NoteKind is the kind of the notes in which a session keeps the reports of its checks.
const NoteKind = "check"

// Status says what the checks know about an input.
type Status string

// The statuses.
const (
	// Verified means that all checks passed, and that the tree is still the one on which they ran.
	Verified Status = "verified"
	// Failed means that a check failed when it ran last.
	Failed Status = "failed"
	// Unverified means that nobody knows: no check ran to its end, or the tree has changed since.
	Unverified Status = "unverified"
)

// Report is the data of a note: what the checks have found.
type Report struct {
	Status Status `json:"status"`
	// Why says why the status is not verified, for people.
	Why string `json:"why,omitempty"`
	// Final says that the input has ended. Other reports are about a moment at which the agent
	// wanted to end it.
	Final bool `json:"final,omitempty"`
	// Tree is the root of the tree on which the checks ran, empty if it was another one before than
	// after.
	Tree env.Hash `json:"tree,omitempty"`
	// Commands are all checks, and Runs those that ran, in the same order: the one that fails is
	// the last.
	Commands []string `json:"commands"`
	Runs     []Run    `json:"runs,omitempty"`
	// Rounds is how often failing checks have sent the agent back to work in this input.
	Rounds int `json:"rounds"`
}

// Run describes one run of a command.
type Run struct {
	Command string `json:"command"`
	env.Exit
	TimedOut bool `json:"timed_out,omitempty"`
	// Output is what the command printed, on both streams, without the middle if it is long.
	Output string `json:"output,omitempty"`
	// Error says why the command could not be run to its end. There is no exit then.
	Error string `json:"error,omitempty"`
}

// passed reports whether a command has succeeded.
func (r *Run) passed() bool { return r.Error == "" && !r.TimedOut && r.Signal == "" && r.Code == 0 }

// outcome says how a run ended.
func (r *Run) outcome() string {
	switch {
	case r.Error != "":
		return "could not be run to its end: " + r.Error
	case r.TimedOut:
		return "was killed because its time was over"
	case r.Signal != "":
		return "was killed by " + r.Signal
	}
	return fmt.Sprintf("exit code %d", r.Code)
}

// failed returns the run that failed, or nil.
func (r *Report) failed() *Run {
	if n := len(r.Runs); n > 0 && !r.Runs[n-1].passed() {
		return &r.Runs[n-1]
	}
	return nil
}

// String returns the report in a few lines for people, with the output of the check that failed.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString(string(r.Status))
	if r.Why != "" {
		b.WriteString(": " + r.Why)
	}
	if run := r.failed(); run != nil && run.Output != "" && r.Status == Failed {
		b.WriteString("\n" + strings.TrimRight(run.Output, "\n"))
	}
	return b.String()
}
