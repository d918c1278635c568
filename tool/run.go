package tool

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

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

	tool *registered
}

// Outcome is what became of a call.
type Outcome struct {
	// Result is what the tool gave back, whole.
	Result
	// Model is Content as the model sees it: cut by the tool's limit.
	Model     llm.Parts
	Truncated bool
	Duration  time.Duration
	// Panic is the stack of a tool that panicked, for the host: it is a bug in the tool.
	Panic string
}

// Prepare looks a call up, validates its arguments and finds out what it would touch. It has no effects.
func (r *Registry) Prepare(call llm.ToolCall) *Prepared {
	t := r.lookup(call.Name)
	if t == nil {
		return refuse(call, "Error: unknown tool %q. The tools are: %s.", call.Name, strings.Join(r.Names(), ", "))
	}
	p := &Prepared{Call: call, tool: t}
	if t.schema != nil {
		args, problem := t.schema.validate(call.Args)
		if problem != "" {
			return refuse(call, "Error: invalid arguments for %s: %s. Nothing was run. Call it again with corrected arguments.", call.Name, problem)
		}
		p.Call.Args = args
	}
	if t.Access != nil {
		access, err := t.Access(p.Call.Args)
		if err != nil {
			return refuse(call, "Error: invalid arguments for %s: %v. Nothing was run.", call.Name, err)
		}
		p.Access = access
	}
	return p
}

// Authorize asks the hook about a prepared call and returns it, edited or refused. A nil hook allows everything.
func (r *Registry) Authorize(ctx context.Context, p *Prepared, hook Authorize) *Prepared {
	if hook == nil || p.Outcome != nil {
		return p
	}
	d, err := hook(ctx, Request{Call: p.Call, Access: p.Access})
	switch {
	case err != nil:
		return refuse(p.Call, "Error: the call of %s was not permitted: %v", p.Call.Name, err)
	case d.Verdict == Ask:
		return refuse(p.Call, "Error: the call of %s needs a person's approval, and nobody is there to give it.", p.Call.Name)
	case d.Verdict != Allow && d.Reason != "":
		return refuse(p.Call, "Error: the call of %s was not permitted: %s", p.Call.Name, d.Reason)
	case d.Verdict != Allow:
		return refuse(p.Call, "Error: the call of %s was not permitted.", p.Call.Name)
	case d.Args != "" && d.Args != p.Call.Args:
		edited := p.Call
		edited.Args = d.Args
		return r.Prepare(edited)
	}
	return p
}

func refuse(call llm.ToolCall, format string, args ...any) *Prepared {
	result := Errorf(format, args...)
	return &Prepared{Call: call, Outcome: &Outcome{Result: result, Model: result.Content}}
}

// Run runs a prepared call in c's environment and session; c's id, name and arguments are filled in here. It never panics and
// always has an outcome: an error, or a panic, of the tool is an error result.
func (p *Prepared) Run(ctx context.Context, c Call) *Outcome {
	if p.Outcome != nil {
		return p.Outcome
	}
	c.ID, c.Name, c.Args = p.Call.ID, p.Call.Name, p.Call.Args
	start := time.Now()
	result, stack, err := guarded(ctx, p.tool.Run, &c)
	if err != nil {
		result = Errorf("Error: %v", err)
	}
	o := finish(result, p.tool.Limit)
	o.Duration, o.Panic = time.Since(start), stack
	return o
}

// Run takes a call through the whole pipeline.
func (r *Registry) Run(ctx context.Context, call llm.ToolCall, c Call, hook Authorize) *Outcome {
	return r.Authorize(ctx, r.Prepare(call), hook).Run(ctx, c)
}

func guarded(ctx context.Context, run func(context.Context, *Call) (Result, error), c *Call) (result Result, stack string, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack = string(debug.Stack())
			err = fmt.Errorf("the tool %s is broken and stopped: %v. Use another tool", c.Name, p)
		}
	}()
	result, err = run(ctx, c)
	return result, "", err
}

// finish cleans a result's text and cuts what the model sees. A gap is in the first text.
func finish(result Result, limit Limit) *Outcome {
	o := &Outcome{Result: result}
	o.Content = make(llm.Parts, 0, len(result.Content))
	gap := result.Gap
	for _, part := range result.Content {
		text, ok := part.(llm.Text)
		if !ok {
			o.Content = append(o.Content, part)
			o.Model = append(o.Model, part)
			continue
		}
		text.Text, gap = clean(text.Text, gap)
		if gap.Bytes > 0 {
			o.Gap = gap
		}
		o.Content = append(o.Content, text)
		cut, truncated := limit.Apply(text.Text, gap, result.Hint)
		gap = Gap{}
		o.Model = append(o.Model, llm.Text{Text: cut})
		o.Truncated = o.Truncated || truncated
	}
	return o
}

// clean makes text valid UTF-8, keeping the gap where it is.
func clean(text string, gap Gap) (string, Gap) {
	if gap.Bytes == 0 {
		return strings.ToValidUTF8(text, "\uFFFD"), Gap{}
	}
	at := min(max(gap.At, 0), len(text)) // a tool may be wrong; the pipeline must not fall over it
	head := strings.ToValidUTF8(text[:at], "\uFFFD")
	gap.At = len(head)
	return head + strings.ToValidUTF8(text[at:], "\uFFFD"), gap
}
