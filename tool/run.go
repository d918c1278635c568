package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/llm"
)

// Verdict is a permission hook's decision.
type Verdict uint8

// The verdicts. The zero value denies.
const (
	Deny Verdict = iota
	Allow
	Ask // somebody else decides
)

// Decision is a permission hook's answer.
type Decision struct {
	Verdict Verdict
	Reason  string // for the model, when denied
	// Args, when not empty, replaces the arguments. They are validated again.
	Args string
}

// Request is what a permission hook is asked about.
type Request struct {
	Call   llm.ToolCall // with the effective arguments
	Access Access
}

// Authorize decides whether a call may run. An error denies it with the error's text.
type Authorize func(ctx context.Context, req Request) (Decision, error)

// Prepared is a call that was looked up and validated, or the Outcome that says why it cannot run.
type Prepared struct {
	// Call has the effective arguments: what the model sent, as far as it fits, else what validation made of it.
	Call   llm.ToolCall
	Access Access
	// Outcome is set when the call must not run.
	Outcome *Outcome

	tool     registered
	readable bool // the model can read what is kept
	env      env.Environment
	approved []string // the guarded paths that may be changed
}

// Outcome is what became of a call.
type Outcome struct {
	// Result is what the tool gave back, whole.
	Result
	// Model is Content as the model sees it: cut by the tool's limit.
	Model     llm.Parts
	Truncated bool
	// Bytes is the length of the whole text, as the tool printed it.
	Bytes    int64
	Duration time.Duration
	// Panic is the stack of a tool that panicked or called runtime.Goexit, for the host: it is a bug in the tool.
	Panic string
}

// Prepare looks a call up, validates its arguments and finds out what it would touch. It has no effects.
func (r *Registry) Prepare(call llm.ToolCall) *Prepared {
	t, ok := r.lookup(call.Name)
	if !ok {
		return Refuse(call, fmt.Sprintf("Error: unknown tool %q. The tools are: %s.", call.Name, strings.Join(r.Names(), ", ")))
	}
	_, readable := r.lookup(ReadOutput)
	p := &Prepared{Call: call, tool: t, readable: readable}
	if t.schema != nil {
		args, problem := t.schema.validate(call.Args)
		if problem != "" {
			return Refuse(call, fmt.Sprintf("Error: invalid arguments for %s: %s. Nothing was run. Call it again with corrected arguments.",
				call.Name, problem))
		}
		p.Call.Args = args
	}
	if t.Access != nil {
		access, stack, err := guarded(call.Name, func() (Access, error) { return t.Access(p.Call.Args) })
		if err != nil {
			refused := Refuse(call, fmt.Sprintf("Error: invalid arguments for %s: %v. Nothing was run.", call.Name, err))
			refused.Outcome.Panic = stack
			return refused
		}
		p.Access = access
	}
	return p
}

// Guard finds out which of the files that the call would change need an approval in e, for [Registry.Authorize], and notes them in
// Access. An environment that fails at it, or does not answer before the context ends, allows no change.
func (p *Prepared) Guard(ctx context.Context, e env.Environment) {
	p.env = e
	if p.Outcome != nil || e == nil || p.Access.Effect == ReadOnly || len(p.Access.Paths) == 0 {
		return
	}
	looked := guard.Start("the environment", func() ([]Guarded, error) { return guardedFiles(ctx, e, p.Access.Paths), nil })
	var err error
	select {
	case found := <-looked:
		p.Access.Guarded, err = found.Value, found.Err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		*p = *Refuse(p.Call, fmt.Sprintf("Error: the call of %s was not run, because it cannot be told whether it needs an approval: %v", p.Call.Name, err))
	}
}

func guardedFiles(ctx context.Context, e env.Environment, paths []string) []Guarded {
	var list []Guarded
	for _, name := range paths {
		why := env.Guarded(ctx, e, name)
		if why == "" {
			continue
		}
		if path, err := env.Resolve(ctx, e, name); err == nil {
			list = append(list, Guarded{Path: path, Why: why})
		}
	}
	return list
}

// AllowUnguarded is the [Authorize] of those who have none: it allows everything but changes of guarded files, about which it has
// somebody else decide.
func AllowUnguarded(_ context.Context, req Request) (Decision, error) {
	if len(req.Access.Guarded) > 0 {
		return Decision{Verdict: Ask}, nil
	}
	return Decision{Verdict: Allow}, nil
}

// Authorize asks the hook about a prepared call and returns it, edited or refused. A hook that allows a call approves of the guarded files that
// it was shown. Nil is [AllowUnguarded]; a hook that fails or panics allows nothing.
func (r *Registry) Authorize(ctx context.Context, p *Prepared, hook Authorize) *Prepared {
	if p.Outcome != nil {
		return p
	}
	if hook == nil {
		hook = AllowUnguarded
	}
	d, _, err := guarded("permission hook", func() (Decision, error) { return hook(ctx, Request{Call: p.Call, Access: p.Access}) })
	name := p.Call.Name
	switch {
	case err != nil:
		return Refuse(p.Call, fmt.Sprintf("Error: the call of %s was not permitted: %v", name, err))
	case d.Verdict == Ask:
		return Refuse(p.Call, fmt.Sprintf("Error: the call of %s needs a person's approval, and nobody is there to give it.%s", name, p.Access.reasons()))
	case d.Verdict != Allow:
		return Refuse(p.Call, strings.TrimSuffix(fmt.Sprintf("Error: the call of %s was not permitted: %s", name, d.Reason), ": "))
	case d.Args != "" && d.Args != p.Call.Args:
		edited := p.Call
		edited.Args = d.Args
		before := p.env
		p = r.Prepare(edited) // by the host, which approves of what it touches
		p.Guard(ctx, before)
	}
	for _, g := range p.Access.Guarded {
		p.approved = append(p.approved, g.Path)
	}
	return p
}

// reasons returns why a call needs an approval, in sentences that begin with a space.
func (a Access) reasons() string {
	var b strings.Builder
	for _, g := range a.Guarded {
		fmt.Fprintf(&b, " %s: %s.", names.Shown(g.Path), g.Why)
	}
	return b.String()
}

// Refuse returns a call that must not run: its outcome is an error result with the text.
func Refuse(call llm.ToolCall, text string) *Prepared {
	text = CleanText(text)
	result := Result{Content: llm.TextParts(text), IsError: true}
	return &Prepared{Call: call, Outcome: &Outcome{Result: result, Model: result.Content, Bytes: int64(len(text))}}
}

// Run runs a prepared call in c's environment and session; c's id, name and arguments are filled in here. It never panics and
// always has an outcome: an error, or a panic, of the tool is an error result.
func (p *Prepared) Run(ctx context.Context, c Call) *Outcome {
	if p.Outcome != nil {
		return p.Outcome
	}
	c.ID, c.Name, c.Args, c.Approved = p.Call.ID, p.Call.Name, p.Call.Args, p.approved
	start := time.Now()
	result, stack, err := guarded("tool "+c.Name, func() (Result, error) { return p.tool.Run(ctx, &c) })
	if err != nil {
		result = Errorf("Error: %s", names.Error(err))
	}
	if result.OutputRef != "" && p.readable {
		result.Hint = keptHint(result.OutputRef)
	}
	o := finish(result, p.tool.Limit)
	if o.Truncated && p.readable && o.OutputRef == "" && o.Gap.Bytes == 0 {
		o = p.keep(result, o, c.Session)
	}
	o.Duration, o.Panic = time.Since(start), stack
	return o
}

// ReadOutput is the name of the tool that reads what a session keeps of truncated outputs. Where it is registered, truncation
// tells the model to use it.
const ReadOutput = "read_output"

// keep puts the whole output into the session's store and tells the model where. A store that fails changes nothing: the model
// sees what it would have seen without one.
func (p *Prepared) keep(result Result, o *Outcome, s Session) *Outcome {
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
	return finish(result, p.tool.Limit)
}

func keptHint(id string) string {
	return fmt.Sprintf("The whole output is kept: call %s with id %q and an offset, or a pattern to search it.", ReadOutput, id)
}

// Run takes a call through the whole pipeline.
func (r *Registry) Run(ctx context.Context, call llm.ToolCall, c Call, hook Authorize) *Outcome {
	p := r.Prepare(call)
	p.Guard(ctx, c.Env)
	return r.Authorize(ctx, p, hook).Run(ctx, c)
}

// guarded makes a panic or a runtime.Goexit of somebody else's code an error, with the stack for the host.
func guarded[T any](what string, run func() (T, error)) (value T, stack string, err error) {
	value, err = guard.Value(what, run)
	var broken *guard.Panic
	if errors.As(err, &broken) {
		return value, broken.Stack, fmt.Errorf("the %s is broken and stopped: it %s. Use another way", what, broken.Did())
	}
	return value, "", err
}

// finish cleans a result's text and cuts what the model sees. A gap is in the first text.
func finish(result Result, limit Limit) *Outcome {
	o := &Outcome{Result: result}
	o.Content = make(llm.Parts, 0, len(result.Content))
	o.Final = CleanText(result.Final)
	gap := result.Gap
	for _, part := range result.Content {
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
		case llm.Media:
			o.Content = append(o.Content, part)
			o.Model = append(o.Model, part)
		default:
			return finish(Errorf("Error: the tool is broken: its result holds a part of type %T. Use another way.", part), limit)
		}
	}
	return o
}

// clean cleans a text on both sides of its gap.
func clean(text string, gap Gap) (string, Gap) {
	if gap.Bytes == 0 {
		return CleanText(text), Gap{}
	}
	at := min(max(gap.At, 0), len(text)) // a tool may be wrong; the pipeline must not fall over it
	head := CleanText(text[:at])
	gap.At = len(head)
	return head + CleanText(text[at:]), gap
}
