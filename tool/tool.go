package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
)

// Tool holds a tool that a model can call. It has no state of its own, so any number of sessions
// can share it.
type Tool struct {
	llm.ToolDefinition
	// Access returns what a call with these arguments would touch. It must have no effects. If it
	// is nil, every call is Exclusive.
	Access func(args string) (Access, error)
	// Run does the work. An error becomes an error result that the model reads, so it should say
	// what to do next. Run must return soon after its context ends.
	Run func(ctx context.Context, call *Call) (Result, error)
	// Limit is how much of a result's text the model sees.
	Limit Limit
	// Needs is what a session must have for the tool to be offered.
	Needs Need
	// Guidance goes into the system prompt of sessions that offer the tool. In a sentence or two it
	// says when to use the tool; how to call it belongs in the description. Most tools have none.
	Guidance string
	// ForAgents returns the definition of a tool that starts agents, with the agents that the host
	// defined listed for the model. Nil means that the definition never changes.
	ForAgents func(agents []AgentKind) llm.ToolDefinition
	// Forwards says that a call of this tool stands for a call of a deferred tool: its arguments
	// are a [Forwarded]. Such a call is validated, authorized and run as the other tool's. Run is
	// not called.
	Forwards bool
	// Previews says that Run changes nothing but files, through the Call's Env alone. What a call
	// would change can then be shown before it runs; see [Request.Preview].
	Previews bool
	// Instead names tools of other agents that this tool can stand in for. A model that calls one
	// of them is told so.
	Instead []Instead

	compiled *compiled // the schema, shared by all copies of the tool
	err      error     // an error of New, which Register returns
}

// Need is a capability that not every session has.
type Need uint8

// The needs. The zero value is none.
const (
	NeedsNothing Need = iota
	NeedsAgents       // subagents
	NeedsAnswers      // a host that answers questions
)

// New returns a tool that calls a Go function. If the definition has no parameters, their JSON
// Schema is inferred from Args: names and optionality from the json tags, descriptions from the
// jsonschema tags. Register reports an invalid Args or schema.
//
// If Args is a struct, parameters that the schema does not name are unknown, unless
// additionalProperties allows them. A ReadOnly call runs without them, and its result says so. Any
// other call with unknown parameters is refused.
func New[Args any](def llm.ToolDefinition, run func(ctx context.Context, call *Call, args Args) (Result, error)) Tool {
	t := Tool{ToolDefinition: def}
	if def.Parameters == nil {
		t.Parameters, t.err = SchemaOf[Args]()
	}
	var compact bytes.Buffer
	compact.Grow(len(t.Parameters))
	if json.Compact(&compact, t.Parameters) == nil { // the form that a journal stores; Register reports invalid JSON
		t.Parameters = compact.Bytes()
	}
	t.compiled = &compiled{raw: slices.Clone(t.Parameters), strict: reflect.TypeFor[Args]().Kind() == reflect.Struct}
	t.Run = func(ctx context.Context, call *Call) (Result, error) {
		args, err := Decode[Args](call.Args)
		if err != nil {
			return Result{}, err
		}
		return run(ctx, call, args)
	}
	return t
}

// SchemaOf returns the JSON Schema of a Go type: names and optionality from the json tags,
// descriptions from the jsonschema tags.
func SchemaOf[T any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("cannot infer a schema: %w", err)
	}
	withoutNull(schema)
	return json.Marshal(schema)
}

// withoutNull removes null from the types of slices and pointers, which package jsonschema adds and
// models do not need.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	for _, property := range s.Properties {
		withoutNull(property)
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
}

// Decode decodes a call's arguments.
func Decode[Args any](text string) (Args, error) {
	var args Args
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return args, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return args, nil
}

// WithAccess returns the tool with an Access that decodes the arguments.
func WithAccess[Args any](t Tool, access func(args Args) Access) Tool {
	t.Access = func(text string) (Access, error) {
		args, err := Decode[Args](text)
		if err != nil {
			return Access{}, err
		}
		return access(args), nil
	}
	return t
}

// Effect says how a call may conflict with others.
type Effect uint8

// The effects. The zero value is the strictest.
const (
	Exclusive Effect = iota // runs alone among the calls of its response
	Writes                  // changes files or runs commands
	ReadOnly                // changes nothing: safe to run again
)

// String returns the effect's name.
func (e Effect) String() string {
	switch e {
	case Writes:
		return "writes"
	case ReadOnly:
		return "read_only"
	}
	return "exclusive"
}

// MarshalText returns the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an effect's name. An unknown name means Exclusive.
func (e *Effect) UnmarshalText(text []byte) error {
	*e = Exclusive
	for _, known := range []Effect{Writes, ReadOnly} {
		if known.String() == string(text) {
			*e = known
		}
	}
	return nil
}

// Access describes what a call would touch. The scheduler, the permission hook and middleware read
// it, and hosts show it to people.
type Access struct {
	Effect Effect `json:"effect"`
	// Paths are the files that the call reads or, unless it is ReadOnly, writes. Two calls of a
	// response run in their order if one of them writes a path that the other has, or one that is
	// in a directory of the other. A tool may give the names as the call has them; everybody else
	// sees absolute, clean names.
	Paths []string `json:"paths,omitempty"`
	// Command is the script that the call would run.
	Command string `json:"command,omitempty"`
	// Dir is the directory in which the command would run, as the call names it: relative to the
	// call's working directory, or empty for that itself. Vars are the variables that the call sets
	// for the command, each NAME=value. Like the next three fields, these are for those who decide
	// about a call and are not recorded.
	Dir  string   `json:"-"`
	Vars []string `json:"-"`
	// Asks says why permission rules ask about the call even where its command only reads, or a
	// rule allows the command: "it chooses the shell zsh". It is empty for most calls.
	Asks string `json:"-"`
	// About names what the call is about if that is neither a file nor a host: a skill, a kind of
	// agent, an MCP server.
	About string `json:"-"`
	// Ends says that a call which could write to a running command only ends it.
	Ends bool `json:"-"`
	// Hosts are the hosts that the call would connect to, each a name or an address with an
	// optional port.
	Hosts []string `json:"hosts,omitempty"`
	// Guarded lists the paths that the call would change and that need an approval.
	// [Registry.Authorize] sets them.
	Guarded []Guarded `json:"guarded,omitempty"`
}

// In returns the access with clean, absolute paths. Relative ones are taken from dir.
func (a Access) In(dir string) Access {
	var paths []string
	for _, p := range a.Paths {
		if !path.IsAbs(p) {
			p = path.Join(dir, p)
		}
		paths = append(paths, path.Clean(p))
	}
	a.Paths = paths
	return a
}

// Guarded names a file whose change needs an approval.
type Guarded struct {
	Path string `json:"path"` // absolute, without symbolic links where the environment can tell
	Why  string `json:"why"`
}

// Call holds one call of a tool.
type Call struct {
	ID, Name string
	// Args is the text of the arguments after validation: JSON that fits the schema, or any text if
	// the tool has a Grammar.
	Args string
	// Access is what the call was permitted to touch.
	Access Access
	Env    env.Environment
	// SessionID names the session that runs the call. AgentID is the id of a subagent, as its
	// parent knows it, and otherwise empty.
	SessionID, AgentID string
	// Approved are the guarded files that this call may change, by the paths in [Access.Guarded].
	Approved []string
	// Live receives output while the call runs. It is nil if nobody listens.
	Live func(stream int, p []byte)
	// Diffs is the most bytes of unified diffs that the call's changes may have in all; 0 asks for
	// none.
	Diffs   int
	Session Session
	// Value is that of the last [Decision] about the call, or nil.
	Value any

	meant []*meant
}

// Processes returns the background commands of the call's session, or nil if it has none.
func (c *Call) Processes() Processes {
	if c.Session == nil {
		return nil
	}
	return c.Session.Processes()
}

// NeedsApproval returns why this call needs an approval that it lacks to change a file, or "" if it
// may. Tools ask right before they change a file, because its Access may be incomplete or out of
// date.
func (c *Call) NeedsApproval(ctx context.Context, name string) (why string) {
	if why = env.Guarded(ctx, c.Env, name); why == "" {
		return ""
	}
	if path, err := env.Resolve(ctx, c.Env, name); err == nil && slices.Contains(c.Approved, path) {
		return ""
	}
	return why
}

// Seen names a file and the content that a call has read.
type Seen struct {
	Path string   `json:"path"` // absolute, without symbolic links where the environment can tell
	Hash env.Hash `json:"hash"` // of the whole content; empty if the file no longer exists
}

// Result holds what a tool returns.
type Result struct {
	// Content is text, media, and references to deferred tools. Text may be long: the pipeline
	// truncates what the model sees to the tool's limit.
	Content llm.Parts
	IsError bool
	// Done ends the input after this round, with Final as its answer.
	Done  bool
	Final string
	// Gap is set if Content has only the beginning and the end of a text.
	Gap Gap
	// Raw is what the output store keeps instead of the text, if the tool has it: the bytes before
	// cleaning.
	Raw []byte
	// OutputRef is the id of the whole output in the session's store, if the tool put it there.
	OutputRef string
	// Seen are the files whose content the session knows from this call.
	Seen []Seen
	// Changes are the files that the call changed, each once. The session knows their contents too.
	Changes []Change
	// Ran describes the command that the call ran, started or looked at. It is nil if there was
	// none.
	Ran *Ran
	// Structured is the result for programs: one JSON value. It is dropped if it is longer than
	// [MaxStructured] bytes. Models do not see it.
	Structured json.RawMessage
	// Hint tells the model how to see what truncation removes. If it is empty, a general sentence
	// is used.
	Hint string
}

// Gap describes a hole in a text that a bounded capture left.
type Gap struct {
	At    int   // byte offset in the text
	Bytes int64 // size of the missing part; 0 means that there is no gap
	Chars int64
	Lines int64 // newlines in the missing part
}

// Text returns a successful result of plain text.
func Text(text string) Result { return Result{Content: llm.TextParts(text)} }

// Errorf returns an error result. Its text tells the model what went wrong and what to do.
func Errorf(format string, args ...any) Result {
	return Result{Content: llm.TextParts(fmt.Sprintf(format, args...)), IsError: true}
}

// check returns why a tool cannot be registered.
func (t *Tool) check() error {
	switch {
	case t.err != nil:
		return t.err
	case t.Name == "":
		return errors.New("it has no name")
	case !validName(t.Name):
		return errors.New("its name has to begin with a letter or _ and to go on with letters, digits, _ and -, at " +
			"most 64 in all: providers refuse others")
	case t.Run == nil:
		return errors.New("it has no Run")
	case t.Parameters == nil && t.Grammar == nil:
		return errors.New("it has no parameters; a tool without any takes {\"type\":\"object\",\"properties\":{}}")
	}
	return nil
}

// validName reports whether all providers accept a tool's name.
func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return len(name) <= 64
}
