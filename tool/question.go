package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNobody means that a question has nobody to answer it.
var ErrNobody = errors.New("nobody can answer questions in this session")

// ErrLater means that the answer comes with the host's next input, as the call's result: whatever the tool returns then does not count.
var ErrLater = errors.New("the answer comes with the next input")

// Question is asked of a person.
type Question struct {
	Text    string
	Options []string // to choose from; any text may still come back
	// Form, when set, is a JSON Schema of an object whose properties the person is asked for. The answer is then [Answer].Content.
	Form json.RawMessage
	// Source names who asks, such as a server that a tool works for; empty means the model.
	Source string
	// Now says that the tool needs the answer while it runs: where answers come with the next input, Ask returns ErrNobody, not ErrLater.
	Now bool

	// CallID is the call that asks. Problem says why the answer before this one was not taken. The session sets both.
	CallID  string
	Problem string
}

// Action is what a person did with a question. The zero value is an answer.
type Action string

// The actions.
const (
	ActionAccept  Action = ""        // answered it
	ActionDecline Action = "decline" // said that there will be no answer
	ActionCancel  Action = "cancel"  // closed it, and did not choose
)

// String returns the action's name in protocols, such as the Model Context Protocol: accept, decline or cancel.
func (a Action) String() string {
	if a == ActionAccept {
		return "accept"
	}
	return string(a)
}

// Answer is what came back.
type Answer struct {
	Action Action `json:"action,omitempty"`
	// Text is the answer. With an action that is none, it may say why.
	Text string `json:"text,omitempty"`
	// Content is the answer to a question with a form: a JSON object that fits it.
	Content json.RawMessage `json:"content,omitempty"`
}

// String returns the answer as a tool's result tells it to the model. One that was declined or canceled says what to do about it.
func (a Answer) String() string {
	told := ""
	switch a.Action {
	case ActionDecline:
		told = "The user declined to answer this question. Do not ask it again: go on without the answer, and say what you assumed instead."
	case ActionCancel:
		told = "The user closed this question without answering it. Go on without the answer if you can; ask again only if there is no other way."
	default:
		if a.Content != nil {
			return string(a.Content)
		}
		return a.Text
	}
	if why := strings.TrimSpace(a.Text); why != "" {
		told += " The user said: " + why
	}
	return told
}

// Checker returns the function that checks answers to the question: it returns an answer with its content as the form wants it, or an
// error that tells the person what to change. JSON in Answer.Text is taken as the content where there is none, so that a host without
// forms can answer, too. Checker's own error means that the form is no JSON Schema of an object.
func (q *Question) Checker() (func(Answer) (Answer, error), error) {
	if q.Form == nil {
		return q.checkText, nil
	}
	form, err := parseSchema(q.Form, "field")
	if err != nil {
		return nil, fmt.Errorf("the question's form: %w", err)
	}
	return func(a Answer) (Answer, error) {
		if a.Action != ActionAccept {
			return q.checkText(a)
		}
		return form.validateAnswer(a)
	}, nil
}

// validateAnswer returns an answer whose content fits the form.
func (s *schema) validateAnswer(a Answer) (Answer, error) {
	text := string(a.Content)
	if a.Content == nil {
		text = a.Text
	}
	if trimmed := strings.TrimSpace(text); trimmed != "" && (trimmed[0] != '{' || !json.Valid([]byte(trimmed))) {
		return Answer{}, errors.New("the question has a form; answer it with one JSON object that has the form's fields")
	}
	fitted := s.validate(text)
	if fitted.problem != "" {
		return Answer{}, fmt.Errorf("the answer does not fit the form: %s", fitted.problem)
	}
	var compact bytes.Buffer // as a journal would have it
	if err := json.Compact(&compact, []byte(fitted.args)); err != nil {
		return Answer{}, err
	}
	return Answer{Content: compact.Bytes()}, nil
}

// checkText checks an answer that fills no form.
func (q *Question) checkText(a Answer) (Answer, error) {
	switch a.Action {
	case ActionDecline, ActionCancel:
		a.Content = nil
		return a, nil
	case ActionAccept:
		if a.Content != nil && a.Text == "" {
			return Answer{}, errors.New("the question has no form; answer it with a text")
		}
		return Answer{Text: a.Text}, nil
	}
	return Answer{}, fmt.Errorf("there is no action %q; it is empty for an answer, or %q or %q", a.Action, ActionDecline, ActionCancel)
}
