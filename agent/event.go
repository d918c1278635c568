package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// An Event reports something that happened in a session. Each kind is a struct of this package that
// embeds an [EventHeader]. Consumers get pointers and use a type switch. They share events and must
// not change them. The JSON of an event is flat.
type Event interface {
	// Head returns the fields that all events have.
	Head() *EventHeader
	kind() Kind
}

// EventHeader holds the fields that all events have.
type EventHeader struct {
	Kind      Kind      `json:"kind"`
	SessionID string    `json:"session_id"`
	Seq       int64     `json:"seq"`  // rises from 1
	Time      time.Time `json:"time"` // UTC
}

// Head implements [Event].
func (h *EventHeader) Head() *EventHeader { return h }

// A Kind names a kind of event, as in JSON.
type Kind string

// The kinds of events, each named after its struct.
const (
	KindSessionStart        Kind = "SESSION_START"
	KindSessionEnd          Kind = "SESSION_END"
	KindHistoryLoaded       Kind = "HISTORY"
	KindUserInput           Kind = "USER_INPUT"
	KindProcessingEnd       Kind = "PROCESSING_END"
	KindStepStart           Kind = "STEP_START"
	KindStepEnd             Kind = "STEP_END"
	KindAssistantTextStart  Kind = "ASSISTANT_TEXT_START"
	KindAssistantTextDelta  Kind = "ASSISTANT_TEXT_DELTA"
	KindAssistantTextEnd    Kind = "ASSISTANT_TEXT_END"
	KindThinkingDelta       Kind = "THINKING_DELTA"
	KindWebSearch           Kind = "WEB_SEARCH"
	KindToolCallStart       Kind = "TOOL_CALL_START"
	KindToolCallOutputDelta Kind = "TOOL_CALL_OUTPUT_DELTA"
	KindToolCallEnd         Kind = "TOOL_CALL_END"
	KindSteeringInjected    Kind = "STEERING_INJECTED"
	KindTurnLimit           Kind = "TURN_LIMIT"
	KindLoopDetection       Kind = "LOOP_DETECTION"
	KindContextWarning      Kind = "CONTEXT_WARNING"
	KindCompaction          Kind = "COMPACTION"
	KindInputRequested      Kind = "INPUT_REQUESTED"
	KindSubagentEvent       Kind = "SUBAGENT_EVENT"
	KindNoteWritten         Kind = "NOTE"
	KindGap                 Kind = "GAP"
	KindPlanUpdated         Kind = "PLAN"
	KindWarning             Kind = "WARNING"
	KindError               Kind = "ERROR"
	KindLLMRetry            Kind = "LLM_RETRY"
	KindModelChanged        Kind = "MODEL_CHANGED"
)

// SessionStart is the first event of a session and of each resume.
type SessionStart struct {
	EventHeader
	Model       string `json:"model"`
	Provider    string `json:"provider"`
	Profile     string `json:"profile"`
	Dir         string `json:"dir"`
	Containment string `json:"containment"`
	// HidesHost reports that commands can neither see the processes of the host nor read their
	// environments.
	HidesHost bool   `json:"hides_host"`
	Resumed   bool   `json:"resumed"`
	ParentID  string `json:"parent_id,omitempty"`
}

// SessionEnd is the last event. There is exactly one.
type SessionEnd struct {
	EventHeader
	State  Status `json:"state"`
	Reason Reason `json:"reason"`
}

// HistoryLoaded has the messages that the session begins with, which [Options].History gave it. The
// data of their media are left out: [Session.History] has them.
type HistoryLoaded struct {
	EventHeader
	Messages []llm.Message `json:"messages"`
}

// UserInput begins an input.
type UserInput struct {
	EventHeader
	Text string `json:"text"`
	// Action is set if the input answers a question that the person declined or canceled.
	Action tool.Action `json:"action,omitempty"`
}

// ProcessingEnd ends an input. There is exactly one for each UserInput.
type ProcessingEnd struct {
	EventHeader
	Reason     Reason     `json:"reason"`
	Finish     llm.Finish `json:"finish,omitzero"` // of the last answer
	Text       string     `json:"text"`
	Usage      llm.Usage  `json:"usage"`
	CostUSD    float64    `json:"cost_usd,omitempty"` // 0 if prices are unknown
	Turns      int        `json:"turns"`
	ToolRounds int        `json:"tool_rounds"`
	// Unconfirmed is that of a [Result].
	Unconfirmed bool   `json:"unconfirmed,omitempty"`
	State       Status `json:"state"`
}

// StepStart begins a model call. Its attempts lie between StepStart and StepEnd.
type StepStart struct {
	EventHeader
	Step  int `json:"step"`
	Epoch int `json:"epoch"`
}

// StepEnd ends a model call.
type StepEnd struct {
	EventHeader
	Step         int              `json:"step"`
	FinishReason llm.FinishReason `json:"finish_reason"`
	Usage        llm.Usage        `json:"usage"`
	LatencyMS    int64            `json:"latency_ms"` // of the last attempt
	Attempts     int              `json:"attempts"`
	// CostUSD is the cost of Usage, 0 if prices are unknown. Failed attempts are not in it.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// Cold tells that the provider's prompt cache had lost what an earlier call had left there.
	Cold *Cold `json:"cold,omitempty"`
}

// AssistantTextStart begins a text of the model. Block numbers the texts of one attempt from 0.
type AssistantTextStart struct {
	EventHeader
	Block int `json:"block"`
}

// AssistantTextDelta holds a piece of a text.
type AssistantTextDelta struct {
	EventHeader
	Block int    `json:"block"`
	Text  string `json:"text"`
}

// AssistantTextEnd holds a whole text. Discarded reports that the attempt broke off and the text
// does not count.
type AssistantTextEnd struct {
	EventHeader
	Block     int    `json:"block"`
	Text      string `json:"text"`
	Discarded bool   `json:"discarded"`
	// Sources are the pages on the web that the text cites.
	Sources []llm.Source `json:"sources,omitempty"`
}

// ThinkingDelta holds a piece of the model's reasoning.
type ThinkingDelta struct {
	EventHeader
	Text string `json:"text"`
}

// WebSearch reports a search of the web that the model's vendor has run. It is no call of the
// session's.
type WebSearch struct {
	EventHeader
	llm.WebSearch
}

// ToolCallStart begins a tool call, or the refusal of one.
type ToolCallStart struct {
	EventHeader
	CallID string `json:"call_id"`
	Index  int    `json:"index,omitempty"` // its place among the calls of its answer, from 0
	Name   string `json:"name"`
	// Arguments holds the arguments as the model sent them: a JSON object, or {"_raw": "..."} if
	// its text is not one.
	Arguments json.RawMessage `json:"arguments"`
	// Effective holds the arguments that the call runs with, if validation or a hook has changed
	// them.
	Effective json.RawMessage `json:"effective,omitempty"`
	// Access says what the call would touch. It is nil if that is not known, such as for an unknown
	// tool.
	Access *tool.Access `json:"access,omitempty"`
}

// ToolCallOutputDelta holds live output of a command.
type ToolCallOutputDelta struct {
	EventHeader
	CallID string `json:"call_id"`
	Stream string `json:"stream"` // stdout or stderr
	Text   string `json:"text"`
}

// ToolCallEnd holds the result of a call. There is exactly one for each ToolCallStart, after the
// result is in the journal.
type ToolCallEnd struct {
	EventHeader
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Output is the whole output, or its head and tail if OutputComplete is false. The model may
	// have seen less.
	Output         string `json:"output"`
	OutputBytes    int64  `json:"output_bytes"` // of the whole output
	OutputComplete bool   `json:"output_complete"`
	OutputRef      string `json:"output_ref,omitempty"` // into the output store
	// OutputBlob names the whole output in the session's journal, if [Limits].KeepOutputs had it
	// kept.
	OutputBlob string `json:"output_blob,omitempty"`
	IsError    bool   `json:"is_error"`
	DurationMS int64  `json:"duration_ms"`
	// Changes lists the files that the call changed, with diffs as far as [Limits].Diffs allows.
	Changes []tool.Change `json:"changes,omitempty"`
	// Ran describes the command that the call ran, started or looked at.
	Ran *tool.Ran `json:"ran,omitempty"`
	// Structured is a JSON value, the result for programs, if the tool has one.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Media holds the images and documents of the result. Beyond 8 MiB they lack their Data, and
	// for a late cursor all but the newest 64 MiB do.
	Media []llm.Media `json:"media,omitempty"`
}

// SteeringInjected reports that a queued text has become a turn.
type SteeringInjected struct {
	EventHeader
	Text   string `json:"text"`
	Source string `json:"source"` // host or hook
}

// TurnLimit reports the limit that ends the input.
type TurnLimit struct {
	EventHeader
	Limit Reason  `json:"limit"`
	Value float64 `json:"value"` // calls, turns, repetitions, tokens, US dollars or seconds
}

// LoopDetection reports that calls repeat, and what the model was told.
type LoopDetection struct {
	EventHeader
	Period  int    `json:"period"` // how many calls repeat
	Repeats int    `json:"repeats"`
	Text    string `json:"text"`
}

// ContextWarning reports how full the model's window is, at 80 % and at each further 5 points. It
// also reports a request that the provider refused as too long, with a ratio of at least 1.
type ContextWarning struct {
	EventHeader
	Ratio  float64 `json:"ratio"`
	Tokens int     `json:"tokens"` // estimated, unless the provider counted them
	Window int     `json:"window"` // 0 if unknown
}

// Compaction reports that a summary has replaced turns for the model.
type Compaction struct {
	EventHeader
	TurnsReplaced int `json:"turns_replaced"`
	TokensBefore  int `json:"tokens_before"` // estimates
	TokensAfter   int `json:"tokens_after"`
}

// InputRequested holds a question to the host, from the model or from what Source names. Its fields
// are those of [tool.Question].
type InputRequested struct {
	EventHeader
	CallID   string          `json:"call_id"`
	Question string          `json:"question"`
	Options  []string        `json:"options,omitempty"`
	Form     json.RawMessage `json:"form,omitempty"`
	Source   string          `json:"source,omitempty"`
	Problem  string          `json:"problem,omitempty"` // of the previous answer, if that did not fit the form
}

// SubagentEvent wraps an event of a subagent.
type SubagentEvent struct {
	EventHeader
	AgentID string `json:"agent_id"`
	CallID  string `json:"call_id,omitempty"` // of the call that started the subagent
	Event   Event  `json:"event"`
}

// Gap says that a cursor has fallen behind: the events with these numbers are not kept in memory
// any more. Those facts of them that the journal has follow, with texts in one piece, also if a
// part was seen, and outputs as the model saw them. OnEvent gets no Gap.
type Gap struct {
	EventHeader
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// NoteWritten reports a note of a capability; see [Session.Note]. A note with the todo list is a
// [PlanUpdated] instead.
type NoteWritten struct {
	EventHeader
	Note string          `json:"note"` // its kind
	Data json.RawMessage `json:"data"`
	Text string          `json:"text,omitempty"` // for the model
}

// PlanUpdated holds the model's whole todo list whenever it changes.
type PlanUpdated struct {
	EventHeader
	tool.Plan
}

// Warning tells the host something that it should know and that changes nothing.
type Warning struct {
	EventHeader
	Code string `json:"code"`
	Text string `json:"text"`
}

// Error reports a failure that ends the input. The PROCESSING_END after it tells whether the
// session ends, too.
type Error struct {
	EventHeader
	ErrorKind string `json:"error_kind"` // as llm.KindOf
	Text      string `json:"text"`
	Provider  string `json:"provider,omitempty"`
	Status    int    `json:"status,omitempty"`
	Retryable bool   `json:"retryable"`
	RequestID string `json:"request_id,omitempty"`
}

// LLMRetry reports that an attempt of a model call failed and that there will be another.
type LLMRetry struct {
	EventHeader
	Attempt       int    `json:"attempt"` // the failed one, from 1
	DelayMS       int64  `json:"delay_ms"`
	ErrorKind     string `json:"error_kind"`
	Status        int    `json:"status,omitempty"`
	Text          string `json:"text"`
	TextDiscarded bool   `json:"text_discarded"`
}

// ModelChanged reports that another model is asked from now on: a fallback after a model call has
// failed for good, or the chosen model again. A change by [Session.Set] has no event.
type ModelChanged struct {
	EventHeader
	From   ModelName    `json:"from"`
	To     ModelName    `json:"to"`
	Reason ChangeReason `json:"reason"`
	// ErrorKind, Status and Text are those of the failure.
	ErrorKind string `json:"error_kind,omitempty"`
	Status    int    `json:"status,omitempty"`
	Text      string `json:"text,omitempty"`
	// Until is when the chosen model is asked again, by the first model call after it. UntilInput
	// says that it is with the next input. A fallback that is asked for good has neither.
	Until      time.Time `json:"until,omitzero"`
	UntilInput bool      `json:"until_input,omitempty"`
}

// A ChangeReason says why another model is asked.
type ChangeReason string

// The reasons.
const (
	ModelFailed   ChangeReason = "failed"   // the model before
	ModelReturned ChangeReason = "returned" // to the chosen model
)

func (*SessionStart) kind() Kind        { return KindSessionStart }
func (*SessionEnd) kind() Kind          { return KindSessionEnd }
func (*HistoryLoaded) kind() Kind       { return KindHistoryLoaded }
func (*UserInput) kind() Kind           { return KindUserInput }
func (*ProcessingEnd) kind() Kind       { return KindProcessingEnd }
func (*StepStart) kind() Kind           { return KindStepStart }
func (*StepEnd) kind() Kind             { return KindStepEnd }
func (*AssistantTextStart) kind() Kind  { return KindAssistantTextStart }
func (*AssistantTextDelta) kind() Kind  { return KindAssistantTextDelta }
func (*AssistantTextEnd) kind() Kind    { return KindAssistantTextEnd }
func (*ThinkingDelta) kind() Kind       { return KindThinkingDelta }
func (*WebSearch) kind() Kind           { return KindWebSearch }
func (*ToolCallStart) kind() Kind       { return KindToolCallStart }
func (*ToolCallOutputDelta) kind() Kind { return KindToolCallOutputDelta }
func (*ToolCallEnd) kind() Kind         { return KindToolCallEnd }
func (*SteeringInjected) kind() Kind    { return KindSteeringInjected }
func (*TurnLimit) kind() Kind           { return KindTurnLimit }
func (*LoopDetection) kind() Kind       { return KindLoopDetection }
func (*ContextWarning) kind() Kind      { return KindContextWarning }
func (*Compaction) kind() Kind          { return KindCompaction }
func (*InputRequested) kind() Kind      { return KindInputRequested }
func (*SubagentEvent) kind() Kind       { return KindSubagentEvent }
func (*NoteWritten) kind() Kind         { return KindNoteWritten }
func (*Gap) kind() Kind                 { return KindGap }
func (*PlanUpdated) kind() Kind         { return KindPlanUpdated }
func (*Warning) kind() Kind             { return KindWarning }
func (*Error) kind() Kind               { return KindError }
func (*LLMRetry) kind() Kind            { return KindLLMRetry }
func (*ModelChanged) kind() Kind        { return KindModelChanged }

// eventStructs has the type of each kind of event, a pointer to a struct.
var eventStructs = sync.OnceValue(func() map[Kind]reflect.Type {
	return typesOf[Kind, Event](Event.kind,
		new(SessionStart), new(SessionEnd), new(HistoryLoaded), new(UserInput), new(ProcessingEnd), new(StepStart),
		new(StepEnd), new(AssistantTextStart), new(AssistantTextDelta), new(AssistantTextEnd), new(ThinkingDelta),
		new(WebSearch), new(ToolCallStart), new(ToolCallOutputDelta), new(ToolCallEnd), new(SteeringInjected),
		new(TurnLimit), new(LoopDetection), new(ContextWarning), new(Compaction), new(InputRequested),
		new(SubagentEvent), new(NoteWritten), new(Gap), new(PlanUpdated), new(Warning), new(Error), new(LLMRetry),
		new(ModelChanged))
})

// newEvent returns an empty event of a kind, nil for an unknown one.
func newEvent(kind Kind) Event {
	t := eventStructs()[kind]
	if t == nil {
		return nil
	}
	ev, _ := reflect.New(t.Elem()).Interface().(Event)
	return ev
}

// ErrUnknownKind means that an event is of a kind that this version does not know.
var ErrUnknownKind = errors.New("agent: unknown kind of event")

// UnmarshalEvent returns the event of JSON data, such as a line of `attractor run --json`, as a
// pointer to the struct of its kind. The error for a kind of a newer version wraps
// [ErrUnknownKind]. Unknown fields are ignored.
func UnmarshalEvent(data []byte) (Event, error) {
	var head EventHeader
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("agent: cannot read an event: %w", err)
	}
	ev := newEvent(head.Kind)
	if ev == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownKind, head.Kind)
	}
	if err := json.Unmarshal(data, ev); err != nil {
		return nil, fmt.Errorf("agent: cannot read a %s event: %w", head.Kind, err)
	}
	return ev, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *SubagentEvent) UnmarshalJSON(data []byte) (err error) {
	type fields SubagentEvent
	outer := struct {
		*fields
		Event json.RawMessage `json:"event"`
	}{fields: (*fields)(e)}
	if err := json.Unmarshal(data, &outer); err != nil {
		return err
	}
	e.Event, err = UnmarshalEvent(outer.Event)
	return err
}
