package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// mostAsked limits how often a question is asked while its answers do not fit its form.
const mostAsked = 3

// errUnanswered tells the model of a question that was interrupted, in place of the error with
// which the host's code ended.
var errUnanswered = errors.New("the question was not answered, because the session was interrupted")

// Ask implements [tool.Session]. If the answer is to come with the next input, the call stays open
// when the tool returns.
func (t *toolSession) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	if t.questions == nil || q.Now && t.questions.Answer == nil {
		return tool.Answer{}, tool.ErrNobody
	}
	q.Text, q.CallID, q.Problem = validText(q.Text), t.call.Call.ID, ""
	check, err := q.Checker()
	if err != nil {
		return tool.Answer{}, err
	}
	asked, err := questionOf(q)
	if err != nil {
		return tool.Answer{}, err
	}
	if t.questions.Answer == nil {
		t.call.awaits.Store(asked)
		return tool.Answer{}, tool.ErrLater
	}
	t.wait(1)
	over := sync.OnceFunc(func() { t.wait(-1) })
	defer over()
	defer context.AfterFunc(ctx, over)() // an Answer that ignores its context must not count any more
	for range mostAsked {
		requested := asked.event()
		requested.Problem = q.Problem
		t.events.emit(requested)
		answer, err := t.ask(ctx, q)
		switch {
		case err != nil && ctx.Err() != nil && !isHostError(err):
			return answer, errUnanswered
		case err != nil:
			return answer, err
		}
		if answer, err = check(answer); err == nil {
			t.call.answers.add(q.Text, answer)
			return answer, nil
		}
		q.Problem = err.Error()
	}
	return tool.Answer{}, fmt.Errorf("the question was asked %d times and not answered in its form (the last time: %s)",
		mostAsked, q.Problem)
}

// questionOf returns the record of a question.
func questionOf(q tool.Question) (*awaitRecord, error) {
	asked := &awaitRecord{CallID: q.CallID, Question: q.Text, Options: q.Options, Source: validText(q.Source)}
	if q.Form == nil {
		return asked, nil
	}
	var form bytes.Buffer
	err := json.Compact(&form, q.Form)
	asked.Form = form.Bytes()
	return asked, err
}

// ask calls Questions.Answer once. A panic there ends the session.
func (t *toolSession) ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	answer, err := guard.Value("Questions.Answer", func() (tool.Answer, error) { return t.questions.Answer(ctx, q) })
	if err = hostError(err); isHostError(err) {
		t.breakDown(err)
	}
	answer.Text = validText(answer.Text)
	return answer, err
}

// event returns the event of a question.
func (r *awaitRecord) event() *InputRequested {
	return &InputRequested{CallID: r.CallID, Question: r.Question, Options: r.Options, Form: r.Form, Source: r.Source}
}

// questions returns the events of all questions that wait for an answer, for the host of a resumed
// session.
func (s *State) questions() []Event {
	var open []Event
	for _, c := range s.Open() {
		if c.awaits != nil {
			open = append(open, c.awaits.event())
		}
	}
	return open
}

// wait adds to the number of questions that the host is answering.
func (t *toolSession) wait(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking += by
}

// answers collects the answers that people gave while a call ran.
type answers struct {
	mu   sync.Mutex
	list []exchange
}

func (a *answers) add(question string, answer tool.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, exchange{question, answer})
}

// of returns the answers for the record of the call's result. If the result is the only answer, it
// returns just its question.
func (a *answers) of(o *tool.Outcome) (asked string, others []exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 1 && !o.IsError && a.list[0].String() == o.Content.Text() {
		return a.list[0].Question, nil
	}
	return "", a.list
}

// Answer answers the question that the session waits for, and leaves going on to Continue; Submit
// does both, with a text. An answer that does not fit the question's form is an error. When Answer
// returns nil, the answer is in the journal. The end of ctx ends the wait for the journal, which
// may have the answer all the same.
func (s *Session) Answer(ctx context.Context, answer tool.Answer, more ...SendOption) error {
	m := sending{text: answer.Text}
	for _, option := range more {
		option(&m)
	}
	if err := m.check(); err != nil {
		return err
	}
	about := Message{Kind: MessageAnswer, Action: answer.Action, Content: answer.Content}
	question := s.waitingQuestion()
	if question != nil {
		about.Question = question.awaits.Question
		if err := s.admit(ctx, &m, about); err != nil {
			return err
		}
	}
	input := inputRecord{Text: m.text, More: m.parts, Context: m.context, Key: m.key, Action: answer.Action}
	return s.updateDurably(ctx, func() ([]record, error) {
		if s.state.hasKey(input) {
			return nil, nil
		}
		asked := s.state.awaiting()
		// BeforeInput was asked about another question, or about none
		if asked == nil || s.state.Input != nil || question == nil || question.ID != asked.ID {
			return nil, errors.New("agent: no question waits for an answer; use Submit, Steer or FollowUp")
		}
		s.interrupted.Store(false) // it came before this answer
		return asked.answered(input, answer.Content)
	})
}

// waitingQuestion returns the question that the next input answers, nil if that is a task.
func (s *Session) waitingQuestion() *OpenCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.state.awaiting(); open != nil && s.state.Input == nil {
		asked := *open
		return &asked
	}
	return nil
}

// answered returns the records that make an input the result of the call that asked for it, or an
// error if it does not fit the question's form. Both are written together, so that a crash loses
// neither.
func (c *OpenCall) answered(input inputRecord, content json.RawMessage) ([]record, error) {
	answer := tool.Answer{Action: input.Action, Text: input.Text, Content: content}
	q := tool.Question{Form: c.awaits.Form}
	if check, err := q.Checker(); err == nil { // a damaged journal may have a form that is no schema
		if answer, err = check(answer); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
	}
	if answer.Content != nil {
		answer.Text = string(answer.Content)
	}
	input.Text, input.Answers = answer.Text, c.ID
	parts := append(llm.TextParts(answer.String()), input.More...)
	return []record{input, resultRecord{CallID: c.ID, Name: c.Name, Content: parts, Bytes: int64(len(parts.Text()))}},
		nil
}
