package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// Client is the editor, as one session sees it. Its methods are safe for concurrent use.
type Client struct{ session *session }

// Event shows an event of the session. It is for [agent.Options].OnEvent.
func (c *Client) Event(ev agent.Event) { c.session.shown.event(ev, false) }

// Warn shows a person something that they should know.
func (c *Client) Warn(text string) {
	c.session.shown.mu.Lock()
	defer c.session.shown.mu.Unlock()
	c.session.shown.notice("warning", text)
}

// Say shows the person a message of the host itself, in Markdown.
func (c *Client) Say(text string) {
	c.session.shown.mu.Lock()
	defer c.session.shown.mu.Unlock()
	c.session.shown.say("\n\n" + sanitize.Text(text) + "\n\n")
}

// Changed tells the editor that options of the session may have changed.
func (c *Client) Changed() { c.session.changed() }

// Permission asks a person about a tool call.
type Permission struct {
	Call    llm.ToolCall
	Access  tool.Access
	AgentID string // a subagent's id; empty for the session's own calls
	// Changes are what the call would do to files, with diffs.
	Changes []tool.Change
	// Text says what else the person should know. Markdown is shown as such.
	Text, Markdown string
	// Options lists the answers that the person can choose.
	Options []PermissionOption
}

// PermissionOption is an answer that a person can choose.
type PermissionOption struct {
	ID   string           `json:"optionId"`
	Name string           `json:"name"`
	Kind PermissionAnswer `json:"kind"`
}

// PermissionAnswer says what an option means, for editors that show an icon.
type PermissionAnswer string

// The meanings of options.
const (
	AllowOnce    PermissionAnswer = "allow_once"
	AllowAlways  PermissionAnswer = "allow_always"
	RejectOnce   PermissionAnswer = "reject_once"
	RejectAlways PermissionAnswer = "reject_always"
)

// ErrDismissed says that the person has closed a question without an answer.
var ErrDismissed = errors.New("the question was closed without an answer")

// Ask returns the id of the option that a person has chosen. It waits until there is an answer, ctx
// ends or the editor is gone. An answer that was not offered is an error.
func (c *Client) Ask(ctx context.Context, p Permission) (string, error) {
	var answer struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	asked := members{"sessionId": c.session.id, "toolCall": c.session.shown.asked(&p), "options": p.Options}
	err := c.session.server.conn.call(ctx, methodPermission, asked, &answer)
	switch {
	case err != nil:
		return "", err
	case answer.Outcome.Outcome == "cancelled":
		return "", ErrDismissed
	case answer.Outcome.Outcome != "selected":
		return "", fmt.Errorf("the editor has answered with an unknown outcome %q",
			shortened(answer.Outcome.Outcome, 100))
	}
	for _, o := range p.Options {
		if o.ID == answer.Outcome.Option {
			return o.ID, nil
		}
	}
	return "", fmt.Errorf("the editor has answered with an unknown option %q", shortened(answer.Outcome.Option, 100))
}

// Confirm asks a person whether the host may do something that is no call of the model, such as an
// undo. The editor shows it as a call with this name.
func (c *Client) Confirm(ctx context.Context, name, text string) (bool, error) {
	call := llm.ToolCall{ID: rand.Text(), Name: name, Args: "{}"}
	id, err := c.Ask(ctx, Permission{Call: call, Text: text,
		Options: []PermissionOption{{"yes", "Yes", AllowOnce}, {"no", "No", RejectOnce}}})
	c.Event(&agent.ToolCallEnd{CallID: call.ID, Name: name, IsError: id != "yes"})
	if errors.Is(err, ErrDismissed) {
		err = nil
	}
	return id == "yes", err
}

// The limits of what a question shows of the changes that a call would make.
const (
	previewTime  = 5 * time.Second
	previewDiffs = 256 << 10 // bytes
)

// Approve asks a person about a call, whose changes of files it shows: once yes or no. It is for
// [agent.Hooks].Approve of programs that have no rules.
func (c *Client) Approve(ctx context.Context, req tool.Request) (tool.Decision, error) {
	within, cancel := context.WithTimeout(ctx, previewTime)
	changes, _ := req.Preview(within, previewDiffs) // without them the arguments tell
	cancel()
	id, err := c.Ask(ctx, Permission{Call: req.Call, Access: req.Access, AgentID: req.AgentID, Changes: changes,
		Options: []PermissionOption{{"yes", "Allow", AllowOnce}, {"no", "Reject", RejectOnce}}})
	switch {
	case ctx.Err() != nil:
		return tool.Decision{}, context.Cause(ctx)
	case err != nil:
		return tool.Decision{Reason: err.Error()}, nil
	case id == "yes":
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return tool.Decision{Reason: "the user said no"}, nil
}

// Questions returns how the model's questions are answered: by forms of the editor, or, if it has
// none, by the next prompt.
func (c *Client) Questions() *agent.Questions {
	if !c.session.shown.forms {
		return &agent.Questions{}
	}
	return &agent.Questions{Answer: c.answer}
}

// answer asks a person a question of the model by a form.
func (c *Client) answer(ctx context.Context, q tool.Question) (tool.Answer, error) {
	form := formOf(q.Options)
	if q.Form != nil {
		form = shownForm(q.Form)
	}
	var answer struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	text := q.Text
	if q.Problem != "" {
		text += "\n\nThe last answer does not fit: " + q.Problem
	}
	if q.Source != "" {
		text = q.Source + " asks: " + text
	}
	asked := members{"sessionId": c.session.id, "mode": "form", "message": visible(text), "requestedSchema": form}
	err := c.session.server.conn.call(ctx, methodElicitation, asked, &answer)
	if err != nil {
		return tool.Answer{}, err
	}
	switch answer.Action {
	case "accept":
	case "decline":
		return tool.Answer{Action: tool.ActionDecline}, nil
	default:
		return tool.Answer{Action: tool.ActionCancel}, nil
	}
	if q.Form != nil {
		return tool.Answer{Content: answer.Content}, nil
	}
	var filled struct{ Choice, Answer string }
	if err := json.Unmarshal(answer.Content, &filled); err != nil {
		return tool.Answer{}, fmt.Errorf("the editor's answer cannot be read: %w", err)
	}
	text = strings.TrimSpace(chosen(q.Options, filled.Choice) + "\n" + filled.Answer)
	if text == "" {
		return tool.Answer{Action: tool.ActionDecline}, nil
	}
	return tool.Answer{Text: text}, nil
}

// questionText returns a question that the next prompt answers.
func questionText(q tool.Question) string {
	text := "\n\n"
	if q.Source != "" {
		text += oneLine(q.Source) + " asks: "
	}
	text += sanitize.Text(q.Text) + "\n"
	for i, option := range q.Options {
		text += fmt.Sprintf("\n%d. %s", i+1, oneLine(option))
	}
	if q.Form != nil {
		text += "\nAnswer with JSON of this form:\n" + fenced(sanitize.Text(string(q.Form)))
	}
	if q.Problem != "" {
		text += "\nThe last answer does not fit: " + oneLine(q.Problem)
	}
	return sanitize.Blanks(text) + "\n"
}
