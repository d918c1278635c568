package agent

import (
	"slices"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// State is all that a session remembers: the fold of its records and nothing else. The zero value is a session in which nothing
// has happened. Read it freely; only Fold changes it.
type State struct {
	Records int64 // folded so far
	Header  Header
	// Machine and Policy are those of the host that started or resumed the session last.
	Machine Machine
	Policy  Policy
	// Provider, Model and Effort hold from the next call on.
	Provider, Model, Effort string
	Turns                   []Turn
	// Input is the open input, nil when the session is at rest; Last is the one that ended last.
	Input, Last *Input
	Queue       []Queued
	// Calls are the calls of the last answer, until the result of the last of them is in.
	Calls []OpenCall
	// Faults are the failed attempts of the model call that is due, since the model was changed last. Failed are the models that have
	// failed for that call before.
	Faults []Fault
	Failed []ModelFailure
	// Fallback is set while a fallback is asked in place of the chosen model.
	Fallback *Fallback
	// Usage and Cost, in US dollars, are what all of it took: subagents, failed attempts and compactions included.
	Usage llm.Usage
	Cost  float64
	// Worked is the time that inputs which have ended took.
	Worked time.Duration
	// Context is how full the model's window is.
	Context Context
	// Children are the subagents.
	Children []Child
	// Notes are what the session's capabilities keep, by kind; the todo list is [tool.PlanNote].
	Notes map[string]Note
	// Seen is the content of each file that calls have read or written, as they saw it last, by its resolved path.
	Seen map[string]env.Hash
	// Steps counts the answers, Rounds the answers with calls whose results are in, Epoch what makes the requests' prefix change.
	Steps, Rounds, Epoch int

	keys       map[string]bool // of what hosts have sent
	recent     []callMark      // the newest calls, for the detection of loops
	loopWarned *Loop           // that was warned of and still goes on

	tools      []llm.ToolDefinition
	pending    *string               // the effort that holds from the next input on
	kept       map[string]keptOutput // outputs that the journal has, by id
	outputs    []outputMark          // what the store has of results that are in the turns
	tried      int                   // Steps when the last compaction failed, plus 1
	said       []message             // of people, in the order in which the model got it
	summary    string                // that the last compaction made
	compacted  int                   // compactions that were done
	warns      bool                  // the last record filled the window up to a level that was not warned of
	at         time.Time             // of the last record of the loop's work
	askedSince int                   // the epoch with which the model began to be asked
	failedIn   int                   // the epoch of the last failed attempt
	told       int                   // turns ever made
	inputs     int                   // ever begun
	seq        int64                 // of events, to go on from after a resume
	queued     int                   // entries ever queued; their ids
	messages   []llm.Message         // of the turns, after the system prompt: appended to, never changed
}

// Turn is one entry of the history.
type Turn struct {
	Number int // from 1, in the order in which they were made; a compaction does not change the others'
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
	TurnCompaction  TurnKind = "compaction"
)

// Origin says where a turn comes from.
type Origin string

// The origins.
const (
	OriginUser     Origin = "user"
	OriginModel    Origin = "model"
	OriginHistory  Origin = "history" // a message that the session began with
	OriginTools    Origin = "tools"
	OriginSteer    Origin = "steer"
	OriginLoop     Origin = "loop"        // a warning that calls repeat
	OriginNudge    Origin = "nudge"       // the task is not done as it has to be
	OriginContinue Origin = "continue"    // the last answer was cut off
	OriginEmpty    Origin = "empty"       // the last answer said nothing
	OriginStop     Origin = "before_stop" // the hook sent the agent back to work
	OriginNote     Origin = "note"        // what a note tells the model
	OriginShort    Origin = "context"     // a compaction
)

// Input is one task from its submission to its end.
type Input struct {
	Text   string
	Began  time.Time
	Usage  llm.Usage
	Cost   float64
	Turns  int // answers
	Rounds int // answers with calls whose results are in
	Final  string
	Finish llm.Finish     // of the last answer
	Done   bool           // a tool said so
	Stop   Reason         // interrupted, aborted or a budget, once it is to end
	Value  float64        // of that budget
	Reason Reason         // why it ended
	Fault  *Fault         // the failure that ended it, with Failed
	Failed []ModelFailure // each model's, if more than one was asked
	// Nudges counts those in a row, Confirms what BeforeStop sent back, Corrections the structured results that were not valid.
	Nudges, Confirms, Corrections int
	// Continues, Empties and Pauses count, in a row, how often the model was asked to go on with an answer that was cut off, how often
	// it was nudged because it said nothing, and its answers that were pauses.
	Continues, Empties, Pauses int
	// Rescued says that the history was compacted because the model call that is due did not fit.
	Rescued bool
}

// Lane is where queued text waits.
type Lane string

// The lanes.
const (
	Steering  Lane = "steer"
	FollowUps Lane = "follow_up"
	Compacts  Lane = "compact" // requests for a compaction
	Notes     Lane = "note"    // texts of notes
)

// Queued is accepted text that waits for its turn.
type Queued struct {
	ID     int
	Lane   Lane
	Text   string
	More   llm.Parts // media that go with the text
	Source string
	// Context is queued as a note's text when the entry becomes part of the history.
	Context string
}

// OpenCall is a call of the last answer.
type OpenCall struct {
	llm.ToolCall
	// Intended says that it may have run: its intent is recorded.
	Intended bool
	// Torn says that the answer was cut off in the call, Refused that the answer was refused: such a call is not run.
	Torn, Refused bool
	Result        *llm.ToolResult

	awaits *awaitRecord // the question whose answer will be the result
}

// Question returns what the call waits for an answer to, nil when it waits for none.
func (c *OpenCall) Question() *tool.Question {
	if c.awaits == nil {
		return nil
	}
	q := c.awaits
	return &tool.Question{CallID: q.CallID, Text: q.Question, Options: q.Options, Form: q.Form, Source: q.Source}
}

// Reason says why an input or a session ended.
type Reason string

// The reasons.
const (
	Completed     Reason = "completed"       // an answer without calls
	Done          Reason = "done"            // a tool said so
	MaxToolRounds Reason = "max_tool_rounds" // a limit
	MaxTurns      Reason = "max_turns"       // a limit
	Looping       Reason = "loop"            // a limit: calls repeat, and LoopPolicy.Stop is set
	BudgetTokens  Reason = "budget_tokens"   // a limit
	BudgetUSD     Reason = "budget_usd"      // a limit
	BudgetTime    Reason = "budget_time"     // a limit
	AwaitingInput Reason = "awaiting_input"  // the next input is the answer to a question
	Incomplete    Reason = "incomplete"      // the answer was cut off, or there was none, and asking the model to go on did not help
	Refused       Reason = "refused"         // by the model, or by a filter of its provider
	Interrupted   Reason = "interrupted"
	Aborted       Reason = "aborted"
	LogFull       Reason = "log_full" // the journal or the log of events has reached its limit
	Failed        Reason = "error"
	Closed        Reason = "closed" // of a session: Close
)

// Limit reports whether the reason is a limit.
func (r Reason) Limit() bool {
	return r == MaxToolRounds || r == MaxTurns || r == Looping || r.budget()
}

func (r Reason) budget() bool { return r == BudgetTokens || r == BudgetUSD || r == BudgetTime }

// totals are the sums that results are differences of.
type totals struct {
	usage                 llm.Usage
	cost                  float64
	turns, rounds, inputs int
}

func (s *State) totals() totals { return totals{s.Usage, s.Cost, s.Steps, s.Rounds, s.inputs} }

// shrink gives back what a session at rest does not need: what growing slices hold ahead, and the messages, which the turns have.
func (s *State) shrink() {
	s.Turns = slices.Clip(slices.Clone(s.Turns))
	s.messages = slices.Clip(slices.Clone(s.messages[:1]))
}

// gather returns the messages of the history, after the system prompt, before the next input.
func (s *State) gather() {
	if len(s.messages) == len(s.Turns)+1 || len(s.messages) == 0 {
		return
	}
	s.messages = slices.Grow(s.messages[:1], len(s.Turns)+8)
	for _, t := range s.Turns {
		s.messages = append(s.messages, t.Message)
	}
}

// Open returns the calls that have no result yet, in order; those that wait for an answer of the host included.
func (s *State) Open() []OpenCall {
	var open []OpenCall
	for _, c := range s.Calls {
		if c.Result == nil {
			open = append(open, c)
		}
	}
	return open
}

// awaiting returns the first call that waits for an answer of the host, nil when there is none.
func (s *State) awaiting() *OpenCall {
	for i := range s.Calls {
		if s.Calls[i].Result == nil && s.Calls[i].awaits != nil {
			return &s.Calls[i]
		}
	}
	return nil
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
	last := s.last()
	return last != nil && last.Kind == TurnAssistant && len(last.Message.Parts.ToolCalls()) == 0
}

// fault returns the last failed attempt of the call that is due, nil when there is none.
func (s *State) fault() *Fault {
	if len(s.Faults) == 0 {
		return nil
	}
	return &s.Faults[len(s.Faults)-1]
}
