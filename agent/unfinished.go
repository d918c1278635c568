package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// The most empty answers in a row that are followed by a nudge, and how often in a row a model may pause.
const (
	maxEmpties = 1
	maxPauses  = 16
)

// cut reports whether the answer ended before the model had said all that it wanted to.
func (t *Turn) cut() bool {
	switch t.Finish.Reason {
	case "", llm.FinishStop, llm.FinishPause, llm.FinishContentFilter:
		return false
	case llm.FinishToolCalls:
		return len(t.Message.Parts.ToolCalls()) == 0
	}
	return true // length, and reasons that nobody knows
}

// empty reports whether the answer says nothing and does nothing.
func (t *Turn) empty() bool {
	return !slices.ContainsFunc(t.Message.Parts, func(part llm.Part) bool {
		switch p := part.(type) {
		case llm.Text:
			return strings.TrimSpace(p.Text) != ""
		case llm.ToolCall, llm.Media:
			return true
		}
		return false
	})
}

// openCalls returns the answer's calls. The last one is torn if the answer was cut off in it, and none of a refused answer may run.
func (t *Turn) openCalls() []OpenCall {
	var open []OpenCall
	for _, call := range t.Message.Parts.ToolCalls() {
		open = append(open, OpenCall{ToolCall: call, Refused: t.Finish.Reason == llm.FinishContentFilter})
	}
	parts := t.Message.Parts
	for len(parts) > 0 && (&Turn{Message: llm.Message{Parts: parts[len(parts)-1:]}}).empty() {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 0 || !t.cut() {
		return open
	}
	if last, ok := parts[len(parts)-1].(llm.ToolCall); ok {
		open[len(open)-1].Torn = last.Free || !json.Valid([]byte(last.Args))
	}
	return open
}

// last returns the newest turn, nil when there is none.
func (s *State) last() *Turn {
	if len(s.Turns) == 0 {
		return nil
	}
	return &s.Turns[len(s.Turns)-1]
}

// refused reports whether the last answer was refused and nothing was said to the model since.
func (s *State) refused() bool {
	last := s.last()
	return last != nil && (last.Kind == TurnAssistant || last.Kind == TurnToolResults) && s.Input.Finish.Reason == llm.FinishContentFilter
}

// concluded reports whether the model has nothing more to do: its last answer has no calls, or none that may run, and is no pause.
func (s *State) concluded() bool {
	if s.Answered() && s.last().Finish.Reason == llm.FinishPause {
		return s.Input.Pauses > maxPauses
	}
	return s.Answered() || s.refused()
}

// continues reports whether the next answer goes on where the last one stopped, so that their texts are one.
func (s *State) continues() bool {
	if s.Policy.textIsResult() {
		return false
	}
	for _, t := range slices.Backward(s.Turns) {
		switch {
		case t.Origin == OriginContinue:
			return true
		case t.Origin != OriginSteer && t.Origin != OriginNote: // which may come after it
			return t.Kind == TurnAssistant && t.Finish.Reason == llm.FinishPause
		}
	}
	return false
}

// unfinished returns what an answer that is none leads to: the model is asked to go on, or the input ends. Ok is false for an answer
// that was finished, were it an empty one.
func (s *State) unfinished() (step Step, ok bool) {
	in, p := s.Input, &s.Policy
	switch last := s.last(); {
	case s.refused():
		return Step{Act: ActEndInput, Reason: Refused}, true
	case last.Finish.Reason == llm.FinishPause, last.cut() && in.Continues >= p.Continues:
		return Step{Act: ActEndInput, Reason: Incomplete}, true
	case !last.cut():
		return Step{}, false
	}
	text := goOn
	if p.textIsResult() {
		text = again
	}
	return Step{Act: ActInject, Origin: OriginContinue, Text: text}, true
}

// silent returns what an empty answer leads to: a nudge, then the end of the input.
func (s *State) silent() Step {
	if s.Input.Empties < maxEmpties {
		return Step{Act: ActInject, Origin: OriginEmpty, Text: saySomething}
	}
	return Step{Act: ActEndInput, Reason: Incomplete}
}

const (
	goOn = "Your last answer was cut off before it was finished. Go on exactly where it stopped: do not repeat what you have said, and " +
		"do not comment on this."
	again        = "Your last answer was cut off before the result was complete. Give the whole result again, and make it shorter."
	saySomething = "Your last answer was empty. Go on with the task; if it is done, say what you did and what came of it."
)

const (
	tornCall = "Error: the call was not run, because your answer reached its length limit before the call's arguments were complete. " +
		"Make the call again with less in it, for example a long file in several parts."
	refusedCall = "Error: the call was not run, because the answer that it belongs to was refused."
)

// contextFull returns the failure that an answer is for which the model's window was too small: its text is as useless as that of a torn
// attempt.
func contextFull(resp *llm.Response) error {
	if resp.Finish.Reason != llm.FinishContextLength {
		return nil
	}
	return &llm.Error{Kind: llm.ErrContextLength, Provider: resp.Provider, Code: resp.Finish.Raw, Usage: resp.Usage, Final: true,
		Message: "the model's window was full before its answer was finished"}
}

// useless returns the failure that an answer outside of the history is when it was refused or the model's window was full.
func useless(resp *llm.Response) error {
	if resp.Finish.Reason == llm.FinishContentFilter {
		return &llm.Error{Kind: llm.ErrContentFilter, Provider: resp.Provider, Code: resp.Finish.Raw, Usage: resp.Usage, Final: true,
			Message: "the model or its provider refused to answer"}
	}
	return contextFull(resp)
}

// asideOf returns the text of an answer outside of the history. One that was cut off says so: most of it is better than nothing.
func asideOf(resp *llm.Response) string {
	text := validText(resp.Text())
	answer := Turn{Message: resp.Message, Finish: resp.Finish}
	if answer.cut() && strings.TrimSpace(text) != "" {
		text += "\n[The text was cut off here.]"
	}
	return text
}

// refused reports that the provider would not answer the request.
func (f *Fault) refused() bool { return llm.Kind(f.Kind) == llm.ErrContentFilter }

// finish returns the refusal in the form that one in an answer has.
func (f *Fault) finish() llm.Finish {
	return llm.Finish{Reason: llm.FinishContentFilter, Raw: first(f.Code, f.Text)}
}
