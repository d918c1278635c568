package server

import (
	"encoding/json"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
)

// State says what a session does.
type State string

// The states.
const (
	StateIdle    State = "idle"    // it waits for an input
	StateRunning State = "running" // an input runs
	StateWaiting State = "waiting" // an input runs and waits for an answer
	// StateHeld means that the server died twice while an input was open, so that it does not go on
	// by itself. The line continue goes on with it.
	StateHeld State = "held"
)

// Create asks for a session. What is empty is as the server has it.
type Create struct {
	Dir          string        `json:"dir,omitempty" jsonschema:"the working directory, within one of the roots; a path that is not absolute is below the first root"`
	Model        string        `json:"model,omitempty" jsonschema:"the model, as provider/model"`
	Effort       string        `json:"effort,omitempty" jsonschema:"the level of effort"`
	Mode         permit.Mode   `json:"mode,omitempty" jsonschema:"what becomes of calls about which the rules ask; not beyond that of the server"`
	Sandbox      sandbox.Level `json:"sandbox,omitempty" jsonschema:"how commands are confined; not less than by the server"`
	BudgetUSD    float64       `json:"budget_usd,omitempty" jsonschema:"what the session may spend, in US dollars; not above that of the server"`
	BudgetTokens int           `json:"budget_tokens,omitempty" jsonschema:"the tokens that the session may use; not above those of the server"`
	Fork         string        `json:"fork,omitempty" jsonschema:"the id of a session whose conversation the new one begins with; what is empty is as that one has it"`
	Turn         int           `json:"turn,omitempty" jsonschema:"of a fork: the turn behind which it begins; 0 means the last one. In a dir of its own, which must be empty, it gets the files of that turn"`
}

// Session describes a session.
type Session struct {
	ID           string        `json:"id"`
	Token        string        `json:"token" jsonschema:"the name of the token that has created it"`
	State        State         `json:"state"`
	Dir          string        `json:"dir"`
	Model        string        `json:"model,omitempty" jsonschema:"as provider/model; the one of the server until the session has begun"`
	Mode         permit.Mode   `json:"mode"`
	Sandbox      sandbox.Level `json:"sandbox"`
	BudgetUSD    float64       `json:"budget_usd,omitempty"`
	BudgetTokens int           `json:"budget_tokens,omitempty"`
	Created      time.Time     `json:"created"`
	Fork         string        `json:"fork,omitempty" jsonschema:"the id of the session that it is a fork of"`
	Usage        *llm.Usage    `json:"usage,omitempty" jsonschema:"the tokens until now, if this process has the session open"`
	Asks         int           `json:"asks" jsonschema:"how many asks wait for an answer"`
	LastEvent    string        `json:"last_event,omitempty" jsonschema:"the id of the newest event, if this process has the session open"`
	Problem      string        `json:"problem,omitempty" jsonschema:"why the session could not go on"`
}

// Sessions is a list of sessions, the oldest first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Reply says what became of a line that was carried out.
type Reply struct {
	Type   protocol.Type   `json:"type" jsonschema:"the type of the line"`
	ID     json.RawMessage `json:"id,omitempty" jsonschema:"the id of the line"`
	Queued bool            `json:"queued,omitempty" jsonschema:"the text waits for the end of the input that runs"`
	Status *Status         `json:"status,omitempty" jsonschema:"answers status"`
	Text   string          `json:"text,omitempty" jsonschema:"answers diff, undo and redo"`
	Plan   string          `json:"plan,omitempty" jsonschema:"names a plan that can be carried out"`
}

// Status describes a session that is open, as the line status gets it.
type Status struct {
	State    agent.Status `json:"state"`
	Mode     permit.Mode  `json:"mode"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	Effort   string       `json:"effort,omitempty"`
	Usage    llm.Usage    `json:"usage"`
	Asks     []Event      `json:"asks" jsonschema:"the events of the asks that wait for an answer"`
}

// Event is an event of a session in JSON, as docs/protocol.md lists them.
type Event = json.RawMessage

// Problem says why a request was refused, as application/problem+json (RFC 9457).
type Problem struct {
	Title  string `json:"title" jsonschema:"the text of the status"`
	Status int    `json:"status" jsonschema:"the status of the answer"`
	Code   Code   `json:"code" jsonschema:"the reason, for programs"`
	Detail string `json:"detail" jsonschema:"the reason, for people"`
}

// Code says why a request was refused, for programs.
type Code string

// The reasons.
const (
	CodeInvalid      Code = "invalid"      // the request is wrong
	CodeUnauthorized Code = "unauthorized" // the token is missing or unknown
	CodeForbidden    Code = "forbidden"    // the server or the token does not allow it
	CodeNotFound     Code = "not_found"    // there is no such path, session, output or file
	CodeConflict     Code = "conflict"     // the session is not in a state for it; an ask was answered already
	CodeTooLarge     Code = "too_large"    // the body is too large
	CodeKeyReused    Code = "key_reused"   // the Idempotency-Key has come with another request
	CodeLimit        Code = "limit"        // the token has reached a limit
	CodeStorage      Code = "storage"      // the disk of the server is full
	CodeDraining     Code = "draining"     // the server is about to end
	CodeInternal     Code = "internal"     // the server failed
)

// Health says whether the server takes requests.
type Health struct {
	Status  string `json:"status" jsonschema:"ok, or draining while the server is about to end"`
	Version string `json:"version"`
}

// The kinds of changes.
const (
	KindSnapshot = "SNAPSHOT" // Sessions has all sessions
	KindSession  = "SESSION"  // Session is new or has changed
	KindDeleted  = "DELETED"  // the session with the ID is gone
)

// Change is an event of the stream of all sessions, which begins with a snapshot.
type Change struct {
	Kind     string    `json:"kind" jsonschema:"SNAPSHOT, SESSION or DELETED"`
	Sessions []Session `json:"sessions,omitzero" jsonschema:"of a SNAPSHOT: all sessions that the token sees"`
	Session  *Session  `json:"session,omitempty" jsonschema:"of a SESSION: a session that is new or has changed"`
	ID       string    `json:"id,omitempty" jsonschema:"of a DELETED: the session that is gone"`
}
