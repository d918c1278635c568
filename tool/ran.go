package tool

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/sanitize"
)

// Ran is what became of a command that a call ran, started or looked at. In JSON durations are in nanoseconds.
type Ran struct {
	// ID is the session's number of the command, by which calls read it, write to it and kill it with what it has left running; empty
	// when it has none.
	ID string `json:"id,omitempty"`
	// Exit is how it ended, and what it has left running. Nil means that it still runs, or that Err says why nobody knows.
	Exit *env.Exit `json:"exit,omitempty"`
	// Err says why the command could not be started, or not be watched to its end.
	Err string `json:"error,omitempty"`
	// TimedOut is the time that the command had, if it was killed because that was over.
	TimedOut time.Duration `json:"timed_out,omitempty"`
	// Interrupted says that it was killed because its call was to end.
	Interrupted bool `json:"interrupted,omitempty"`
	// Terminal says that it has a terminal.
	Terminal bool `json:"terminal,omitempty"`
	// Bytes and Lines are how much it has printed since it was read last, as it came; a last line without an end counts.
	Bytes int64 `json:"bytes"`
	Lines int64 `json:"lines"`
	// Omitted is how many bytes of that the result has no room for, between the beginning and the end.
	Omitted int64 `json:"omitted,omitempty"`
}

// Running reports whether the command had not ended when the call looked at it last.
func (r *Ran) Running() bool { return r.Exit == nil && r.Err == "" && !r.Interrupted }

// Failed reports whether the command has ended in another way than with the exit code 0.
func (r *Ran) Failed() bool {
	return r.Err != "" || r.TimedOut != 0 || r.Interrupted || r.Exit != nil && (r.Exit.Code != 0 || r.Exit.Signal != "")
}

// clean returns a copy of what is written down of the command: what processes are called is their own choice.
func (r *Ran) clean() *Ran {
	if r == nil {
		return nil
	}
	c := *r
	c.Err = sanitize.Text(r.Err)
	if r.Exit != nil {
		exit := *r.Exit
		exit.Left = nil
		for _, process := range r.Exit.Left {
			exit.Left = append(exit.Left, sanitize.Text(process))
		}
		c.Exit = &exit
	}
	return &c
}

// MaxStructured is how long [Result.Structured] may be, in bytes.
const MaxStructured = 1 << 20

// structured returns a JSON value as a journal has it, nil for one that is too long. It reports whether it is JSON at all.
func structured(value json.RawMessage) (compact json.RawMessage, ok bool) {
	if value == nil {
		return nil, true
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, false
	}
	if b.Len() > MaxStructured {
		return nil, true
	}
	return b.Bytes(), true
}
