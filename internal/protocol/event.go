package protocol

import (
	"encoding/json"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
)

// The kinds of events that are not the session's, besides those about asks.
const (
	KindReply       agent.Kind = "REPLY"
	KindModeChanged agent.Kind = "MODE_CHANGED"
)

// Reply says what became of a line. There is one for each line that was read, except for empty
// ones.
type Reply struct {
	agent.EventHeader
	Line    int64           `json:"line"`               // its number, from 1
	ReplyTo json.RawMessage `json:"reply_to,omitempty"` // its id, if it has one
	Type    Type            `json:"type,omitempty"`     // its type, if that is known
	OK      bool            `json:"ok"`
	Error   string          `json:"error,omitempty"`
	// Queued says that the text waits for the end of the input that runs.
	Queued bool `json:"queued,omitempty"`
	// Status answers status.
	Status *Status `json:"status,omitempty"`
	// Text answers diff, undo and redo: the diff, the plan for a person, or what became of it. Plan
	// names a plan that can be carried out.
	Text string `json:"text,omitempty"`
	Plan string `json:"plan,omitempty"`
	// Cause is the error that Error tells, for the host.
	Cause error `json:"-"`
}

// Status describes a session.
type Status struct {
	State    agent.Status `json:"state"`
	Mode     permit.Mode  `json:"mode"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	Effort   string       `json:"effort,omitempty"`
	Usage    llm.Usage    `json:"usage"`
	// Asks holds the events of the asks that wait for an answer.
	Asks []attractor.Event `json:"asks"`
}

// ModeChanged tells the new permission mode.
type ModeChanged struct {
	agent.EventHeader
	Mode permit.Mode `json:"mode"`
}
