package agent

import (
	"slices"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// State holds all that a session remembers. It is the fold of the session's records and nothing
// else; its zero value is a session without records. Only Fold changes it.
type State struct {
	Records int64 // how many were folded
	Header  Header
	// Machine and Policy are the current ones.
	Machine Machine
	Policy  Policy
	// Provider, Model and Effort are those of the next model call.
	Provider, Model, Effort string
	Turns                   []Turn
	// Input is the open input, nil if the session is at rest. Last is the input that ended last.
	Input, Last *Input
	Queue       []Queued
	// Calls holds the calls of the last answer until all have results.
	Calls  []OpenCall
	places map[string]int // the places of ids in Calls
	closed int            // the first calls of Calls that have results
	// Faults holds the failed attempts of the current model call since the model changed last.
	// Failed holds the models that have failed for that call before.
	Faults []Fault
	Failed []ModelFailure
	// Fallback is set while a fallback is asked in place of the chosen model.
	Fallback *Fallback
	// Usage and Cost, in US dollars, are those of the whole session, with subagents, failed
	// attempts and compactions.
	Usage llm.Usage
	Cost  float64
	// Worked is the time that all ended inputs took.
	Worked time.Duration
	// Context estimates the size of the next request.
	Context Context
	// Children holds all subagents.
	Children []Child
	// Notes holds the newest note of each kind. The todo list is [tool.PlanNote].
	Notes map[string]Note
	// Seen holds the hash of each file as a call last read or wrote it, by its resolved path.
	Seen map[string]env.Hash
	// Steps counts answers, Rounds the answers with calls whose results are in, Epoch the changes
	// of the requests' prefix.
	Steps, Rounds, Epoch int

	// of all messages with a key: how an input with it has ended; nil for another message, and
	// before
	keys       map[string]*Result
	recent     []callMark // the newest calls, for the detection of loops
	loopWarned *Loop      // the model was warned of it, and it goes on

	mended             map[ModelName]mended // what requests to a model leave out; replaced, never changed
	accepted           []accepted           // what each model has answered to last; replaced, never changed
	tools              []llm.ToolDefinition
	pending            *string               // the effort that holds from the next input on
	kept               map[string]keptOutput // outputs in the journal, by id
	outputs            []outputMark          // whole outputs of results in the turns
	compactionFailedAt int                   // Steps when the last compaction failed, plus 1
	compactedAt        int                   // the estimate behind the last compaction, also a failed one, in tokens
	uncounted          bool                  // no answer has been counted since that compaction
	said               []conversation.Said   // messages of people, in the order of their turns
	summary            string                // of the last compaction
	compacted          int                   // how many compactions there were
	// by kind, the number of the turn with the text of the newest note; replaced, never changed
	noteTurns  map[string]int
	warnWindow bool      // the last record filled the window to a level without a warning
	at         time.Time // the time of the last record of the loop
	answered   answered  // the last answer, as the provider's cache has it
	askedSince int       // the first epoch of the current model
	failedIn   int       // the epoch of the last failed attempt
	turnCount  int       // how many turns there ever were
	inputs     int       // how many inputs have begun
	seq        int64     // of the newest event, where a resume goes on
	size       int64     // about how many bytes the journal has
	queued     int       // how many entries were ever queued; the newest id
	partial    bool      // records are missing, see [Projection]
	unsettled  bool      // there may have been failed attempts of the current model call among them
	// the system prompt and those of the turns, nil at rest; appended to, never changed
	messages []llm.Message
}

// Turn holds an entry of the history.
type Turn struct {
	Number int // from 1, in the order of creation; a compaction does not change the numbers of the others
	Kind   TurnKind
	Origin Origin
	Time   time.Time
	// Message holds the turn as the model gets it.
	Message llm.Message
	Note    string // the kind of the note whose text it is

	// Of an assistant turn.
	Usage      llm.Usage
	Finish     llm.Finish
	ResponseID string
}

// A TurnKind is a kind of turn.
type TurnKind string

// The kinds of turn.
const (
	TurnUser        TurnKind = "user"
	TurnAssistant   TurnKind = "assistant"
	TurnToolResults TurnKind = "tool_results"
	TurnSteering    TurnKind = "steering"
	TurnCompaction  TurnKind = "compaction"
)

// An Origin says where a turn comes from.
type Origin string

// The origins.
const (
	OriginUser     Origin = "user"
	OriginModel    Origin = "model"
	OriginHistory  Origin = "history" // a message that the session began with
	OriginTools    Origin = "tools"
	OriginSteer    Origin = "steer"
	OriginLoop     Origin = "loop"        // a warning that calls repeat
	OriginNudge    Origin = "nudge"       // something is missing for the task to be done
	OriginContinue Origin = "continue"    // the last answer was cut off
	OriginEmpty    Origin = "empty"       // the last answer was empty
	OriginStop     Origin = "before_stop" // the hook sent the agent back to work
	OriginNote     Origin = "note"        // the text of a note
	OriginShort    Origin = "context"     // a compaction
)

// Input describes a task from its submission to its end.
type Input struct {
	Text   string
	Key    string // of its message, see [Key]; follow-ups have that of the input before
	Began  time.Time
	Usage  llm.Usage
	Cost   float64
	Turns  int // answers
	Rounds int // answers with calls whose results are in
	Final  string
	Finish llm.Finish     // of the last answer
	Done   bool           // a tool said so
	Ending Reason         // interrupted, aborted or a budget, once it has to end
	Value  float64        // of that budget
	Reason Reason         // why it ended
	Fault  *Fault         // the failure that ended it, with Failed
	Failed []ModelFailure // the failure of each model, if more than one was asked
	// Nudges counts nudges in a row, Confirms how often BeforeStop sent the agent back, Corrections
	// invalid structured results.
	Nudges, Confirms, Corrections int
	// Continues, Empties and Pauses count in a row how often the model was asked to go on with an
	// answer that was cut off, the nudges after empty answers, and the answers that were pauses.
	Continues, Empties, Pauses int
	// Rejections holds what providers said that rejected the conversation, and that was mended.
	Rejections []string
	// Unconfirmed is that of a [Result].
	Unconfirmed bool
	// Rescued reports that the history was compacted because the current model call did not fit.
	Rescued bool
}

// A Lane is a queue for text.
type Lane string

// The lanes.
const (
	LaneSteering    Lane = "steer"
	LaneFollowUps   Lane = "follow_up"
	LaneCompactions Lane = "compact" // requests for a compaction
	LaneNotes       Lane = "note"    // texts of notes
)

// Queued holds accepted text that is not yet in the history.
type Queued struct {
	ID     int
	Lane   Lane
	Text   string
	More   llm.Parts // beside the text
	Source string
	// Context is queued like the text of a note when the entry joins the history.
	Context string
	// Note is the kind of the note whose text it is.
	Note string
}

// OpenCall holds a call of the last answer.
type OpenCall struct {
	llm.ToolCall
	// Intended reports that its intent is recorded, so it may have run.
	Intended bool
	// Torn reports that the answer was cut off within the call, Refused that the answer was
	// refused. Such calls are not run.
	Torn, Refused bool
	Result        *llm.ToolResult

	awaits    *awaitRecord // the question whose answer is the result
	elsewhere bool         // it was open when the session was forked from the one in which it was made
	unseen    bool         // the record of the answer is missing, so that nothing but the id is known
}

// Question returns the question that the call waits for, nil if there is none.
func (c *OpenCall) Question() *tool.Question {
	if c.awaits == nil {
		return nil
	}
	q := c.awaits
	return &tool.Question{CallID: q.CallID, Text: q.Question, Options: q.Options, Form: q.Form, Source: q.Source}
}

// A Reason says why an input or a session ended.
type Reason string

// The reasons.
const (
	ReasonCompleted     Reason = "completed"       // an answer without calls
	ReasonDone          Reason = "done"            // a tool said so
	ReasonMaxToolRounds Reason = "max_tool_rounds" // a limit
	ReasonMaxTurns      Reason = "max_turns"       // a limit
	ReasonLoop          Reason = "loop"            // a limit: calls repeat, and LoopPolicy.EndInput is set
	ReasonBudgetTokens  Reason = "budget_tokens"   // a limit
	ReasonBudgetUSD     Reason = "budget_usd"      // a limit
	ReasonBudgetTime    Reason = "budget_time"     // a limit
	ReasonAwaitingInput Reason = "awaiting_input"  // the next input answers a question
	// the answer was cut off or empty, and asking the model to go on did not help
	ReasonIncomplete  Reason = "incomplete"
	ReasonRefused     Reason = "refused" // by the model, or by a filter of its provider
	ReasonInterrupted Reason = "interrupted"
	ReasonAborted     Reason = "aborted"
	ReasonLogFull     Reason = "log_full" // the journal has reached its limit
	ReasonFailed      Reason = "error"
	ReasonClosed      Reason = "closed" // of a session: Close
)

// Limit reports whether the reason is a limit.
func (r Reason) Limit() bool {
	return r == ReasonMaxToolRounds || r == ReasonMaxTurns || r == ReasonLoop || r.budget()
}

func (r Reason) budget() bool {
	return r == ReasonBudgetTokens || r == ReasonBudgetUSD || r == ReasonBudgetTime
}

// totals holds the sums of a session. A Result has differences of two.
type totals struct {
	usage                 llm.Usage
	cost                  float64
	turns, rounds, inputs int
}

func (s *State) totals() totals { return totals{s.Usage, s.Cost, s.Steps, s.Rounds, s.inputs} }

// shrink frees memory that an idle session does not need: the spare capacity of slices, and the
// messages, which the turns also have.
func (s *State) shrink() {
	s.Turns = slices.Clip(slices.Clone(s.Turns))
	s.messages = nil
}

// Prompt returns what the next request is made of so far: the definitions of the tools, and the
// messages. The first of those has the system prompt, and the others are the turns. They must not
// be changed. A session at rest has no messages.
func (s *State) Prompt() ([]llm.ToolDefinition, []llm.Message) { return s.offered(), s.messages }

// gather rebuilds the messages from the system prompt and the turns, before the next input.
func (s *State) gather() {
	if len(s.messages) == len(s.Turns)+1 || s.Records == 0 {
		return
	}
	s.messages = append(make([]llm.Message, 0, len(s.Turns)+9), llm.System(s.Header.System))
	for i := range s.Turns {
		s.messages = append(s.messages, s.sent(i))
	}
}

// Open returns the calls without a result, in order, including those that wait for an answer of the
// host.
func (s *State) Open() []OpenCall {
	var open []OpenCall
	for _, c := range s.Calls {
		if c.Result == nil {
			open = append(open, c)
		}
	}
	return open
}

// awaiting returns the first call that waits for an answer of the host, nil if there is none.
func (s *State) awaiting() *OpenCall {
	for i := range s.Calls {
		if s.Calls[i].Result == nil && s.Calls[i].awaits != nil {
			return &s.Calls[i]
		}
	}
	return nil
}

// Queued returns the first entry of a lane, nil if it is empty.
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

// fault returns the last failed attempt of the current model call, nil if there is none.
func (s *State) fault() *Fault {
	if len(s.Faults) == 0 {
		return nil
	}
	return &s.Faults[len(s.Faults)-1]
}
