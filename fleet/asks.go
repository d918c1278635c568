package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// Approve asks people whether a call may run, and waits for the answer. It is a [tool.Authorize]. A
// call that waits has not begun, so its ask, and an answer that comes while nobody has the task,
// count for the next owner, too.
func (j *Job) Approve(ctx context.Context, req tool.Request) (tool.Decision, error) {
	return j.ApproveText(ctx, req, approvalText(req))
}

// ApproveText is Approve with the text that people are shown. An answer counts for that text and
// these arguments only: a call that is asked about once more, such as whether its command may run
// again outside of a sandbox, waits for another answer.
func (j *Job) ApproveText(ctx context.Context, req tool.Request, text string) (tool.Decision, error) {
	shown := sha256.Sum256([]byte(req.Call.Name + "\x00" + req.Call.Args + "\x00" + text))
	ask := Ask{Task: j.Task.ID, ID: askID(req.AgentID, req.Call.ID) + "." + hex.EncodeToString(shown[:8]),
		Kind: AskApproval, Agent: req.AgentID, Tool: req.Call.Name, Args: argsOf(req.Call.Args),
		Text: cutText(text, mostAsk), At: time.Now().UTC()}
	answer, err := j.ask(ctx, ask)
	switch {
	case err != nil:
		return tool.Decision{}, fmt.Errorf("nobody has answered: %w", err)
	case answer.Allow:
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	reason := "The call was not approved."
	if answer.Text != "" {
		reason += " " + answer.Text
	}
	return tool.Decision{Reason: reason}, nil
}

// askID returns an id that no other call of the task has.
func askID(agent, call string) string {
	if agent == "" {
		return call
	}
	return agent + "." + call
}

// mostAsk bounds each part of an ask, in bytes, so that it fits into one message of any engine,
// escaped or not.
const mostAsk = 50 << 10

// argsOf returns arguments as JSON, or as a JSON string if they are something else, or too long.
func argsOf(args string) json.RawMessage {
	if len(args) <= mostAsk && json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	text, err := json.Marshal(cutText(args, mostAsk))
	if err != nil { // a string always has JSON
		return nil
	}
	return text
}

// approvalText says to a person what the call would do.
func approvalText(req tool.Request) string {
	text := "May " + req.Call.Name + " run?"
	if req.Access.Command != "" {
		text = "May this command run?\n" + req.Access.Command
	}
	for _, g := range req.Access.Guarded {
		text += fmt.Sprintf("\nIt changes %s: %s", g.Path, g.Why)
	}
	return text
}

// ask stores an ask and waits for its answer. Meanwhile the status says that the task waits.
func (j *Job) ask(ctx context.Context, ask Ask) (Answer, error) {
	j.waiting(1)
	defer j.waiting(-1)
	asks := j.Space.Asks
	var answer Answer
	for {
		err := asks.Put(ctx, ask)
		if err == nil {
			answer, err = asks.Wait(ctx, ask.Task, ask.ID)
		}
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return answer, context.Cause(ctx)
		case !j.gate.open():
			return answer, errClosedGate
		}
		j.log.Warn("ask not answered", "ask", ask.ID, "error", err)
		pause(ctx, j.worker.TTL/20)
	}
}

// waiting adds to the number of asks that wait.
func (j *Job) waiting(by int) {
	j.update(func(s *Status) bool {
		j.asking += by
		had := s.Waits
		s.Waits = j.asking > 0
		return s.Waits != had
	})
}

// questionOf returns the call that waits for the host's answer, nil if there is none.
func questionOf(s *agent.State) *agent.OpenCall {
	for _, c := range s.Open() {
		if c.Question() != nil {
			return &c
		}
	}
	return nil
}

// mostAsked bounds how often a question is asked because its answers do not fit its form.
const mostAsked = 3

// answerQuestion asks people the question that the session waits with, and gives it the answer. It
// reports whether there was a question.
func (j *Job) answerQuestion(ctx context.Context, s *agent.Session) (bool, error) {
	call, err := j.waitingCall(ctx)
	if err != nil || call == nil {
		return false, err
	}
	problem := ""
	for n := 1; ; n++ {
		answer, err := j.ask(ctx, questionAsk(j.Task.ID, call, n, problem))
		if err != nil {
			return false, err
		}
		err = s.Answer(ctx, toolAnswer(answer), agent.Key(fmt.Sprintf("ask/%s/%d", call.ID, n)))
		switch {
		case err == nil:
			return true, nil
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.Is(err, agent.ErrClosed), errors.Is(err, agent.ErrReleased), errors.Is(err, agent.ErrTakenOver):
			return false, err
		case n == mostAsked:
			return true, s.Answer(ctx,
				tool.Answer{Action: tool.ActionCancel, Text: "No answer fitted the question's form."})
		}
		problem = err.Error()
	}
}

// waitingCall returns the call with the question that the session waits with.
func (j *Job) waitingCall(ctx context.Context) (*agent.OpenCall, error) {
	state, err := agent.Load(ctx, j.Journal)
	if err != nil {
		return nil, fmt.Errorf("the journal: %w", err)
	}
	return questionOf(state), nil
}

// questionAsk returns the n-th ask of a question. The problem is that of the answer before.
func questionAsk(task string, call *agent.OpenCall, n int, problem string) Ask {
	q := call.Question()
	ask := Ask{Task: task, ID: call.ID, Kind: AskQuestion, Tool: call.Name, Text: q.Text, At: time.Now().UTC()}
	if n > 1 {
		ask.ID = fmt.Sprintf("%s.%d", call.ID, n)
		ask.Text += "\nThe last answer did not fit: " + problem
	}
	ask.Text = cutText(ask.Text, mostAsk)
	question, err := json.Marshal(q)
	if err == nil && len(question) <= mostAsk { // only a form that is no JSON has none
		ask.Question = question
	}
	return ask
}

// toolAnswer converts an answer for the session.
func toolAnswer(a Answer) tool.Answer {
	t := tool.Answer{Text: a.Text, Content: a.Value}
	if a.Decline {
		t.Action = tool.ActionDecline
	}
	return t
}

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
