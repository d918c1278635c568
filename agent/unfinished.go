package agent

import (
	"cmp"
	"slices"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// maxEmpties limits the empty answers in a row that get a nudge, maxPauses the pauses in a row.
const (
	maxEmpties = 1
	maxPauses  = 16
)

// cut reports whether the answer was cut off before its end.
func (t *Turn) cut() bool { return conversation.CutOff(t.Message.Parts, t.Finish.Reason) }

// openCalls returns the answer's calls. The last one is Torn if the answer was cut off in it. Those
// of a refused answer are Refused.
func (t *Turn) openCalls() []OpenCall {
	var open []OpenCall
	for _, call := range t.Message.Parts.ToolCalls() {
		open = append(open, OpenCall{ToolCall: call, Refused: t.Finish.Reason == llm.FinishContentFilter})
	}
	if t.cut() && conversation.TornCall(t.Message.Parts) {
		open[len(open)-1].Torn = true
	}
	return open
}

// last returns the newest turn, nil if there is none.
func (s *State) last() *Turn {
	if len(s.Turns) == 0 {
		return nil
	}
	return &s.Turns[len(s.Turns)-1]
}

// refused reports whether the last answer was refused and no turn has come since.
func (s *State) refused() bool {
	last := s.last()
	return last != nil && (last.Kind == TurnAssistant || last.Kind == TurnToolResults) &&
		s.Input.Finish.Reason == llm.FinishContentFilter
}

// modelDone reports whether the model is done: its last answer has no calls, or none that may run,
// and is not a pause.
func (s *State) modelDone() bool {
	if s.Answered() && s.last().Finish.Reason == llm.FinishPause {
		return s.Input.Pauses > maxPauses
	}
	return s.Answered() || s.refused()
}

// continues reports whether the next answer goes on where the last one stopped, so that their texts
// are joined.
func (s *State) continues() bool {
	if s.Policy.textIsResult() {
		return false
	}
	for _, t := range slices.Backward(s.Turns) {
		switch {
		case t.Origin == OriginContinue:
			return true
		case t.Origin != OriginSteer && t.Origin != OriginNote: // these may stand after it
			return t.Kind == TurnAssistant && t.Finish.Reason == llm.FinishPause
		}
	}
	return false
}

// unfinishedStep returns the step after an answer that is unfinished: the model is asked to go on,
// or the input ends. Ok is false if the answer is finished, even if it is empty.
func (s *State) unfinishedStep() (step Step, ok bool) {
	in, p := s.Input, &s.Policy
	switch last := s.last(); {
	case s.refused():
		return Step{Act: ActEndInput, Reason: ReasonRefused}, true
	case last.Finish.Reason == llm.FinishPause, last.cut() && in.Continues >= p.Continues:
		return Step{Act: ActEndInput, Reason: ReasonIncomplete}, true
	case !last.cut():
		return Step{}, false
	}
	text := goOn
	if p.textIsResult() {
		text = again
	}
	return Step{Act: ActInject, Origin: OriginContinue, Text: text}, true
}

// emptyAnswerStep returns the step after an empty answer: a nudge, later the end of the input.
func (s *State) emptyAnswerStep() Step {
	if s.Input.Empties < maxEmpties {
		return Step{Act: ActInject, Origin: OriginEmpty, Text: saySomething}
	}
	return Step{Act: ActEndInput, Reason: ReasonIncomplete}
}

const (
	goOn = "Your last response was cut off before it was finished. Go on exactly where it stopped: do not repeat what you have said, and " +
		"do not comment on this."
	again        = "Your last response was cut off before the result was complete. Give the whole result again, and make it shorter."
	saySomething = "Your last response was empty. Go on with the task; if it is done, give your final answer."
)

const (
	tornCall = "Error: the call was not run, because your response reached its length limit before the call's arguments were complete. " +
		"Make the call again with less in it, for example a long file in several parts."
	refusedCall = "Error: the call was not run, because the response that it belongs to was refused."
)

// refused reports whether the provider refused to answer the request.
func (f *Fault) refused() bool { return llm.KindNamed(f.Kind) == llm.ErrContentFilter }

// finish returns a refusal as the Finish of an answer.
func (f *Fault) finish() llm.Finish {
	return llm.Finish{Reason: llm.FinishContentFilter, Raw: cmp.Or(f.Code, f.Text)}
}
