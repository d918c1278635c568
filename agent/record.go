package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// version is the version of the records below. It goes up when an older program would misread them
// or must not write beside them. Since version 2 lines have checksums; since version 3 only the
// changes have the contents of changed files.
const version = 3

// A record holds one thing that happened. The state of a session is made of records.
type record interface{ kind() string }

// headerRecord begins a session. It has all that requests contain beside the history.
type headerRecord struct {
	Version int `json:"version"`
	Header
	Machine
	// Policy is the first policy. Settings change it.
	Policy Policy `json:"policy,omitzero"`
}

// Header holds what a session began with. It never changes, and forks have the same.
type Header struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"` // the session that started this subagent
	ForkOf string `json:"fork_of,omitempty"`
	// ForkedAt is the number of records that a fork has of the session that it comes from.
	ForkedAt int64 `json:"forked_at,omitempty"`
	// ForkDir is the directory in which a fork begins, if the other session began in another one,
	// which is Dir.
	ForkDir string `json:"fork_dir,omitempty"`
	Profile string `json:"profile"`
	Dialect string `json:"dialect,omitempty"`
	// Provider, Model, Effort and Tools are those of the first model call. The State has the
	// current ones.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Dir      string `json:"dir"`
	Effort   string `json:"effort,omitempty"`
	System   string `json:"system"`
	// Documents are those that System has.
	Documents []PromptDocument     `json:"documents,omitempty"`
	Tools     []llm.ToolDefinition `json:"tools"`
	Params    Params               `json:"params,omitzero"`
}

// PromptDocument describes a document of a project or a user in the system prompt.
type PromptDocument struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"` // of the prompt
}

// Machine describes where a session runs. A setting changes it if the session is resumed elsewhere.
type Machine struct {
	Containment string `json:"containment,omitempty"` // as in SESSION_START
	HidesHost   bool   `json:"hides_host,omitempty"`
}

func machineOf(e env.Environment) Machine {
	c := env.ConfinementOf(e)
	return Machine{Containment: c.Containment, HidesHost: c.HidesHost}
}

// Params holds the request parameters that never change in a session.
type Params struct {
	ToolChoice  llm.ToolChoice  `json:"tool_choice,omitzero"`
	Sequential  bool            `json:"sequential,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	Options     json.RawMessage `json:"options,omitempty"` // the provider's
	NoCache     bool            `json:"no_cache,omitempty"`
}

// inputRecord begins an input, with a user turn or as the last input again.
type inputRecord struct {
	Text   string    `json:"text,omitempty"`
	More   llm.Parts `json:"more,omitempty"`
	Queued int       `json:"queued,omitempty"` // the id of the follow-up
	// goes on with the last input, or after a crash with the open one; adds no turn
	Continue bool   `json:"continue,omitempty"`
	Answers  string `json:"answers,omitempty"` // the call whose question the text answers; adds no turn
	// Action is set if the person declined or canceled the question.
	Action tool.Action `json:"action,omitempty"`
	Key    string      `json:"key,omitempty"` // the host's
	// Context is a text of BeforeInput, for a turn of its own before the next model call.
	Context string `json:"context,omitempty"`
}

// queuedRecord holds steering or a follow-up that was accepted.
type queuedRecord struct {
	Lane   Lane      `json:"lane"`
	Text   string    `json:"text"`
	More   llm.Parts `json:"more,omitempty"`
	Source string    `json:"source"`
	Key    string    `json:"key,omitempty"` // the host's
	// Context is a text of BeforeInput that follows the entry in the history.
	Context string `json:"context,omitempty"`
}

// turnRecord holds a turn other than an input's first one, such as steering or a nudge.
type turnRecord struct {
	Origin Origin    `json:"origin"`
	Text   string    `json:"text"`
	More   llm.Parts `json:"more,omitempty"`
	Queued int       `json:"queued,omitempty"` // the id of the queue entry
	Source string    `json:"source,omitempty"`
	Loop   *Loop     `json:"loop,omitempty"` // the loop that the turn warns of
}

// answerRecord holds an answer of the model.
type answerRecord struct {
	modelCallEpoch
	Message    llm.Message   `json:"message"`
	Usage      llm.Usage     `json:"usage"`
	Finish     llm.Finish    `json:"finish"`
	ResponseID string        `json:"response_id,omitempty"`
	Latency    time.Duration `json:"latency"` // of the attempt that succeeded
	Cost       float64       `json:"cost_usd,omitempty"`
	Cold       *Cold         `json:"cold,omitempty"`
	Shown      shown         `json:"shown,omitzero"`
}

// shown holds the sequence numbers of the events that were streamed during an attempt. Zero means
// none.
type shown struct {
	Step     int64      `json:"step,omitempty"`     // STEP_START, of the first attempt
	Thoughts []int64    `json:"thoughts,omitempty"` // the last delta of each thought
	Texts    [][2]int64 `json:"texts,omitempty"`    // the start and the last delta of each text
	Searches []int64    `json:"searches,omitempty"` // each search of the web
}

// intentRecord lists calls with effects that are about to run.
type intentRecord struct {
	Calls []llm.ToolCall `json:"calls"` // with the effective arguments
}

// resultRecord holds the result of a call.
type resultRecord struct {
	CallID    string       `json:"call_id"`
	Name      string       `json:"name"`
	Args      string       `json:"args,omitempty"` // the effective ones, if they differ from those that were sent
	Access    *tool.Access `json:"access,omitempty"`
	Content   llm.Parts    `json:"content"` // as the model sees it
	IsError   bool         `json:"is_error,omitempty"`
	Done      bool         `json:"done,omitempty"`
	Final     string       `json:"final,omitempty"`
	OutputRef string       `json:"output_ref,omitempty"`
	Kept      *keptOutput  `json:"kept,omitempty"` // the whole output, if the journal has it
	// the question that Content answers, if a person did while the call ran
	Asked     string     `json:"asked,omitempty"`
	Answers   []exchange `json:"answers,omitempty"`   // other answers that people gave while the call ran
	Bytes     int64      `json:"bytes"`               // of the whole output
	Truncated bool       `json:"truncated,omitempty"` // Content has a part of the output
	// files that the call has read whole; up to version 2 also those that it wrote
	Seen     []tool.Seen   `json:"seen,omitempty"`
	Duration time.Duration `json:"duration"`
	Start    int64         `json:"start,omitempty"` // the number of TOOL_CALL_START

	Changes    []tool.Change   `json:"changes,omitempty"`
	Ran        *tool.Ran       `json:"ran,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`

	full string // the whole output for the live event; not in the journal
	cut  bool   // full is cut, too
}

// An exchange is a question and the answer that a person gave.
type exchange struct {
	Question string `json:"question"`
	tool.Answer
}

// spentRecord holds a failed attempt of a side call that was not its last. Another record has the
// outcome of the side call.
type spentRecord struct {
	Attempt int `json:"attempt"`
	Fault
}

// settingRecord changes settings from the next model call on.
type settingRecord struct {
	Settings
	Tools []llm.ToolDefinition `json:"tools,omitzero"` // an empty list removes all; nil changes nothing
	// EffortNext reports that the effort holds from the next input on, because the provider does
	// not let it change before.
	EffortNext bool `json:"effort_next,omitempty"`
	Window     int  `json:"window,omitempty"` // of the new model, in tokens
	// Machine is set if the session was resumed on another one.
	Machine *Machine `json:"machine,omitempty"`

	registry *tool.Registry // for the tools, nil if they do not change
}

// Settings hold what can change while a session runs. Nil fields stay as they are.
type Settings struct {
	// Provider must be one of the client's. Another one needs another Model too.
	Provider *string `json:"provider,omitempty"`
	Model    *string `json:"model,omitempty"`
	Effort   *string `json:"effort,omitempty"`
	// Policy replaces limits, budget and everything else that [Options].Policy has, from the next
	// decision of the loop on: change what [Session.Policy] returns. A limit that is below what was
	// used ends the input in order; after a higher one [Session.Continue] goes on. Subagents that
	// run keep theirs, but for the tokens and US dollars of the budget, which they share.
	Policy *Policy `json:"policy,omitempty"`
	// Tools replace all tools of the session. [Session.AddTools] and [Session.RemoveTools] change
	// some.
	Tools []tool.Tool `json:"-"`
}

// policy returns the one that holds after the record.
func (r *settingRecord) policy(before Policy) Policy {
	if r.Policy != nil {
		return *r.Policy
	}
	before.Window = r.Window
	return before
}

// stopRecord records why the open input has to end.
type stopRecord struct {
	Reason Reason  `json:"reason"`          // interrupted, aborted or a budget
	Value  float64 `json:"value,omitempty"` // of the budget
}

// endRecord ends the open input, or the session.
type endRecord struct {
	Session bool    `json:"session,omitempty"`
	Reason  Reason  `json:"reason"`
	Value   float64 `json:"value,omitempty"` // of the limit
	// Summary is the last text of the model at a limit, outside of the history. Usage and Cost are
	// those of that side call.
	Summary string    `json:"summary,omitempty"`
	Usage   llm.Usage `json:"usage,omitzero"`
	Cost    float64   `json:"cost_usd,omitempty"`
	// Fault is the failure that ends the input, unless it is the fault of the last model call.
	Fault *Fault `json:"fault,omitempty"`
}

// finish returns the Finish of the input that the record ends. If the model call was refused, that
// is the refusal.
func (r *endRecord) finish(before *State) llm.Finish {
	if f := before.fault(); f != nil && r.Reason == ReasonRefused {
		return f.finish()
	}
	return before.Input.Finish
}

// awaitRecord holds the question of a call that the next input answers.
type awaitRecord struct {
	CallID   string          `json:"call_id"`
	Question string          `json:"question"`
	Options  []string        `json:"options,omitempty"`
	Form     json.RawMessage `json:"form,omitempty"`
	Source   string          `json:"source,omitempty"`

	Name   string       `json:"name,omitempty"` // of the tool, if the model has named it otherwise
	Args   string       `json:"args,omitempty"` // as in [resultRecord]
	Access *tool.Access `json:"access,omitempty"`
	Start  int64        `json:"start,omitempty"`
}

// compactRecord replaces the beginning of the history for the model, or records why that failed.
type compactRecord struct {
	Summary string    `json:"summary,omitempty"` // as the model wrote it
	Text    string    `json:"text,omitempty"`    // of the turn that replaces the others
	More    llm.Parts `json:"more,omitempty"`    // of that turn: the media of its messages
	First   int       `json:"first"`             // index of the first retained turn
	Before  int       `json:"tokens_before"`
	Model   string    `json:"model"`
	Usage   llm.Usage `json:"usage,omitzero"`
	Cost    float64   `json:"cost_usd,omitempty"`
	Failed  string    `json:"failed,omitempty"`
	Queued  int       `json:"queued,omitempty"` // the id of the request for it
}

// childRecord records that a subagent was spawned, has spent tokens or has ended.
type childRecord struct {
	ID      string     `json:"id"`
	Event   childEvent `json:"event"`
	Task    string     `json:"task,omitempty"` // of spawned
	Model   string     `json:"model,omitempty"`
	Journal string     `json:"journal,omitempty"` // the child's session id
	// Started holds what the subagent was started with, without the text of the task.
	Started *tool.AgentTask `json:"started,omitempty"`
	Status  string          `json:"status,omitempty"` // of ended
	Usage   llm.Usage       `json:"usage,omitzero"`   // of spent: since the last one
	Cost    float64         `json:"cost_usd,omitempty"`
}

// A childEvent is a kind of childRecord.
type childEvent string

// The events.
const (
	childSpawned childEvent = "spawned"
	childSpent   childEvent = "spent"
	childEnded   childEvent = "ended"
)

func (headerRecord) kind() string  { return "header" }
func (inputRecord) kind() string   { return "input" }
func (queuedRecord) kind() string  { return "queued" }
func (turnRecord) kind() string    { return "turn" }
func (answerRecord) kind() string  { return "answer" }
func (intentRecord) kind() string  { return "intent" }
func (resultRecord) kind() string  { return "result" }
func (faultRecord) kind() string   { return "fault" }
func (spentRecord) kind() string   { return "spent" }
func (settingRecord) kind() string { return "setting" }
func (stopRecord) kind() string    { return "stop" }
func (endRecord) kind() string     { return "end" }
func (awaitRecord) kind() string   { return "await" }
func (compactRecord) kind() string { return "compact" }
func (childRecord) kind() string   { return "child" }

// A place locates a record among the events. Each body begins with it.
type place struct {
	Seq     int64 `json:"seq"`               // of the newest event before those of the record
	Resumed int64 `json:"resumed,omitempty"` // of SESSION_START, in the first record after a resume
}

// encodeRecord returns a record's body, which begins with its place.
func encodeRecord(rec record, at place) ([]byte, error) {
	first, wrong := marshal(at)
	body, err := marshal(rec)
	if err = errors.Join(wrong, err); err != nil {
		return nil, fmt.Errorf("agent: cannot write a %s record: %w", rec.kind(), err)
	}
	if len(body) == len("{}") {
		return first, nil
	}
	return slices.Concat(first[:len(first)-1], []byte(","), body[1:]), nil
}

// marshal returns JSON that does not escape HTML characters, because texts for the model must come
// back byte for byte.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// placeOf returns the place at the beginning of a record's body. Older versions wrote less of it.
func placeOf(data []byte) (at place) {
	_, _ = fmt.Sscanf(string(data[:min(len(data), 64)]), `{"seq":%d,"resumed":%d`, &at.Seq, &at.Resumed)
	return at
}

// decodeRecord returns the record of a journal line and its place. An unknown kind is an error,
// since skipping it would resume a different session.
func decodeRecord(line journal.Record) (record, place, error) {
	known := recordTypes()[line.Kind]
	if known == nil {
		return nil, place{}, fmt.Errorf("agent: record %d: unknown kind %q; the journal was written by a newer version",
			line.N, line.Kind)
	}
	decoded := reflect.New(known)
	if err := json.Unmarshal(line.Data, decoded.Interface()); err != nil {
		return nil, place{}, fmt.Errorf("agent: record %d (%s): %w", line.N, line.Kind, err)
	}
	rec, _ := decoded.Elem().Interface().(record)
	if h, ok := rec.(headerRecord); ok && h.Version > version {
		return nil, place{}, fmt.Errorf("agent: the journal has version %d, this program reads up to %d", h.Version,
			version)
	}
	return rec, placeOf(line.Data), nil
}

// recordTypes has the type of each kind of record.
var recordTypes = sync.OnceValue(func() map[string]reflect.Type {
	return typesOf[string, record](record.kind,
		headerRecord{}, inputRecord{}, queuedRecord{}, turnRecord{}, answerRecord{}, intentRecord{}, resultRecord{},
		faultRecord{}, spentRecord{}, settingRecord{}, stopRecord{}, endRecord{}, awaitRecord{}, compactRecord{},
		childRecord{}, historyRecord{}, modelRecord{}, noteRecord{}, renewalRecord{}, mendRecord{})
})

// typesOf returns the types of values by their kinds.
func typesOf[K comparable, V any](kind func(V) K, values ...V) map[K]reflect.Type {
	all := map[K]reflect.Type{}
	for _, v := range values {
		all[kind(v)] = reflect.TypeOf(v)
	}
	return all
}
