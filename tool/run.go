package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
)

// Prepared holds a call that was looked up and validated. If the call cannot run, its Outcome says
// why.
type Prepared struct {
	// Call has the effective arguments: as the model sent them if they fit, otherwise as validation
	// coerced them.
	Call   llm.ToolCall
	Access Access
	// Valid says that the tool exists and the arguments fit, so that Access is set.
	Valid bool
	// Outcome is set when the call must not run.
	Outcome *Outcome

	tool     registered
	inner    *llm.ToolCall // the call of a deferred tool that Call stands for
	ignored  string        // describes the unknown parameters that were left out
	readable bool          // the model has a tool that reads stored outputs
	guarded  bool          // Access.Guarded was looked up
	approved []string      // the guarded paths that may be changed
	value    any           // of the last decision
	meant    []*meant      // the paths of Access that the arguments spell otherwise
}

// Outcome holds what became of a call.
type Outcome struct {
	// Result is the tool's complete result.
	Result
	// Model is Content as the model sees it, truncated to the tool's limit.
	Model     llm.Parts
	Truncated bool
	// Bytes is the length of the whole text before cleaning.
	Bytes    int64
	Duration time.Duration
	// Panic is the stack of a tool or a middleware that panicked or called runtime.Goexit. It is
	// for the host.
	Panic string
	// NotBegun is set if a middleware left the call open: its error, which is an [ErrNotBegun]. The
	// call has no result then.
	NotBegun error
}

// Prepare looks up a call, validates its arguments and determines its Access. It has no effects. A
// variant of a tool's name that models write, such as functions.shell, is replaced by the name.
func (r *Registry) Prepare(call llm.ToolCall) *Prepared {
	t, ok := r.lookup(call.Name)
	if !ok {
		if t, ok = r.meant(call.Name); !ok {
			return r.unknownTool(call)
		}
		call.Name = t.Name
	}
	_, readable := r.lookup(ReadOutput)
	p := &Prepared{Call: call, tool: t, readable: readable}
	var unknown string
	if t.schema != nil {
		schema, err := t.schema.parse()
		if err != nil {
			return invalid(call, "its schema is not valid: "+err.Error())
		}
		fitted := schema.validate(call.Args)
		unknown = describeUnknown(call.Name, fitted.unknown)
		if fitted.problem != "" {
			return invalid(call, fitted.problem, unknown)
		}
		p.Call.Args = fitted.args
	}
	if t.Access != nil {
		access, stack, err := catch(call.Name, func() (Access, error) { return t.Access(p.Call.Args) })
		if err != nil {
			refused := invalid(call, err.Error())
			refused.Outcome.Panic = stack
			return refused
		}
		p.Access = access
	}
	if unknown != "" && p.Access.Effect != ReadOnly {
		return invalid(call, unknown)
	}
	p.Valid, p.ignored = true, unknown
	if t.Forwards {
		return r.forward(p)
	}
	return p
}

// invalid returns the refusal of a call with invalid arguments. Empty reasons are ignored.
func invalid(call llm.ToolCall, reasons ...string) *Prepared {
	why := strings.Join(slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }), "; ")
	return Refuse(call, fmt.Sprintf(
		"Error: invalid arguments for %s: %s. Nothing was run. Call it again with corrected arguments.", call.Name,
		why))
}

// Refuse returns a call that must not run. Its outcome is an error result with the text.
func Refuse(call llm.ToolCall, text string) *Prepared {
	text = sanitize.Text(text)
	result := Result{Content: llm.TextParts(text), IsError: true}
	return &Prepared{Call: call, Outcome: &Outcome{Result: result, Model: result.Content, Bytes: int64(len(text))}}
}

// ReadOutput is the name of the tool that reads stored outputs. If it is registered, truncated
// results tell the model to use it.
const ReadOutput = "read_output"

// keepOutput puts the whole output into the session's store and tells the model how to read it. If
// the store fails, the outcome stays as it is.
func (p *Prepared) keepOutput(result Result, o *Outcome, s Session) *Outcome {
	if s == nil || s.Outputs() == nil {
		return o
	}
	id, w, err := s.Outputs().Create(p.Call.ID)
	if err != nil {
		return o
	}
	whole := result.Raw
	if whole == nil {
		whole = []byte(o.Content.Text())
	}
	_, err = w.Write(whole)
	if err = errors.Join(err, w.Close()); err != nil {
		return o
	}
	result.OutputRef = id
	result.Hint = keptHint(id)
	return newOutcome(result, p.tool.Limit)
}

func keptHint(id string) string {
	return fmt.Sprintf("The whole output is kept: call %s with id %q and an offset, or a pattern to search it.",
		ReadOutput, id)
}

// Run prepares, authorizes and runs a call. A call that needs an approval is refused.
func (r *Registry) Run(ctx context.Context, call llm.ToolCall, c Call, hook Authorize, chain ...Middleware) *Outcome {
	p, asks := r.Authorize(ctx, r.Prepare(call), c, hook)
	if asks {
		p = p.Unapproved()
	}
	return p.Run(ctx, c, chain, nil)
}

// catch calls foreign code and returns a panic or a runtime.Goexit as an error, with the stack for
// the host.
func catch[T any](what string, run func() (T, error)) (value T, stack string, err error) {
	value, err = guard.Value(what, run)
	var broken *guard.Panic
	if errors.As(err, &broken) {
		return value, broken.Stack, fmt.Errorf("the %s is broken and stopped: it %s. Use another way", what,
			broken.Did())
	}
	return value, "", err
}

// newOutcome cleans a result and truncates the text for the model. The result's gap is in its first
// text.
func newOutcome(result Result, limit Limit) *Outcome {
	o := &Outcome{Result: result}
	o.Ran = result.Ran.clean()
	var valid bool
	if o.Structured, valid = structured(result.Structured); !valid {
		return newOutcome(result.broken("its structured result is no JSON"), limit)
	}
	o.Content = make(llm.Parts, 0, len(result.Content))
	o.Final = sanitize.Text(result.Final)
	gap := result.Gap
	for _, part := range picture.Parts(result.Content) {
		switch part := part.(type) {
		case llm.Text:
			o.Bytes += int64(len(part.Text)) + gap.Bytes
			part.Text, gap = clean(part.Text, gap)
			if gap.Bytes > 0 {
				o.Gap = gap
			}
			o.Content = append(o.Content, part)
			cut, truncated := limit.Apply(part.Text, gap, result.Hint)
			gap = Gap{}
			o.Model = append(o.Model, llm.Text{Text: cut})
			o.Truncated = o.Truncated || truncated
		case llm.Media, llm.ToolReference:
			o.Content = append(o.Content, part)
			o.Model = append(o.Model, part)
		default:
			return newOutcome(result.broken(fmt.Sprintf("its result holds a part of type %T", part)), limit)
		}
	}
	return o
}

// MaxStructured is the most that [Result.Structured] may have, in bytes.
const MaxStructured = 1 << 20

// structured returns a JSON value in the form that a journal stores, or nil if it is too long. ok
// reports whether it is JSON.
func structured(value json.RawMessage) (compact json.RawMessage, ok bool) {
	if value == nil {
		return nil, true
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, false
	}
	if b.Len() > MaxStructured {
		return nil, true
	}
	return b.Bytes(), true
}

// appendLine adds a line of the pipeline's own to the text of an outcome.
func (o *Outcome) appendLine(line string) {
	o.Content, o.Model = o.Content.WithLine(line), o.Model.WithLine(line)
}

// broken returns the error result for an invalid one. It keeps what the call has changed and run.
func (r *Result) broken(how string) Result {
	wrong := Errorf("Error: the tool is broken: %s. Use another way.", how)
	wrong.Seen, wrong.Changes, wrong.Ran = r.Seen, r.Changes, r.Ran
	return wrong
}

// clean cleans a text on both sides of its gap.
func clean(text string, gap Gap) (string, Gap) {
	if gap.Bytes == 0 {
		return sanitize.Text(text), Gap{}
	}
	at := min(max(gap.At, 0), len(text)) // a tool may give a wrong offset
	head := sanitize.Text(text[:at])
	gap.At = len(head)
	return head + sanitize.Text(text[at:]), gap
}
