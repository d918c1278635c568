package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNobody means that nobody can answer a question.
var ErrNobody = errors.New("nobody can answer questions in this session")

// ErrLater means that the answer comes with the host's next input and becomes the call's result.
// What the tool returns then is ignored.
var ErrLater = errors.New("the answer comes with the next input")

// Question holds what a tool asks a person.
type Question struct {
	Text    string
	Options []string // suggested answers; the person may give another one
	// Form, if set, is the JSON Schema of an object that the person fills in. The answer is then in
	// [Answer].Content.
	Form json.RawMessage
	// Source names who asks, such as the server that a tool works for. Empty means the model.
	Source string
	// Now says that the tool needs the answer while it runs: if answers come with the next input,
	// Ask returns ErrNobody instead of ErrLater.
	Now bool

	// CallID is the id of the asking call. Problem says why the previous answer was not accepted.
	// The session sets both.
	CallID  string
	Problem string
}

// Action says what a person did with a question. The zero value means that there is an answer.
type Action string

// The actions.
const (
	ActionAccept  Action = ""        // answered the question
	ActionDecline Action = "decline" // refused to answer
	ActionCancel  Action = "cancel"  // closed the question without a decision
)

// String returns the action's name in protocols, such as the Model Context Protocol: accept,
// decline or cancel.
func (a Action) String() string {
	if a == ActionAccept {
		return "accept"
	}
	return string(a)
}

// Answer holds a person's answer.
type Answer struct {
	Action Action `json:"action,omitempty"`
	// Text is the answer. If the person declined or canceled, it may say why.
	Text string `json:"text,omitempty"`
	// Content is the answer to a question with a form: a JSON object that fits the form.
	Content json.RawMessage `json:"content,omitempty"`
}

// String returns the text that the model reads as the call's result. If the person declined or
// canceled, it says what to do next.
func (a Answer) String() string {
	told := ""
	switch a.Action {
	case ActionDecline:
		told = "The user declined to answer this question. Do not ask it again: go on without the answer, and say " +
			"what you assumed instead."
	case ActionCancel:
		told = "The user closed this question without answering it. Go on without the answer if you can; ask again " +
			"only if there is no other way."
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

// Checker returns a function that checks answers. The function returns the answer with its content
// coerced to the form, or an error that tells the person what to change. If an answer has no
// Content, JSON in its Text is used, so that a host without forms can answer too. Checker fails if
// the form is not the JSON Schema of an object.
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

// validateAnswer returns the answer with content that fits the form.
func (s *schema) validateAnswer(a Answer) (Answer, error) {
	text := string(a.Content)
	if a.Content == nil {
		text = a.Text
	}
	if trimmed := strings.TrimSpace(text); trimmed != "" && (trimmed[0] != '{' || !json.Valid([]byte(trimmed))) {
		return Answer{}, errors.New(
			"the question has a form; answer it with one JSON object that has the form's fields")
	}
	fitted := s.validate(text)
	if fitted.problem != "" {
		return Answer{}, fmt.Errorf("the answer does not fit the form: %s", fitted.problem)
	}
	var compact bytes.Buffer // the form that a journal stores
	if err := json.Compact(&compact, []byte(fitted.args)); err != nil {
		return Answer{}, err
	}
	return Answer{Content: compact.Bytes()}, nil
}

// checkText checks an answer without content.
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
	return Answer{}, fmt.Errorf("there is no action %q; it is empty for an answer, or %q or %q", a.Action,
		ActionDecline, ActionCancel)
}
