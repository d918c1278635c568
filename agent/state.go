package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
)

// State is all that a session remembers: the fold of its records and nothing else. The zero value is a session in which nothing
// has happened. Read it freely; only Fold changes it.
type State struct {
	Records int64 // folded so far
	Header  Header
	// Provider, Model and Effort hold from the next call on.
	Provider, Model, Effort string
	Turns                   []Turn
	// Input is the open input, nil when the session is at rest; Last is the one that ended last.
	Input, Last *Input
	Queue       []Queued
	// Calls are the calls of the last answer, until the result of the last of them is in.
	Calls []OpenCall
	// Faults are the failed attempts of the model call that is due.
	Faults []Fault
	Usage  llm.Usage
	// Steps counts the answers, Rounds the answers with calls whose results are in, Epoch what makes the requests' prefix change.
	Steps, Rounds, Epoch int

	seq      int64         // of events, to go on from after a resume
	queued   int           // entries ever queued; their ids
	messages []llm.Message // of the turns, after the system prompt: appended to, never changed
}

// Turn is one entry of the history.
type Turn struct {
	Kind   TurnKind
	Origin Origin
	Time   time.Time
	// Message is what the model sees of the turn.
	Message llm.Message

	// Of an assistant turn.
	Usage      llm.Usage
	Finish     llm.Finish
	ResponseID string
}

// TurnKind is a kind of turn.
type TurnKind string

// The kinds of turn.
const (
	TurnUser        TurnKind = "user"
	TurnAssistant   TurnKind = "assistant"
	TurnToolResults TurnKind = "tool_results"
	TurnSystem      TurnKind = "system"
	TurnSteering    TurnKind = "steering"
)

// Origin says where a turn comes from.
type Origin string

// The origins.
const (
	OriginUser  Origin = "user"
	OriginModel Origin = "model"
	OriginTools Origin = "tools"
	OriginSteer Origin = "steer"
)

// Input is one task from its submission to its end.
type Input struct {
	Text   string
	Usage  llm.Usage
	Turns  int // answers
	Rounds int // answers with calls whose results are in
	Final  string
	Done   bool   // a tool said so
	Stop   Reason // interrupted or aborted, once asked for
	Reason Reason // why it ended
	Fault  *Fault // the failure that ended it, with Failed
}

// Lane is where queued text waits.
type Lane string

// The lanes.
const (
	Steering  Lane = "steer"
	FollowUps Lane = "follow_up"
)

// Queued is accepted text that waits for its turn.
type Queued struct {
	ID     int
	Lane   Lane
	Text   string
	Source string
}

// OpenCall is a call of the last answer.
type OpenCall struct {
	llm.ToolCall
	// Intended says that it may have run: its intent is recorded.
	Intended bool
	Result   *llm.ToolResult
}

// Reason says why an input or a session ended.
type Reason string

// The reasons.
const (
	Completed     Reason = "completed"       // an answer without calls
	Done          Reason = "done"            // a tool said so
	MaxToolRounds Reason = "max_tool_rounds" // a limit
	MaxTurns      Reason = "max_turns"       // a limit
	Interrupted   Reason = "interrupted"
	Aborted       Reason = "aborted"
	Failed        Reason = "error"
	Closed        Reason = "closed" // of a session: Close
)

// Limit reports whether the reason is a limit.
func (r Reason) Limit() bool { return r == MaxToolRounds || r == MaxTurns }

// Fold adds a journal line to the state. An error says that the line cannot be read; the state is then as it was.
func (s *State) Fold(line journal.Record) error {
	rec, err := decodeRecord(line)
	if err != nil {
		return err
	}
	if err := s.accepts(rec); err != nil {
		return fmt.Errorf("agent: record %d: %w", line.N, err)
	}
	s.fold(rec, line.Time)
	s.seq = seqOf(line.Data)
	if end, ok := rec.(endRecord); !ok || !end.Session {
		s.seq += seqReserve
	}
	return nil
}

// seqReserve is left free in the numbers of events when a session is resumed that did not end in good order: for the deltas that
// its host had seen after the last record.
const seqReserve = 1 << 20

// totals are the sums that results are differences of.
type totals struct {
	usage         llm.Usage
	turns, rounds int
}

func (s *State) totals() totals { return totals{s.Usage, s.Steps, s.Rounds} }

// accepts reports a record that cannot come now: a damaged journal, or a mistake of ours.
func (s *State) accepts(rec record) error {
	problem := ""
	switch r := rec.(type) {
	case headerRecord:
		if s.Records > 0 {
			problem = "a second header"
		}
		return problemError(rec, problem)
	case inputRecord:
		if s.Input != nil {
			problem = "an input is open"
		} else if r.Continue && s.Last == nil {
			problem = "there is no input to continue"
		}
	case resultRecord:
		if s.open(r.CallID) == nil {
			problem = fmt.Sprintf("no call %q is open", r.CallID)
		}
		return problemError(rec, problem)
	case answerRecord, intentRecord, faultRecord, stopRecord, turnRecord:
		if s.Input == nil {
			problem = "no input is open"
		}
	case endRecord:
		switch {
		case r.Session:
		case s.Input == nil:
			problem = "no input is open"
		case r.Reason == Failed && s.fault() == nil:
			problem = "nothing has failed"
		}
	}
	if len(s.Calls) > 0 && !betweenCalls(rec) {
		problem = "calls have no result yet"
	}
	if s.Records == 0 {
		problem = "the header is missing"
	}
	return problemError(rec, problem)
}

// betweenCalls reports whether a record may come between calls and their results.
func betweenCalls(rec record) bool {
	switch rec.(type) {
	case intentRecord, stopRecord, queuedRecord, settingRecord:
		return true
	}
	return false
}

func problemError(rec record, problem string) error {
	if problem == "" {
		return nil
	}
	return fmt.Errorf("%s record out of place: %s", rec.kind(), problem)
}

func (s *State) fold(rec record, at time.Time) {
	s.Records++
	switch r := rec.(type) {
	case headerRecord:
		s.Header, s.Provider, s.Model, s.Effort = r.Header, r.Provider, r.Model, r.Effort
		s.messages = append(s.messages, llm.System(r.System))
	case inputRecord:
		s.foldInput(r, at)
	case queuedRecord:
		s.queued++
		s.Queue = append(s.Queue, Queued{ID: s.queued, Lane: r.Lane, Text: r.Text, Source: r.Source})
	case turnRecord:
		s.dequeue(r.Queued)
		s.turn(Turn{Kind: TurnSteering, Origin: r.Origin, Time: at, Message: llm.User(r.Text)})
	case answerRecord:
		s.foldAnswer(r, at)
	case intentRecord:
		for _, call := range r.Calls {
			if open := s.open(call.ID); open != nil {
				open.Intended = true
			}
		}
	case resultRecord:
		s.foldResult(r, at)
	case faultRecord:
		s.Faults = append(s.Faults, r.Fault)
		s.spend(r.Usage)
	case settingRecord:
		s.foldSettings(r.Settings)
	case stopRecord:
		s.Input.Stop = r.Reason
	case endRecord:
		s.foldEnd(r)
	}
}

func (s *State) foldInput(r inputRecord, at time.Time) {
	if r.Continue {
		s.Input = &Input{Text: s.Last.Text}
		return
	}
	s.dequeue(r.Queued)
	s.Input = &Input{Text: r.Text}
	s.turn(Turn{Kind: TurnUser, Origin: OriginUser, Time: at, Message: llm.User(r.Text, r.More...)})
}

func (s *State) foldAnswer(r answerRecord, at time.Time) {
	s.turn(Turn{Kind: TurnAssistant, Origin: OriginModel, Time: at, Message: r.Message, Usage: r.Usage, Finish: r.Finish,
		ResponseID: r.ResponseID})
	s.Steps++
	s.Faults = nil
	s.spend(r.Usage)
	s.Input.Turns++
	s.Input.Final = r.Message.Parts.Text()
	for _, call := range r.Message.Parts.ToolCalls() {
		s.Calls = append(s.Calls, OpenCall{ToolCall: call})
	}
}

// foldResult makes the tool_results turn when the last result is in: results stand right after their calls, in the order of
// the calls, by construction.
func (s *State) foldResult(r resultRecord, at time.Time) {
	call := s.open(r.CallID)
	call.Result = &llm.ToolResult{CallID: r.CallID, Name: r.Name, Content: r.Content, IsError: r.IsError, Free: call.Free}
	if r.Done {
		s.Input.Done, s.Input.Final = true, r.Final
	}
	results := make([]llm.ToolResult, 0, len(s.Calls))
	for _, call := range s.Calls {
		if call.Result == nil {
			return
		}
		results = append(results, *call.Result)
	}
	s.Calls = nil
	s.Input.Rounds++
	s.Rounds++
	s.turn(Turn{Kind: TurnToolResults, Origin: OriginTools, Time: at, Message: llm.ToolResults(results...)})
}

// foldSettings begins a new epoch where the next request does not go on where the last one ended.
func (s *State) foldSettings(set Settings) {
	provider, model := s.Provider, s.Model
	for _, change := range []struct{ to, from *string }{{&s.Provider, set.Provider}, {&s.Model, set.Model}, {&s.Effort, set.Effort}} {
		if change.from != nil {
			*change.to = *change.from
		}
	}
	if s.Provider != provider || s.Model != model {
		s.Epoch++
	}
}

func (s *State) foldEnd(r endRecord) {
	if r.Reason == Aborted || r.Reason == Failed {
		s.Queue = slices.DeleteFunc(s.Queue, func(q Queued) bool { return q.Lane == FollowUps })
	}
	if r.Session {
		return
	}
	s.Input.Reason = r.Reason
	if r.Reason == Failed {
		s.Input.Fault = s.fault()
	}
	s.Last, s.Input = s.Input, nil
	s.Faults = nil
}

func (s *State) turn(t Turn) {
	s.Turns = append(s.Turns, t)
	s.messages = append(s.messages, t.Message)
}

func (s *State) spend(u llm.Usage) {
	s.Usage = s.Usage.Add(u)
	s.Input.Usage = s.Input.Usage.Add(u)
}

// open finds a call that has no result yet, nil when there is none of that id.
func (s *State) open(id string) *OpenCall {
	for i := range s.Calls {
		if s.Calls[i].ID == id && s.Calls[i].Result == nil {
			return &s.Calls[i]
		}
	}
	return nil
}

func (s *State) dequeue(id int) {
	s.Queue = slices.DeleteFunc(s.Queue, func(q Queued) bool { return q.ID == id })
}

// Open returns the calls that have no result yet, in order.
func (s *State) Open() []OpenCall {
	var open []OpenCall
	for _, c := range s.Calls {
		if c.Result == nil {
			open = append(open, c)
		}
	}
	return open
}

// Queued returns the first entry of a lane, nil when it is empty.
func (s *State) Queued(lane Lane) *Queued {
	for i := range s.Queue {
		if s.Queue[i].Lane == lane {
			return &s.Queue[i]
		}
	}
	return nil
}

// Answered reports whether the last turn is an answer without calls.
func (s *State) Answered() bool {
	if len(s.Turns) == 0 {
		return false
	}
	last := s.Turns[len(s.Turns)-1]
	return last.Kind == TurnAssistant && len(last.Message.Parts.ToolCalls()) == 0
}

// fault is the last failed attempt of the call that is due, nil when there is none.
func (s *State) fault() *Fault {
	if len(s.Faults) == 0 {
		return nil
	}
	return &s.Faults[len(s.Faults)-1]
}
