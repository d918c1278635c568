package fleet

import (
	"bytes"
	"encoding/json"
	"time"
)

// AskKind says what an ask is about.
type AskKind string

// The kinds of asks.
const (
	AskApproval AskKind = "approval" // may this call run?
	AskQuestion AskKind = "question" // the model asks something
)

// Ask is a request of a task to people: to approve a call, or to answer a question of the model.
type Ask struct {
	Task string  `json:"task"`
	ID   string  `json:"id"` // unique in the task; the next owner uses the same id for the same ask
	Kind AskKind `json:"kind"`
	// Agent is the id of the subagent that asks, or empty.
	Agent string `json:"agent,omitempty"`
	// Tool and Args are the call that needs an approval. Args that are long, or no JSON, are a JSON
	// string with their beginning.
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
	// Text is what a person reads, in one or more lines: why the call needs an approval, or the
	// question.
	Text string `json:"text"`
	// Question is the question of the model, as package tool has it.
	Question json.RawMessage `json:"question,omitempty"`
	At       time.Time       `json:"at"`
}

// Answer is the answer to an Ask.
type Answer struct {
	// Allow lets the call run.
	Allow bool `json:"allow,omitempty"`
	// Text is the reason of a denial, for the model, or the answer to a question.
	Text string `json:"text,omitempty"`
	// Value is the answer to a question with a form, and Decline refuses to answer.
	Value   json.RawMessage `json:"value,omitempty"`
	Decline bool            `json:"decline,omitempty"`
	By      string          `json:"by,omitempty"` // who answered
	At      time.Time       `json:"at"`
}

// Same reports whether two answers are equal except for their times.
func (a Answer) Same(b Answer) bool {
	a.At, b.At = time.Time{}, time.Time{}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
