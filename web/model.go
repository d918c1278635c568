package web

import (
	"encoding/json"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Row describes one line of a session's timeline. Rows are numbered from 0 in the order of the
// journal, and a number never changes.
type Row struct {
	Index int     `json:"i"`
	Kind  RowKind `json:"kind"`
	Seq   int64   `json:"seq"`          // of its last event
	Time  int64   `json:"time"`         // when it began, in milliseconds since 1970
	MS    int64   `json:"ms,omitempty"` // how long it took
	// Step is the number of the model call that the row belongs to, from 1; 0 if there is none.
	Step int `json:"step,omitempty"`
	// Turn is the number of an input's turn, 0 if it has none.
	Turn  int    `json:"turn,omitempty"`
	Name  string `json:"name,omitempty"` // of the tool, the note, the model, the limit or the kind of error
	Text  string `json:"text,omitempty"` // one line of at most maxRowText bytes
	Bytes int64  `json:"bytes,omitempty"`
	// Failed marks errors, failed calls and discarded texts.
	Failed bool `json:"failed,omitempty"`
	// Added and Removed count the lines of the call's changes, and Paths names the files.
	Added   int      `json:"added,omitempty"`
	Removed int      `json:"removed,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	// Session is the session of the subagent that the call has spawned.
	Session string `json:"session,omitempty"`
	// Cost is that of an input at its end, and that of the session so far at a step's last row.
	Cost float64 `json:"cost,omitempty"`
}

// A RowKind is a kind of row.
type RowKind string

// The kinds of rows.
const (
	RowStart      RowKind = "start" // of the session, or a resume
	RowHistory    RowKind = "history"
	RowInput      RowKind = "input"
	RowThinking   RowKind = "thinking"
	RowText       RowKind = "text"
	RowSearch     RowKind = "search" // a search of the web that the vendor has run
	RowCall       RowKind = "call"   // a tool call with its result
	RowQuestion   RowKind = "question"
	RowSteering   RowKind = "steering"
	RowPlan       RowKind = "plan"
	RowNote       RowKind = "note"
	RowRetry      RowKind = "retry"
	RowCompaction RowKind = "compaction"
	RowModel      RowKind = "model" // another model is asked
	RowLoop       RowKind = "loop"
	RowLimit      RowKind = "limit"
	RowContext    RowKind = "context" // the window is nearly full
	RowWarning    RowKind = "warning"
	RowError      RowKind = "error"
	RowEnd        RowKind = "end"   // of an input
	RowClose      RowKind = "close" // of the session
)

// Item holds a row with the session's events behind it, in the form of docs/protocol.md, and
// without secrets.
type Item struct {
	Row    Row               `json:"row"`
	Events []json.RawMessage `json:"events"`
}

// Overview describes a session without its rows.
type Overview struct {
	ID       string    `json:"id"`
	Task     string    `json:"task,omitempty"` // the first input, at most maxText bytes of it
	Dir      string    `json:"dir,omitempty"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Profile  string    `json:"profile,omitempty"`
	Parent   string    `json:"parent,omitempty"`
	ForkOf   string    `json:"fork_of,omitempty"`
	Created  time.Time `json:"created,omitzero"`

	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // why the last input ended
	PID    int    `json:"pid,omitempty"`    // of the process that writes the journal
	Own    bool   `json:"own,omitempty"`    // the page can steer the session
	// Problem says why the journal cannot be read any further.
	Problem string `json:"problem,omitempty"`

	Rows   int       `json:"rows"`             // how many there are
	Window int       `json:"window,omitempty"` // of the model, in tokens; 0 if unknown
	Usage  llm.Usage `json:"usage"`            // with subagents, failed attempts and compactions
	Cost   float64   `json:"cost,omitempty"`   // in US dollars; 0 if prices are unknown
	Time   Times     `json:"time"`
	Counts Counts    `json:"counts"`

	Steps    Steps         `json:"steps"`
	Parts    []PromptPart  `json:"parts"`    // of the prompt, the dearest ten
	Tools    []ToolSum     `json:"tools"`    // the slowest first
	Files    []FileSum     `json:"files"`    // changed ones, in the order of their first change
	Children []Child       `json:"children"` // subagents
	Running  []RunningCall `json:"running"`  // calls without a result
	Queue    []QueuedText  `json:"queue"`    // texts that wait for the model
	Plan     []PlanItem    `json:"plan"`     // the newest todo list
	// Marks are what charts point out, in the order in which they became known. They are only ever
	// appended. An update has those from number FirstMark on, from 0.
	Marks     []Mark `json:"marks"`
	FirstMark int    `json:"first_mark,omitempty"`
}

// State is the current state of a session.
type State string

// The states of sessions.
const (
	StateRunning     State = "running"     // a process has its journal open, and an input is being worked on
	StateWaiting     State = "waiting"     // for an answer of a person
	StateIdle        State = "idle"        // its last input has ended
	StateInterrupted State = "interrupted" // an input is open, and no process works on it
	StateClosed      State = "closed"
)

// Times says where the time of a session went, in milliseconds. The parts add up to Total.
type Times struct {
	Total   int64 `json:"total"`   // from its first to its last record
	Model   int64 `json:"model"`   // model calls, with failed attempts and, while an input was open, compactions
	Tools   int64 `json:"tools"`   // at least one tool ran
	Waiting int64 `json:"waiting"` // for a person, for a retry, for anything else while an input was open
	Idle    int64 `json:"idle"`    // no input was open, or no process worked on it
}

// Counts counts what happened in a session.
type Counts struct {
	Inputs      int `json:"inputs"`
	Steps       int `json:"steps"` // answers of the model
	Calls       int `json:"calls"`
	Failed      int `json:"failed"`  // calls
	Changes     int `json:"changes"` // calls that changed files
	Retries     int `json:"retries"`
	Compactions int `json:"compactions"`
}

// Steps holds the model calls of a session in columns of equal length, the values of one call at
// the same place in each.
type Steps struct {
	First   int       `json:"first"` // the number of the first call in the columns, from 1
	Row     []int     `json:"row"`   // its first row
	Time    []int64   `json:"time"`  // when it began
	Model   []int64   `json:"model"` // milliseconds, as in Times
	Tools   []int64   `json:"tools"` // of the calls in its answer
	Waiting []int64   `json:"waiting"`
	Input   []int     `json:"input"`       // tokens
	Cached  []int     `json:"cache_read"`  // part of Input
	Written []int     `json:"cache_write"` // part of Input
	Output  []int     `json:"output"`
	Cost    []float64 `json:"cost"`
	// Context is how much of the window the request and its answer fill, in tokens.
	Context  []int `json:"context"`
	Attempts []int `json:"attempts"`
}

// PromptPart says what a part of the prompt has cost as the input of all requests until now.
type PromptPart struct {
	Name     string  `json:"name"`
	Text     string  `json:"text,omitempty"` // of the call, for a result
	Requests int     `json:"requests"`       // that had it
	Tokens   int     `json:"tokens"`         // in all of them together, estimated
	Cost     float64 `json:"cost,omitempty"` // in US dollars; 0 if prices are unknown
}

// ToolSum sums up the calls of a tool.
type ToolSum struct {
	Name   string `json:"name"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed,omitempty"`
	MS     int64  `json:"ms"`
	Bytes  int64  `json:"bytes"` // of outputs
}

// FileSum sums up the changes of a file.
type FileSum struct {
	Path    string `json:"path"`
	Change  string `json:"change"` // the last one: created, modified, deleted or moved
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Rows    []int  `json:"rows"` // of the calls
}

// Child describes a subagent.
type Child struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Task    string    `json:"task"`
	Status  string    `json:"status"`
	Row     int       `json:"row"` // of the call that has spawned it, -1 if unknown
	Usage   llm.Usage `json:"usage"`
	Cost    float64   `json:"cost,omitempty"`
}

// RunningCall describes a tool call that has no result yet.
type RunningCall struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Text   string `json:"text,omitempty"`
	Since  int64  `json:"since"` // when the model had asked for it, in milliseconds since 1970
}

// QueuedText holds a text that waits for the model.
type QueuedText struct {
	Lane string `json:"lane"`
	Text string `json:"text"`
}

// PlanItem holds an entry of the todo list.
type PlanItem struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// Mark points out a row in a chart. Its kind is input, retry, compaction, model, error, limit, or
// call for a call that has failed or has changed files.
type Mark struct {
	Kind    RowKind `json:"kind"`
	Row     int     `json:"row"`
	Step    int     `json:"step"`
	Time    int64   `json:"time"` // in milliseconds since 1970
	Failed  bool    `json:"failed,omitempty"`
	Changed bool    `json:"changed,omitempty"` // the call has changed files
}
