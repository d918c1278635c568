package agent

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// A StepEvent is an event of a plain loop, which does one thing after the other; see [Steps].
// Consumers get pointers to a [StepReasoning], [StepText], [StepBegin], [StepCall], [StepResult],
// [StepComplete] or [StepFinal]. Their JSON is flat.
type StepEvent interface{ stepEvent() }

// A StepKind names a kind of step event, as in JSON.
type StepKind string

// The kinds of step events, each named after its struct.
const (
	StepKindReasoning StepKind = "reasoning"
	StepKindText      StepKind = "text"
	StepKindBegin     StepKind = "step_start"
	StepKindCall      StepKind = "tool_call"
	StepKindResult    StepKind = "tool_result"
	StepKindComplete  StepKind = "step_complete"
	StepKindFinal     StepKind = "final"
)

// StepReasoning holds a whole thought of the model.
type StepReasoning struct {
	Kind StepKind `json:"kind"`
	Text string   `json:"text"`
}

// StepText holds a text that the model wrote before its last answer.
type StepText struct {
	Kind StepKind `json:"kind"`
	Text string   `json:"text"`
}

// StepBegin begins a tool call.
type StepBegin struct {
	Kind   StepKind `json:"kind"`
	Step   int      `json:"step"` // counted in the input, from 1
	CallID string   `json:"call_id"`
	Name   string   `json:"name"`
}

// StepCall holds the call.
type StepCall struct {
	Kind   StepKind `json:"kind"`
	CallID string   `json:"call_id"`
	Name   string   `json:"name"`
	// Args and Effective are the Arguments and Effective of [ToolCallStart]. Args is null if the
	// call began in an earlier process.
	Args      json.RawMessage `json:"args"`
	Effective json.RawMessage `json:"effective,omitempty"`
}

// StepResult holds the result of the call.
type StepResult struct {
	Kind    StepKind `json:"kind"`
	CallID  string   `json:"call_id"`
	Name    string   `json:"name"`
	Result  string   `json:"result"` // the Output of [ToolCallEnd]
	IsError bool     `json:"is_error"`
}

// StepComplete ends a tool call.
type StepComplete struct {
	Kind       StepKind   `json:"kind"`
	Step       int        `json:"step"`
	CallID     string     `json:"call_id"`
	Status     StepStatus `json:"status"`
	DurationMS int64      `json:"duration_ms"`
}

// A StepStatus says how a tool call ended.
type StepStatus string

// The statuses.
const (
	StepCompleted StepStatus = "completed"
	StepError     StepStatus = "error" // its result is an error
)

// StepFinal ends an input that was not interrupted or aborted and has not failed. Text is that of
// [Result].
type StepFinal struct {
	Kind   StepKind `json:"kind"`
	Text   string   `json:"text"`
	Reason Reason   `json:"reason"`
}

func (*StepReasoning) stepEvent() {}
func (*StepText) stepEvent()      {}
func (*StepBegin) stepEvent()     {}
func (*StepCall) stepEvent()      {}
func (*StepResult) stepEvent()    {}
func (*StepComplete) stepEvent()  {}
func (*StepFinal) stepEvent()     {}

// Steps yields the events of a session as a plain loop would emit them, which does one thing after
// the other. A step is a tool call there. Each answer of the model gives a StepReasoning for each
// thought and a StepText for each text, and then StepBegin, StepCall, StepResult and StepComplete
// for each call. Calls come in the order of the answer, even if they ran at the same time. Each
// input that ended by itself or at a limit gives a StepFinal.
//
// The text of the last answer is only in StepFinal. Texts of failed attempts, events of subagents,
// live output, warnings and steering are left out. If the host answers a call's question with the
// next input, the call's result comes after the StepFinal of the input that asked.
//
// Each event is yielded as soon as its place is certain. The sequence ends when events ends.
func Steps(events iter.Seq[Event]) iter.Seq[StepEvent] {
	return func(yield func(StepEvent) bool) {
		s := stepper{yield: yield, next: -1}
		for ev := range events {
			if s.take(ev); s.stopped {
				return
			}
		}
	}
}

// A stepper holds back events whose turn has not come.
type stepper struct {
	yield   func(StepEvent) bool
	stopped bool // the consumer has stopped

	// Of the newest answer, which may be the last one.
	thought  strings.Builder
	thoughts []string
	texts    []string

	calls []*stepCall // not yet complete, in order
	// the index of the current call in its answer; -1 after a resume, where some calls already have
	// results
	next int
	step int // how many calls have begun in this input
}

type stepCall struct {
	start *ToolCallStart
	end   *ToolCallEnd // nil while it runs
	step  int          // 0 before its turn
}

func (s *stepper) emit(ev StepEvent) {
	if !s.stopped {
		s.stopped = !s.yield(ev)
	}
}

func (s *stepper) take(ev Event) {
	switch e := ev.(type) {
	case *UserInput:
		if len(s.calls) == 0 { // otherwise it answers a question
			s.step = 0
		}
	case *SessionStart:
		s.next = -1
	case *StepStart: // the answer before was not the last one
		s.skip()
		s.emitTexts()
	case *ThinkingDelta:
		s.thought.WriteString(e.Text)
	case *AssistantTextStart:
		s.pause()
	case *AssistantTextEnd:
		if !e.Discarded {
			s.texts = append(s.texts, e.Text)
		}
	case *LLMRetry:
		s.forget()
	case *StepEnd:
		if s.pause(); e.FinishReason == llm.FinishError && len(s.texts) == 0 {
			s.forget()
		}
		s.next = 0
		s.reason()
	case *ToolCallStart:
		s.emitTexts()
		s.beginCall(e)
	case *ToolCallEnd:
		s.endCall(e)
	case *ProcessingEnd:
		s.endInput(e)
	}
}

// pause ends the current thought.
func (s *stepper) pause() {
	if s.thought.Len() > 0 {
		s.thoughts = append(s.thoughts, s.thought.String())
		s.thought.Reset()
	}
}

func (s *stepper) forget() {
	s.thought.Reset()
	s.thoughts, s.texts = nil, nil
}

func (s *stepper) reason() {
	for _, text := range s.thoughts {
		s.emit(&StepReasoning{Kind: StepKindReasoning, Text: text})
	}
	s.thoughts = nil
}

// emitTexts emits the thoughts and texts of an answer that is not the last one.
func (s *stepper) emitTexts() {
	s.reason()
	for _, text := range s.texts {
		s.emit(&StepText{Kind: StepKindText, Text: text})
	}
	s.texts = nil
}

func (s *stepper) find(id string) *stepCall {
	i := slices.IndexFunc(s.calls, func(c *stepCall) bool { return c.start.CallID == id })
	if i < 0 {
		return nil
	}
	return s.calls[i]
}

func (s *stepper) beginCall(e *ToolCallStart) {
	if s.find(e.CallID) != nil { // the call of an unanswered question starts a second time
		return
	}
	if s.next < 0 { // probably the first call without a result
		s.next = e.Index
	}
	i := slices.IndexFunc(s.calls, func(c *stepCall) bool { return c.step == 0 && c.start.Index > e.Index })
	if i < 0 {
		i = len(s.calls)
	}
	s.calls = slices.Insert(s.calls, i, &stepCall{start: e})
	s.advance()
}

// skip goes on with the calls that have begun, if no others will begin because their results came
// before a resume.
func (s *stepper) skip() {
	for len(s.calls) > 0 && s.calls[0].end != nil {
		s.next = s.calls[0].start.Index
		s.advance()
	}
}

func (s *stepper) endCall(e *ToolCallEnd) {
	c := s.find(e.CallID)
	if c == nil { // the call began before a resume
		c = &stepCall{start: &ToolCallStart{CallID: e.CallID, Index: max(s.next, 0), Name: e.Name,
			Arguments: json.RawMessage("null")}}
		s.next = c.start.Index
		s.calls = slices.Insert(s.calls, 0, c)
	}
	c.end = e
	s.advance()
}

// advance emits all available events of the current call, and goes on to the next one when it is
// complete.
func (s *stepper) advance() {
	for len(s.calls) > 0 && s.calls[0].start.Index <= s.next {
		c := s.calls[0]
		if c.step == 0 {
			s.step++
			c.step = s.step
			s.emit(&StepBegin{Kind: StepKindBegin, Step: c.step, CallID: c.start.CallID, Name: c.start.Name})
			s.emit(&StepCall{Kind: StepKindCall, CallID: c.start.CallID, Name: c.start.Name, Args: c.start.Arguments,
				Effective: c.start.Effective})
		}
		if c.end == nil {
			return
		}
		s.calls = s.calls[1:]
		s.next = max(s.next, c.start.Index+1)
		status := StepCompleted
		if c.end.IsError {
			status = StepError
		}
		s.emit(&StepResult{Kind: StepKindResult, CallID: c.end.CallID, Name: c.end.Name, Result: c.end.Output,
			IsError: c.end.IsError})
		s.emit(&StepComplete{Kind: StepKindComplete, Step: c.step, CallID: c.end.CallID, Status: status,
			DurationMS: c.end.DurationMS})
	}
}

func (s *stepper) endInput(e *ProcessingEnd) {
	s.skip()
	switch e.Reason {
	case ReasonInterrupted, ReasonAborted, ReasonFailed:
		s.emitTexts()
		return
	}
	if strings.HasSuffix(e.Text, strings.Join(s.texts, "")) { // it may include the texts of earlier answers
		s.texts = nil
	}
	s.emitTexts()
	s.emit(&StepFinal{Kind: StepKindFinal, Text: e.Text, Reason: e.Reason})
}
