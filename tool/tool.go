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

// Tool is something that a model can call. It holds no state: the same value serves any number of sessions at once.
type Tool struct {
	llm.ToolDefinition
	// Access tells from the arguments what a call would touch. It must not have effects. Nil means that every call is Exclusive.
	Access func(args string) (Access, error)
	// Run does the work. An error becomes an error result that the model reads: it should say what to do next. Run must end
	// soon after its context.
	Run func(ctx context.Context, call *Call) (Result, error)
	// Limit is how much of a result the model sees.
	Limit Limit
	// RawInput says that the arguments are handed over as they are, without being JSON. A tool with a Grammar has raw input.
	RawInput bool
	// Needs is what a session must allow for the tool to be offered at all.
	Needs Need
	// Guidance goes into the system prompt of sessions that offer the tool: when to use it beside the others, in a sentence or two.
	// How it is called belongs into the description. Most tools have none.
	Guidance string
	// ForAgents returns the definition of a tool that starts agents where the host has defined some, which it lists for the model. Nil
	// leaves the definition as it is.
	ForAgents func(agents []AgentKind) llm.ToolDefinition
	// Instead names tools of other agents that this one replaces. A model that calls one of them is told.
	Instead []Instead

	compiled *compiled // the schema of New, shared by all copies of the tool
	err      error     // what New found wrong with the definition; reported by Register
}

// Need is something that not every session has.
type Need uint8

// The needs. The zero value is none.
const (
	NeedsNothing Need = iota
	NeedsAgents       // subagents
	NeedsAnswers      // a host that answers questions
)

// New makes a tool of a Go function. The parameters' JSON Schema comes from Args when the definition has none: field names and
// optionality from the json tags, descriptions from jsonschema tags. What is wrong with Args or the schema, Register reports.
//
// Where Args is a struct, parameters that the schema does not name are unknown ones, unless it allows them in additionalProperties. A ReadOnly call
// runs without them, and its result says so; any other call is refused.
func New[Args any](def llm.ToolDefinition, run func(ctx context.Context, call *Call, args Args) (Result, error)) Tool {
	t := Tool{ToolDefinition: def}
	if def.Parameters == nil {
		t.Parameters, t.err = SchemaOf[Args]()
	}
	var compact bytes.Buffer
	if json.Compact(&compact, t.Parameters) == nil { // as a journal would have it; what is no JSON is reported by Register
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

// SchemaOf returns the JSON Schema of a Go type: field names and optionality from the json tags, descriptions from jsonschema tags.
func SchemaOf[T any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("cannot infer a schema: %w", err)
	}
	withoutNull(schema)
	return json.Marshal(schema)
}

// withoutNull takes null from the types of slices and pointers, of which jsonschema says that they may be it: models need not know.
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

// Decode reads a call's arguments into a struct.
func Decode[Args any](text string) (Args, error) {
	var args Args
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return args, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return args, nil
}

// WithAccess returns the tool with an Access that reads typed arguments.
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

// Effect is how far a call reaches.
type Effect uint8

// The effects. The zero value is the most careful one.
const (
	Exclusive Effect = iota // runs alone among the calls of its answer
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

// UnmarshalText reads an effect's name. One that is not known is taken for Exclusive.
func (e *Effect) UnmarshalText(text []byte) error {
	*e = Exclusive
	for _, known := range []Effect{Writes, ReadOnly} {
		if known.String() == string(text) {
			*e = known
		}
	}
	return nil
}

// Access is what a call would touch: read by the scheduler, the permission hook, middleware and whoever shows a call to a person.
type Access struct {
	Effect Effect `json:"effect"`
	// Paths are the files that the call reads or, unless it is ReadOnly, writes. Calls of one answer that share a path of
	// which one is written run in their order. A tool may name them as the call does; everybody else sees absolute, clean names.
	Paths []string `json:"paths,omitempty"`
	// Command is the script that it would run.
	Command string `json:"command,omitempty"`
	// Hosts are what it would connect to, each a host name or address with an optional port.
	Hosts []string `json:"hosts,omitempty"`
	// Guarded are those of the paths that must not be changed without an approval. [Registry.Authorize] fills them in.
	Guarded []Guarded `json:"guarded,omitempty"`
}

// In returns the access with one name for each file: clean, and absolute where names are relative to dir.
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

// Guarded is a file that a call would change and that needs an approval for it.
type Guarded struct {
	Path string `json:"path"` // absolute, without symbolic links where the environment can tell
	Why  string `json:"why"`
}

// Call is one invocation.
type Call struct {
	ID, Name string
	// Args is the arguments' text after validation: JSON that fits the schema, unless the tool has raw input.
	Args string
	// Access is what the call would touch, as it was permitted.
	Access Access
	Env    env.Environment
	// SessionID names the session that runs the call. AgentID is that of a subagent, as its parent knows it, and else empty.
	SessionID, AgentID string
	// Approved are the guarded files that this call may change, by the paths in [Access.Guarded].
	Approved []string
	// Live receives output while the call runs; nil when nobody listens.
	Live func(stream int, p []byte)
	// Diffs is how many bytes of unified diffs the call's changes may have, in all; 0 asks for none.
	Diffs   int
	Session Session
}

// Processes returns the background processes of the call's session, or nil where there are none.
func (c *Call) Processes() Processes {
	if c.Session == nil {
		return nil
	}
	return c.Session.Processes()
}

// NeedsApproval returns why this call must not change a file without an approval, which it does not have, or "" if it may. What
// changes files asks here: what a call touches is not always known before it runs, and may have changed since.
func (c *Call) NeedsApproval(ctx context.Context, name string) (why string) {
	if why = env.Guarded(ctx, c.Env, name); why == "" {
		return ""
	}
	if path, err := env.Resolve(ctx, c.Env, name); err == nil && slices.Contains(c.Approved, path) {
		return ""
	}
	return why
}

// Seen is a file's content as a call has read it.
type Seen struct {
	Path string   `json:"path"` // absolute, without symbolic links where the environment can tell
	Hash env.Hash `json:"hash"` // of the whole content; empty: there is no such file any more
}

// Result is what a tool gives back.
type Result struct {
	// Content is text and media. Text may be long: the pipeline cuts what the model sees by the tool's limit.
	Content llm.Parts
	IsError bool
	// Done ends the input after this round; Final is then its answer.
	Done  bool
	Final string
	// Gap says that the text in Content is only the head and the tail of what there was.
	Gap Gap
	// Raw is what the output store is to keep instead of the text, when the tool has it: the bytes as they came.
	Raw []byte
	// OutputRef names the whole output in the session's output store, when the tool put it there.
	OutputRef string
	// Seen are files that the call read, and whose whole content the session therefore knows.
	Seen []Seen
	// Changes are the files that the call changed, each once. The session knows their contents as well.
	Changes []Change
	// Ran is what became of the command that the call ran, started or looked at; nil when there was none.
	Ran *Ran
	// Structured is the result for programs: one JSON value of at most [MaxStructured] bytes; of a larger one Content is all that remains.
	// Models do not see it.
	Structured json.RawMessage
	// Hint tells the model how to see what truncation removes. Empty means a general sentence.
	Hint string
}

// Gap is a hole in a text: what a bounded capture did not keep.
type Gap struct {
	At    int   // byte offset of the hole in the text
	Bytes int64 // its size; 0 means that there is no hole
	Chars int64
	Lines int64 // newlines in it
}

// Text returns a successful result of plain text.
func Text(text string) Result { return Result{Content: llm.TextParts(text)} }

// Errorf returns an error result. Its text is for the model: it says what went wrong and what to do.
func Errorf(format string, args ...any) Result {
	return Result{Content: llm.TextParts(fmt.Sprintf(format, args...)), IsError: true}
}

// check reports what makes a tool unfit to be registered.
func (t *Tool) check() error {
	switch {
	case t.err != nil:
		return t.err
	case t.Name == "":
		return errors.New("it has no name")
	case !validName(t.Name):
		return errors.New("its name has to begin with a letter or _ and to go on with letters, digits, _ and -, at most 64 in all: providers refuse others")
	case t.Run == nil:
		return errors.New("it has no Run")
	case t.Parameters == nil && !t.raw():
		return errors.New("it has no parameters; a tool without any takes {\"type\":\"object\",\"properties\":{}}")
	}
	return nil
}

// validName reports whether all providers take a tool's name.
func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return len(name) <= 64
}

func (t *Tool) raw() bool { return t.RawInput || t.Grammar != nil }
