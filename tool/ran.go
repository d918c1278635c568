package tool

import (
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/sanitize"
)

// Ran describes a command that a call ran, started or looked at. Durations in JSON are in
// nanoseconds.
type Ran struct {
	// ID is the session's id of the command, with which calls read it, write to it and kill it. It
	// is empty if the command has none.
	ID string `json:"id,omitempty"`
	// Exit says how the command ended, and what it left running. It is nil if the command still
	// runs, or if Err is set.
	Exit *env.Exit `json:"exit,omitempty"`
	// Err says why the command could not be started, or why its end is unknown.
	Err string `json:"error,omitempty"`
	// Lost says that the connection to the command's environment was lost, so nobody knows how far
	// the command had come. Err is set, too.
	Lost bool `json:"lost,omitempty"`
	// TimedOut is the command's time limit, if it was killed for exceeding it.
	TimedOut time.Duration `json:"timed_out,omitempty"`
	// Interrupted says that the command was killed because its call was interrupted.
	Interrupted bool `json:"interrupted,omitempty"`
	// Terminal says that the command runs in a terminal.
	Terminal bool `json:"terminal,omitempty"`
	// Bytes and Lines count what the command has printed since the last read, before cleaning. An
	// unfinished last line counts.
	Bytes int64 `json:"bytes"`
	Lines int64 `json:"lines"`
	// Omitted is the number of these bytes that the result leaves out in the middle.
	Omitted int64 `json:"omitted,omitempty"`
}

// Running reports whether the command was still running when the call last looked at it.
func (r *Ran) Running() bool { return r.Exit == nil && r.Err == "" && !r.Interrupted }

// Failed reports whether the command ended in any other way than with exit code 0.
func (r *Ran) Failed() bool {
	return r.Err != "" || r.TimedOut != 0 || r.Interrupted || r.Exit != nil && (r.Exit.Code != 0 || r.Exit.Signal != "")
}

// clean returns a copy without control characters: commands choose the names of their processes.
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
