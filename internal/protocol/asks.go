package protocol

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// Asks is an Inbox whose asks are events of the host.
type Asks struct {
	*permit.Inbox
	describe func(permit.Question) string

	mu     sync.Mutex
	events map[string]attractor.Event // of the open asks
}

// NewAsks returns Asks without a time limit. It gives tell each new ask, as an [ApprovalRequested]
// or [QuestionAsked], and later its [AskEnded]; tell must not wait. Describe returns the text for
// people about a call; nil means that there is none.
func NewAsks(tell func(attractor.Event), describe func(permit.Question) string) *Asks {
	a := &Asks{events: map[string]attractor.Event{}, describe: describe}
	a.Inbox = permit.NewInbox(func(ask permit.Ask) {
		ev := askEvent(ask)
		a.mu.Lock()
		a.events[ask.ID] = ev
		a.mu.Unlock()
		tell(ev)
	}, func(id string, how permit.End) {
		a.mu.Lock()
		delete(a.events, id)
		a.mu.Unlock()
		tell(&AskEnded{EventHeader: agent.EventHeader{Kind: KindAskEnded}, ID: id, End: how})
	})
	return a
}

// Approve implements [permit.Asker].
func (a *Asks) Approve(ctx context.Context, q permit.Question) (permit.Answer, error) {
	if a.describe != nil {
		q.Text = a.describe(q)
	}
	return a.Inbox.Approve(ctx, q)
}

// Events returns the events of the asks that wait for an answer, the oldest first.
func (a *Asks) Events() (events []attractor.Event) {
	open := a.Open()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ask := range open {
		if ev := a.events[ask.ID]; ev != nil { // else it has ended meanwhile
			events = append(events, ev)
		}
	}
	return events
}

// The kinds of events about asks.
const (
	KindApprovalRequested agent.Kind = "APPROVAL_REQUESTED"
	KindQuestionAsked     agent.Kind = "QUESTION"
	KindAskEnded          agent.Kind = "ASK_ENDED"
)

// ApprovalRequested asks whether a tool call may run.
type ApprovalRequested struct {
	agent.EventHeader
	ID     string `json:"ask"`
	CallID string `json:"call_id"`
	// AgentID names the subagent that made the call. It is empty for the session itself.
	AgentID string `json:"agent_id,omitempty"`
	Tool    string `json:"tool"`
	// Arguments holds a JSON object, or {"_raw": "..."} if the arguments are none.
	Arguments json.RawMessage `json:"arguments"`
	Access    tool.Access     `json:"access"`
	// The following fields are those of [permit.Question].
	Rule    string        `json:"rule,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Reasons []string      `json:"reasons,omitempty"` // if there are several
	Allow   []string      `json:"allow,omitempty"`
	Project string        `json:"project,omitempty"`
	Dir     string        `json:"dir,omitempty"`
	Links   []permit.Link `json:"links,omitempty"`
	Refused []string      `json:"refused,omitempty"`
	Plan    string        `json:"plan,omitempty"`
	Problem string        `json:"problem,omitempty"`
	// Text tells a person all of this.
	Text string `json:"text,omitempty"`
}

// QuestionAsked asks a question of the model, or of what Source names. The fields are those of
// [tool.Question].
type QuestionAsked struct {
	agent.EventHeader
	ID       string          `json:"ask"`
	CallID   string          `json:"call_id"`
	Question string          `json:"question"`
	Options  []string        `json:"options,omitempty"`
	Form     json.RawMessage `json:"form,omitempty"`
	Source   string          `json:"source,omitempty"`
	Problem  string          `json:"problem,omitempty"`
}

// AskEnded tells that an ask has ended.
type AskEnded struct {
	agent.EventHeader
	ID  string     `json:"ask"`
	End permit.End `json:"how"`
}

// askEvent returns the event that tells of an ask.
func askEvent(ask permit.Ask) attractor.Event {
	if q := ask.Question; q != nil {
		return &QuestionAsked{EventHeader: agent.EventHeader{Kind: KindQuestionAsked}, ID: ask.ID, CallID: q.CallID,
			Question: q.Text, Options: q.Options, Form: q.Form, Source: q.Source, Problem: q.Problem}
	}
	q := ask.Approval
	var reasons []string
	if len(q.Reasons) > 1 {
		reasons = q.Reasons
	}
	return &ApprovalRequested{EventHeader: agent.EventHeader{Kind: KindApprovalRequested}, ID: ask.ID,
		CallID: q.Call.ID, AgentID: q.AgentID,
		Tool: q.Call.Name, Arguments: conversation.Arguments(q.Call.Args), Access: q.Access, Rule: q.Rule,
		Reason: q.Reason, Reasons: reasons, Allow: q.Allow, Project: q.Project, Dir: q.CommandDir,
		Links: q.Links, Refused: q.Refused, Plan: q.Plan, Problem: q.Problem, Text: q.Text}
}
