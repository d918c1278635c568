package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// mostAsked is how often a question is asked until its answer fits its form.
const mostAsked = 3

// Ask asks the host. Where the answer is to come with the next input, the call is marked, and stays open when the tool returns.
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
		t.call.later.Store(asked)
		return tool.Answer{}, tool.ErrLater
	}
	t.wait(1)
	over := sync.OnceFunc(func() { t.wait(-1) })
	defer over()
	defer context.AfterFunc(ctx, over)() // an answer that does not care about its context holds up nothing
	for range mostAsked {
		requested := asked.event()
		requested.Problem = q.Problem
		t.events.emit(requested)
		answer, err := t.ask(ctx, q)
		if err != nil {
			return answer, err
		}
		if answer, err = check(answer); err == nil {
			t.call.heard.add(q.Text, answer)
			return answer, nil
		}
		q.Problem = err.Error()
	}
	return tool.Answer{}, fmt.Errorf("the question was asked %d times and not answered in its form (the last time: %s)", mostAsked, q.Problem)
}

// questionOf returns a question as the journal has it.
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

// ask asks the host once. A panic of its code ends the session.
func (t *toolSession) ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	answer, err := guard.Value("Questions.Answer", func() (tool.Answer, error) { return t.questions.Answer(ctx, q) })
	if err = hostError(err); isHostError(err) {
		t.giveUp(err)
	}
	answer.Text = validText(answer.Text)
	return answer, err
}

// event returns what the host is told of a question.
func (r *awaitRecord) event() *InputRequested {
	return &InputRequested{CallID: r.CallID, Question: r.Question, Options: r.Options, Form: r.Form, Source: r.Source}
}

// questions are those that wait for an answer, as a session that is resumed tells its host again.
func (s *State) questions() []Event {
	var open []Event
	for _, c := range s.Open() {
		if c.Question != nil {
			open = append(open, c.Question.event())
		}
	}
	return open
}

// wait counts the questions that the host is answering.
func (t *toolSession) wait(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking += by
}

// answers are what people answered while a call ran.
type answers struct {
	mu   sync.Mutex
	list []exchange
}

func (a *answers) add(question string, answer tool.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, exchange{question, answer})
}

// of returns the answers as the record of the call's result has them: not a second time where the result is the answer.
func (a *answers) of(o *tool.Outcome) (asked string, others []exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 1 && !o.IsError && a.list[0].String() == o.Content.Text() {
		return a.list[0].Question, nil
	}
	return "", a.list
}

// checkAnswer returns an input as the answer to the question that waits for one, if one does. An error says how it does not fit the
// question's form.
func (s *Session) checkAnswer(input inputRecord) (*inputRecord, error) {
	s.mu.Lock()
	open, running := s.state.awaiting(), s.state.Input != nil
	s.mu.Unlock()
	if open == nil || running || input.Continue {
		return &input, nil
	}
	q := tool.Question{Form: open.Question.Form}
	check, err := q.Checker()
	if err != nil { // of a damaged journal: nobody could answer it any more
		return &input, nil
	}
	answer, err := check(tool.Answer{Action: input.Action, Text: input.Text})
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	if answer.Content != nil {
		input.Text = string(answer.Content)
	}
	return &input, nil
}

// answer makes an input the result of the call that asked for it. The two are written together: an input without its answer would
// lose it.
func (s *Session) answer(asked llm.ToolCall, input *inputRecord) error {
	content := append(llm.TextParts(tool.Answer{Action: input.Action, Text: input.Text}.String()), input.More...)
	err := s.commit(inputRecord{Text: input.Text, More: input.More, Answers: asked.ID, Action: input.Action},
		resultRecord{CallID: asked.ID, Name: asked.Name, Content: content, Bytes: int64(len(content.Text()))})
	s.events.flush()
	return err
}
