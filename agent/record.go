package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// version is the version of the records below. It goes up when an older reader would misread them, or must not write beside them:
// version 2 is that of journals whose lines have checksums, version 3 of those in which the contents of changed files are among the
// changes alone.
const version = 3

// record is one thing that happened. Everything that a session remembers is made of these.
type record interface{ kind() string }

// headerRecord begins a session: what was sent to the model and will be sent again after a resume.
type headerRecord struct {
	Version int `json:"version"`
	Header
	Machine
	// Policy is the host's at the beginning. A setting changes it.
	Policy Policy `json:"policy,omitzero"`
}

// Header is what a session began with. It stays the same for all of the session, and in its forks.
type Header struct {
	ID      string `json:"id"`
	Parent  string `json:"parent,omitempty"` // the session that spawned this one
	ForkOf  string `json:"fork_of,omitempty"`
	Profile string `json:"profile"`
	Dialect string `json:"dialect,omitempty"`
	// Provider, Model, Effort and Tools are those of the first model call; settings change what State has of them.
	Provider string               `json:"provider"`
	Model    string               `json:"model"`
	Dir      string               `json:"dir"`
	Effort   string               `json:"effort,omitempty"`
	System   string               `json:"system"`
	Tools    []llm.ToolDefinition `json:"tools"`
	Params   Params               `json:"params,omitzero"`
}

// Machine is what a session found where it runs. A session that is resumed on another machine has another one, by a setting.
type Machine struct {
	Containment string `json:"containment,omitempty"` // as SESSION_START has it
	HidesHost   bool   `json:"hides_host,omitempty"`
}

func machineOf(e env.Environment) Machine {
	return Machine{Containment: env.Containment(e), HidesHost: env.HidesHost(e)}
}

// Params are request parameters that a session never changes.
type Params struct {
	ToolChoice  llm.ToolChoice  `json:"tool_choice,omitzero"`
	Sequential  bool            `json:"sequential,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	Options     json.RawMessage `json:"options,omitempty"` // the provider's
	NoCache     bool            `json:"no_cache,omitempty"`
}

// inputRecord begins an input: a user turn, or the last input again.
type inputRecord struct {
	Text     string    `json:"text,omitempty"`
	More     llm.Parts `json:"more,omitempty"`
	Queued   int       `json:"queued,omitempty"`   // the follow-up that it is
	Continue bool      `json:"continue,omitempty"` // goes on with the last input, or with the open one after a crash; adds no turn
	Answers  string    `json:"answers,omitempty"`  // the call of ask_user whose result the text becomes; adds no turn
	// Action is what the person did with the question, where that is no answer.
	Action tool.Action `json:"action,omitempty"`
	Key    string      `json:"key,omitempty"` // the host's
	// Context is what BeforeInput has added: a turn of its own before the next model call.
	Context string `json:"context,omitempty"`
}

// queuedRecord is steering or a follow-up that was accepted.
type queuedRecord struct {
	Lane   Lane      `json:"lane"`
	Text   string    `json:"text"`
	More   llm.Parts `json:"more,omitempty"`
	Source string    `json:"source"`
	Key    string    `json:"key,omitempty"` // the host's
	// Context is what BeforeInput has added: it follows the entry into the history.
	Context string `json:"context,omitempty"`
}

// turnRecord is a turn that nobody typed into Submit.
type turnRecord struct {
	Origin Origin    `json:"origin"`
	Text   string    `json:"text"`
	More   llm.Parts `json:"more,omitempty"`
	Queued int       `json:"queued,omitempty"` // the queue entry that it is
	Source string    `json:"source,omitempty"`
	Loop   *Loop     `json:"loop,omitempty"` // what the turn warns of
}

// answerRecord is the model's answer.
type answerRecord struct {
	callEpoch
	Message    llm.Message   `json:"message"`
	Usage      llm.Usage     `json:"usage"`
	Finish     llm.Finish    `json:"finish"`
	ResponseID string        `json:"response_id,omitempty"`
	Latency    time.Duration `json:"latency"` // of the attempt that succeeded
	Cost       float64       `json:"cost_usd,omitempty"`
	Shown      shown         `json:"shown,omitzero"`
}

// shown has the numbers of the events that came before the record of an attempt: of what the model wrote as it came. Zero is none.
type shown struct {
	Step     int64      `json:"step,omitempty"`     // STEP_START, of the first attempt
	Thoughts []int64    `json:"thoughts,omitempty"` // the last delta of each thought
	Texts    [][2]int64 `json:"texts,omitempty"`    // the start and the last delta of each text
}

// intentRecord says which calls with effects are about to run.
type intentRecord struct {
	Calls []llm.ToolCall `json:"calls"` // with the effective arguments
}

// resultRecord is what became of a call.
type resultRecord struct {
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Args      string        `json:"args,omitempty"` // as it ran, where that differs from what the model sent
	Access    *tool.Access  `json:"access,omitempty"`
	Content   llm.Parts     `json:"content"` // as the model sees it
	IsError   bool          `json:"is_error,omitempty"`
	Done      bool          `json:"done,omitempty"`
	Final     string        `json:"final,omitempty"`
	OutputRef string        `json:"output_ref,omitempty"`
	Kept      *keptOutput   `json:"kept,omitempty"`      // the whole output, where the journal has it
	Asked     string        `json:"asked,omitempty"`     // the question to which Content is a person's answer, given while the call ran
	Answers   []exchange    `json:"answers,omitempty"`   // people's answers while the call ran that Content is not
	Bytes     int64         `json:"bytes"`               // of the whole output
	Truncated bool          `json:"truncated,omitempty"` // Content has a part of the output
	Seen      []tool.Seen   `json:"seen,omitempty"`      // files whose whole content the call read; up to version 2 also those that it wrote
	Duration  time.Duration `json:"duration"`
	Start     int64         `json:"start,omitempty"` // the number of TOOL_CALL_START

	Changes    []tool.Change   `json:"changes,omitempty"`
	Ran        *tool.Ran       `json:"ran,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`

	full string // the whole output, for the live event; the journal does without
	cut  bool   // full is not the whole output either
}

// exchange is a question with the answer that a person gave to it.
type exchange struct {
	Question string `json:"question"`
	tool.Answer
}

// faultRecord is a model call that failed.
type faultRecord struct {
	callEpoch
	Fault
	Shown shown `json:"shown,omitzero"`
}

// Fault is a failed attempt of a model call.
type Fault struct {
	Kind      string `json:"kind"` // llm.KindOf
	Text      string `json:"text"`
	Provider  string `json:"provider,omitempty"`
	Code      string `json:"code,omitempty"`
	Status    int    `json:"status,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
	// Tokens and Window are the sizes that the provider told of a context that is too long.
	Tokens int `json:"tokens,omitempty"`
	Window int `json:"window,omitempty"`
	// RetryAt is when the next attempt is due; zero means that there is none.
	RetryAt time.Time     `json:"retry_at,omitzero"`
	Delay   time.Duration `json:"delay,omitempty"`
	Usage   llm.Usage     `json:"usage,omitzero"`
	Cost    float64       `json:"cost_usd,omitempty"`
	// Discarded is the text that had arrived and was thrown away, one entry a block.
	Discarded []string      `json:"discarded,omitempty"`
	Latency   time.Duration `json:"latency,omitempty"`
}

// Err returns the fault as an error: an *llm.Error of its kind.
func (f *Fault) Err() error {
	return &llm.Error{Kind: llm.Kind(f.Kind), Provider: f.Provider, Code: f.Code, Message: f.Text, Status: f.Status,
		Tokens: f.Tokens, Window: f.Window, RequestID: f.RequestID, Final: !f.Retryable}
}

// spentRecord is an attempt of a side call that failed and is not its last: what came of the call is another record.
type spentRecord struct {
	Attempt int `json:"attempt"`
	Fault
}

// settingRecord changes settings from the next model call on.
type settingRecord struct {
	Settings
	Tools []llm.ToolDefinition `json:"tools,omitzero"` // none is not the same as no change
	// EffortNext says that the effort holds from the next input on, because the provider's API does not let it change before.
	EffortNext bool `json:"effort_next,omitempty"`
	Window     int  `json:"window,omitempty"` // of the model that is asked from here on, in tokens
	// Machine is set where the session was resumed on another one.
	Machine *Machine `json:"machine,omitempty"`
	// Policy is the host's from here on: a resumed session has that of the host that resumed it.
	Policy *Policy `json:"policy,omitempty"`

	registry *tool.Registry // that runs the tools; nil where they do not change
}

// Settings are what can change while a session runs. Nil fields stay as they are.
type Settings struct {
	// Provider must be one of the client's. Another one needs another Model too.
	Provider *string `json:"provider,omitempty"`
	Model    *string `json:"model,omitempty"`
	Effort   *string `json:"effort,omitempty"`
	// Tools replace all tools of the session. [Session.AddTools] and [Session.RemoveTools] change some.
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

// stopRecord says that the open input is to end.
type stopRecord struct {
	Reason Reason  `json:"reason"`          // interrupted, aborted or a budget
	Value  float64 `json:"value,omitempty"` // of the budget
}

// endRecord ends the open input, or the session.
type endRecord struct {
	Session bool    `json:"session,omitempty"`
	Reason  Reason  `json:"reason"`
	Value   float64 `json:"value,omitempty"` // of the limit
	// Summary is what the model wrote at a limit, outside of the history; Usage and Cost are that call's.
	Summary string    `json:"summary,omitempty"`
	Usage   llm.Usage `json:"usage,omitzero"`
	Cost    float64   `json:"cost_usd,omitempty"`
	// Fault is the failure that ends the input where it is not that of the model call that is due.
	Fault *Fault `json:"fault,omitempty"`
}

// finish returns the last word on the answer of the input that the record ends: the one before it was refused is not the reason.
func (r *endRecord) finish(before *State) llm.Finish {
	if f := before.fault(); f != nil && r.Reason == Refused {
		return f.finish()
	}
	return before.Input.Finish
}

// awaitRecord says that a call is a question whose answer the host's next input will be.
type awaitRecord struct {
	CallID   string          `json:"call_id"`
	Question string          `json:"question"`
	Options  []string        `json:"options,omitempty"`
	Form     json.RawMessage `json:"form,omitempty"`
	Source   string          `json:"source,omitempty"`

	Args   string       `json:"args,omitempty"` // as in [resultRecord]
	Access *tool.Access `json:"access,omitempty"`
	Start  int64        `json:"start,omitempty"`
}

// compactRecord replaces the beginning of the history for the model, or says why that failed.
type compactRecord struct {
	Summary string    `json:"summary,omitempty"` // as the model wrote it
	Text    string    `json:"text,omitempty"`    // of the turn that stands for what was replaced
	More    llm.Parts `json:"more,omitempty"`    // of that turn: the media of messages that are in it
	First   int       `json:"first"`             // index of the first retained turn
	Before  int       `json:"tokens_before"`
	Model   string    `json:"model"`
	Usage   llm.Usage `json:"usage,omitzero"`
	Cost    float64   `json:"cost_usd,omitempty"`
	Failed  string    `json:"failed,omitempty"`
	Queued  int       `json:"queued,omitempty"` // the request that it answers
}

// childRecord is what happened to a subagent: spawned, spent, ended.
type childRecord struct {
	ID      string     `json:"id"`
	Event   childEvent `json:"event"`
	Task    string     `json:"task,omitempty"` // of spawned
	Model   string     `json:"model,omitempty"`
	Journal string     `json:"journal,omitempty"` // the child's session id
	Status  string     `json:"status,omitempty"`  // of ended
	Usage   llm.Usage  `json:"usage,omitzero"`    // of spent: since the last one
	Cost    float64    `json:"cost_usd,omitempty"`
}

// childEvent is a kind of record about a subagent.
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

// place is where a record stands among the events; it begins each body.
type place struct {
	Seq     int64 `json:"seq"`               // of the newest event when it was written: those of the record follow
	Resumed int64 `json:"resumed,omitempty"` // of SESSION_START, in the first record after a resume
}

// encodeRecord writes a record's body, with its place in front. HTML characters stay as they are: what a model was sent is in here, and has
// to come back byte for byte.
func encodeRecord(rec record, at place) ([]byte, error) {
	body, err := marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("agent: cannot write a %s record: %w", rec.kind(), err)
	}
	line, err := marshal(at)
	if err != nil {
		return nil, err
	}
	if len(body) == len("{}") {
		return line, nil
	}
	line[len(line)-1] = ','
	return append(line, body[1:]...), nil
}

func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// placeOf reads where a record stands among the events.
func placeOf(data []byte) place {
	var at place
	if json.Unmarshal(data, &at) != nil {
		return place{}
	}
	return at
}

// decodeRecord reads a journal line. An unknown kind is an error: skipping it would resume a different session.
func decodeRecord(line journal.Record) (record, error) {
	decode, ok := map[string]func([]byte) (record, error){
		"header":  decodeAs[headerRecord],
		"history": decodeAs[historyRecord],
		"input":   decodeAs[inputRecord],
		"queued":  decodeAs[queuedRecord],
		"turn":    decodeAs[turnRecord],
		"answer":  decodeAs[answerRecord],
		"intent":  decodeAs[intentRecord],
		"result":  decodeAs[resultRecord],
		"fault":   decodeAs[faultRecord],
		"model":   decodeAs[modelRecord],
		"setting": decodeAs[settingRecord],
		"stop":    decodeAs[stopRecord],
		"end":     decodeAs[endRecord],
		"await":   decodeAs[awaitRecord],
		"compact": decodeAs[compactRecord],
		"child":   decodeAs[childRecord],
		"note":    decodeAs[noteRecord],
		"spent":   decodeAs[spentRecord],
	}[line.Kind]
	if !ok {
		return nil, fmt.Errorf("agent: record %d: unknown kind %q; the journal was written by a newer version", line.N, line.Kind)
	}
	rec, err := decode(line.Data)
	if err != nil {
		return nil, fmt.Errorf("agent: record %d (%s): %w", line.N, line.Kind, err)
	}
	if h, ok := rec.(headerRecord); ok && h.Version > version {
		return nil, fmt.Errorf("agent: the journal has version %d, this program reads up to %d", h.Version, version)
	}
	return rec, nil
}

func decodeAs[R record](data []byte) (record, error) {
	var rec R
	err := json.Unmarshal(data, &rec)
	return rec, err
}
