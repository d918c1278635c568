package stepstream

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// An Event is an event of a plain loop, which does one thing after the other; see [Events].
// Consumers get pointers to a [Reasoning], [Text], [Begin], [Call], [Result], [Complete] or
// [Final]. Their JSON is flat.
type Event interface{ event() }

// A Kind names a kind of event, as in JSON.
type Kind string

// The kinds of events, each named after its struct.
const (
	KindReasoning Kind = "reasoning"
	KindText      Kind = "text"
	KindBegin     Kind = "step_start"
	KindCall      Kind = "tool_call"
	KindResult    Kind = "tool_result"
	KindComplete  Kind = "step_complete"
	KindFinal     Kind = "final"
)

// Reasoning holds a whole thought of the model.
type Reasoning struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Text holds a text that the model wrote before its last answer.
type Text struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Begin begins a tool call.
type Begin struct {
	Kind   Kind   `json:"kind"`
	Step   int    `json:"step"` // counted in the input, from 1
	CallID string `json:"call_id"`
	Name   string `json:"name"`
}

// Call holds the call.
type Call struct {
	Kind   Kind   `json:"kind"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Args and Effective are the Arguments and Effective of [agent.ToolCallStart]. Args is null if
	// the call began in an earlier process.
	Args      json.RawMessage `json:"args"`
	Effective json.RawMessage `json:"effective,omitempty"`
}

// Result holds the result of the call.
type Result struct {
	Kind    Kind   `json:"kind"`
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Result  string `json:"result"` // the Output of [agent.ToolCallEnd]
	IsError bool   `json:"is_error"`
}

// Complete ends a tool call.
type Complete struct {
	Kind       Kind   `json:"kind"`
	Step       int    `json:"step"`
	CallID     string `json:"call_id"`
	Status     Status `json:"status"`
	DurationMS int64  `json:"duration_ms"`
}

// A Status says how a tool call ended.
type Status string

// The statuses.
const (
	StatusCompleted Status = "completed"
	StatusError     Status = "error" // its result is an error
)

// Final ends an input that was not interrupted or aborted and has not failed. Text is that of
// [agent.Result].
type Final struct {
	Kind   Kind         `json:"kind"`
	Text   string       `json:"text"`
	Reason agent.Reason `json:"reason"`
}

func (*Reasoning) event() {}
func (*Text) event()      {}
func (*Begin) event()     {}
func (*Call) event()      {}
func (*Result) event()    {}
func (*Complete) event()  {}
func (*Final) event()     {}

// Events yields the events of a session as a plain loop would emit them, which does one thing after
// the other. A step is a tool call there. Each answer of the model gives a Reasoning for each
// thought and a Text for each text, and then Begin, Call, Result and Complete for each call. Calls
// come in the order of the answer, even if they ran at the same time. Each input that ended by
// itself or at a limit gives a Final.
//
// The text of the last answer is only in Final. Texts of failed attempts, events of subagents,
// live output, warnings and steering are left out. If the host answers a call's question with the
// next input, the call's result comes after the Final of the input that asked.
//
// Each event is yielded as soon as its place is certain. The sequence ends when events ends.
func Events(events iter.Seq[agent.Event]) iter.Seq[Event] {
	return func(yield func(Event) bool) {
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
	yield   func(Event) bool
	stopped bool // the consumer has stopped

	// Of the newest answer, which may be the last one.
	thought  strings.Builder
	thoughts []string
	texts    []string

	calls []*call // not yet complete, in order
	// the index of the current call in its answer; -1 after a resume, where some calls already have
	// results
	next int
	step int // how many calls have begun in this input
}

type call struct {
	start *agent.ToolCallStart
	end   *agent.ToolCallEnd // nil while it runs
	step  int                // 0 before its turn
}

func (s *stepper) emit(ev Event) {
	if !s.stopped {
		s.stopped = !s.yield(ev)
	}
}

func (s *stepper) take(ev agent.Event) {
	switch e := ev.(type) {
	case *agent.UserInput:
		if len(s.calls) == 0 { // otherwise it answers a question
			s.step = 0
		}
	case *agent.SessionStart:
		s.next = -1
	case *agent.StepStart: // the answer before was not the last one
		s.skip()
		s.emitTexts()
	case *agent.ThinkingDelta:
		s.thought.WriteString(e.Text)
	case *agent.AssistantTextStart:
		s.pause()
	case *agent.AssistantTextEnd:
		if !e.Discarded {
			s.texts = append(s.texts, e.Text)
		}
	case *agent.LLMRetry:
		s.forget()
	case *agent.StepEnd:
		if s.pause(); e.FinishReason == llm.FinishError && len(s.texts) == 0 {
			s.forget()
		}
		s.next = 0
		s.reason()
	case *agent.ToolCallStart:
		s.emitTexts()
		s.beginCall(e)
	case *agent.ToolCallEnd:
		s.endCall(e)
	case *agent.ProcessingEnd:
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
		s.emit(&Reasoning{Kind: KindReasoning, Text: text})
	}
	s.thoughts = nil
}

// emitTexts emits the thoughts and texts of an answer that is not the last one.
func (s *stepper) emitTexts() {
	s.reason()
	for _, text := range s.texts {
		s.emit(&Text{Kind: KindText, Text: text})
	}
	s.texts = nil
}

func (s *stepper) find(id string) *call {
	i := slices.IndexFunc(s.calls, func(c *call) bool { return c.start.CallID == id })
	if i < 0 {
		return nil
	}
	return s.calls[i]
}

func (s *stepper) beginCall(e *agent.ToolCallStart) {
	if s.find(e.CallID) != nil { // the call of an unanswered question starts a second time
		return
	}
	if s.next < 0 { // probably the first call without a result
		s.next = e.Index
	}
	i := slices.IndexFunc(s.calls, func(c *call) bool { return c.step == 0 && c.start.Index > e.Index })
	if i < 0 {
		i = len(s.calls)
	}
	s.calls = slices.Insert(s.calls, i, &call{start: e})
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

func (s *stepper) endCall(e *agent.ToolCallEnd) {
	c := s.find(e.CallID)
	if c == nil { // the call began before a resume
		c = &call{start: &agent.ToolCallStart{CallID: e.CallID, Index: max(s.next, 0), Name: e.Name,
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
			s.emit(&Begin{Kind: KindBegin, Step: c.step, CallID: c.start.CallID, Name: c.start.Name})
			s.emit(&Call{Kind: KindCall, CallID: c.start.CallID, Name: c.start.Name, Args: c.start.Arguments,
				Effective: c.start.Effective})
		}
		if c.end == nil {
			return
		}
		s.calls = s.calls[1:]
		s.next = max(s.next, c.start.Index+1)
		status := StatusCompleted
		if c.end.IsError {
			status = StatusError
		}
		s.emit(&Result{Kind: KindResult, CallID: c.end.CallID, Name: c.end.Name, Result: c.end.Output,
			IsError: c.end.IsError})
		s.emit(&Complete{Kind: KindComplete, Step: c.step, CallID: c.end.CallID, Status: status,
			DurationMS: c.end.DurationMS})
	}
}

func (s *stepper) endInput(e *agent.ProcessingEnd) {
	s.skip()
	switch e.Reason {
	case agent.ReasonInterrupted, agent.ReasonAborted, agent.ReasonFailed:
		s.emitTexts()
		return
	}
	if strings.HasSuffix(e.Text, strings.Join(s.texts, "")) { // it may include the texts of earlier answers
		s.texts = nil
	}
	s.emitTexts()
	s.emit(&Final{Kind: KindFinal, Text: e.Text, Reason: e.Reason})
}
