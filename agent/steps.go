package agent

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// StepEvent is what a plain loop would tell of its work, one thing after the other: see [Steps]. It is one of [ReasoningEvent],
// [TextEvent], [StepStartEvent], [ToolCallEvent], [ToolResultEvent], [StepCompleteEvent] and [FinalResponseEvent]. Their JSON is
// flat, with the kind as "type".
type StepEvent interface{ stepEvent() }

// ReasoningEvent is one thought of the model, whole. Type is "reasoning".
type ReasoningEvent struct {
	Type Kind   `json:"type"`
	Text string `json:"text"`
}

// TextEvent is a text that the model wrote on the way to its result. Type is "text".
type TextEvent struct {
	Type Kind   `json:"type"`
	Text string `json:"text"`
}

// StepStartEvent begins a call. Type is "step_start".
type StepStartEvent struct {
	Type   Kind   `json:"type"`
	Step   int    `json:"step"` // of the input, from 1
	CallID string `json:"call_id"`
	Name   string `json:"name"`
}

// ToolCallEvent is the call. Type is "tool_call".
type ToolCallEvent struct {
	Type   Kind   `json:"type"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Args are the Arguments of [ToolCallStart]; null when the call began in an earlier run of the session. Effective is as there.
	Args      json.RawMessage `json:"args"`
	Effective json.RawMessage `json:"effective,omitempty"`
}

// ToolResultEvent is what the call came to. Type is "tool_result".
type ToolResultEvent struct {
	Type    Kind   `json:"type"`
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Result  string `json:"result"` // as Output of [ToolCallEnd]
	IsError bool   `json:"is_error"`
}

// StepCompleteEvent ends a call. Type is "step_complete".
type StepCompleteEvent struct {
	Type       Kind       `json:"type"`
	Step       int        `json:"step"`
	CallID     string     `json:"call_id"`
	Status     StepStatus `json:"status"`
	DurationMS int64      `json:"duration_ms"`
}

// StepStatus is how a call ended.
type StepStatus string

// The statuses.
const (
	StepCompleted StepStatus = "completed"
	StepError     StepStatus = "error" // its result is an error
)

// FinalResponseEvent ends an input, unless it was interrupted, was aborted or failed. Text is as in [Result]. Type is "final".
type FinalResponseEvent struct {
	Type   Kind   `json:"type"`
	Text   string `json:"text"`
	Reason Reason `json:"reason"`
}

func (ReasoningEvent) stepEvent()     {}
func (TextEvent) stepEvent()          {}
func (StepStartEvent) stepEvent()     {}
func (ToolCallEvent) stepEvent()      {}
func (ToolResultEvent) stepEvent()    {}
func (StepCompleteEvent) stepEvent()  {}
func (FinalResponseEvent) stepEvent() {}

// Steps tells the events of a session as a loop would that does one thing after the other. For each answer of the model: Reasoning,
// Text, and for each call StepStart, ToolCall, ToolResult and StepComplete, call by call in the order in which the model made them,
// also when they ran at the same time; then Final, one for each input that came to an end of its own or to a limit.
//
// The text of the last answer is in Final and comes only there. What a torn attempt said does not come at all. Events of
// subagents, live output, warnings and steering are left out; a call that asks the host and gets its answer with the next input has its
// result after the Final of the one that asked.
//
// It reads no further than it has to: an event comes as soon as its turn is certain. The sequence ends with that of the events.
func Steps(events iter.Seq[Event]) iter.Seq[StepEvent] {
	return func(yield func(StepEvent) bool) {
		s := stepper{yield: yield, next: -1}
		for ev := range events {
			if s.event(ev); s.stopped {
				return
			}
		}
	}
}

// stepper holds back what is not certain or not yet its turn.
type stepper struct {
	yield   func(StepEvent) bool
	stopped bool // the consumer has had enough

	// Of the answer that is coming, or that may be the last one.
	thought  strings.Builder
	thoughts []string
	texts    []string

	calls []*stepCall // not complete, in their order
	next  int         // the place in its answer of the call whose turn it is; -1 when some had their results before a resume
	step  int         // calls begun in this input
}

type stepCall struct {
	start *ToolCallStart
	end   *ToolCallEnd // nil while it runs
	step  int          // 0 before it is its turn
}

func (s *stepper) emit(ev StepEvent) {
	if !s.stopped {
		s.stopped = !s.yield(ev)
	}
}

func (s *stepper) event(ev Event) {
	switch e := ev.(type) {
	case *UserInput:
		if len(s.calls) == 0 { // else it answers a question
			s.step = 0
		}
	case *SessionStart:
		s.next = -1
	case *StepStart: // so the answer before was not the last one
		s.skip()
		s.tell()
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
		s.tell()
		s.begin(e)
	case *ToolCallEnd:
		s.end(e)
	case *ProcessingEnd:
		s.finish(e)
	}
}

// pause ends a thought.
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
		s.emit(ReasoningEvent{Type: "reasoning", Text: text})
	}
	s.thoughts = nil
}

// tell tells what an answer said that is not the last one.
func (s *stepper) tell() {
	s.reason()
	for _, text := range s.texts {
		s.emit(TextEvent{Type: "text", Text: text})
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

func (s *stepper) begin(e *ToolCallStart) {
	if s.find(e.CallID) != nil { // a question that is given up is dispatched a second time
		return
	}
	if s.next < 0 { // most likely the first call that is left
		s.next = e.Index
	}
	i := slices.IndexFunc(s.calls, func(c *stepCall) bool { return c.step == 0 && c.start.Index > e.Index })
	if i < 0 {
		i = len(s.calls)
	}
	s.calls = slices.Insert(s.calls, i, &stepCall{start: e})
	s.advance()
}

// skip goes on with the calls that began, when no others will: some had their results before a resume.
func (s *stepper) skip() {
	for len(s.calls) > 0 && s.calls[0].end != nil {
		s.next = s.calls[0].start.Index
		s.advance()
	}
}

func (s *stepper) end(e *ToolCallEnd) {
	c := s.find(e.CallID)
	if c == nil { // it began before a resume
		c = &stepCall{start: &ToolCallStart{CallID: e.CallID, Index: max(s.next, 0), Name: e.Name, Arguments: json.RawMessage("null")}}
		s.next = c.start.Index
		s.calls = slices.Insert(s.calls, 0, c)
	}
	c.end = e
	s.advance()
}

// advance tells of the call whose turn it is what there is, and goes on to the next when it is complete.
func (s *stepper) advance() {
	for len(s.calls) > 0 && s.calls[0].start.Index <= s.next {
		c := s.calls[0]
		if c.step == 0 {
			s.step++
			c.step = s.step
			s.emit(StepStartEvent{Type: "step_start", Step: c.step, CallID: c.start.CallID, Name: c.start.Name})
			s.emit(ToolCallEvent{Type: "tool_call", CallID: c.start.CallID, Name: c.start.Name, Args: c.start.Arguments,
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
		s.emit(ToolResultEvent{Type: "tool_result", CallID: c.end.CallID, Name: c.end.Name, Result: c.end.Output, IsError: c.end.IsError})
		s.emit(StepCompleteEvent{Type: "step_complete", Step: c.step, CallID: c.end.CallID, Status: status, DurationMS: c.end.DurationMS})
	}
}

func (s *stepper) finish(e *ProcessingEnd) {
	s.skip()
	switch e.Reason {
	case Interrupted, Aborted, Failed:
		s.tell()
		return
	}
	if strings.HasSuffix(e.Text, strings.Join(s.texts, "")) { // it may go on from answers before
		s.texts = nil
	}
	s.tell()
	s.emit(FinalResponseEvent{Type: "final", Text: e.Text, Reason: e.Reason})
}
