package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
)

// Verdict says whether a call may run.
type Verdict uint8

// The verdicts. The zero value denies.
const (
	Deny Verdict = iota
	Allow
	Ask // leave the decision to somebody else, such as a person
)

// String returns the verdict's name: deny, allow or ask. A value that is no verdict denies.
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// Decision holds a permission hook's answer.
type Decision struct {
	Verdict Verdict
	Reason  string // for the model, when denied
	// Args, when not empty, replaces the arguments. They are validated again.
	Args string
	// Value, when not nil, goes with the call: to the hook that decides next, in [Request.Value],
	// and to middleware and the tool, in [Call.Value]. It replaces the value of an earlier
	// decision, so only one hook of a session should set it. It is not recorded.
	Value any
}

// Request holds the call that a permission hook decides about.
type Request struct {
	SessionID string
	AgentID   string       // a subagent's id, as its parent knows it; empty for the host's own session
	Dir       string       // the working directory of the call; empty if it has no environment
	Call      llm.ToolCall // with the effective arguments
	Access    Access
	// Value is that of the last [Decision] about the call, or nil.
	Value any

	edit    func(ctx context.Context, args string) (Request, error)
	preview func(ctx context.Context, diffs int) ([]Change, error)
}

// WithArgs validates other arguments and returns the request with them and with what the call would
// then touch. The error says what is wrong with the arguments.
func (r Request) WithArgs(ctx context.Context, args string) (Request, error) {
	if r.edit == nil {
		return r, errors.New("this request does not come from a registry, which would validate the arguments")
	}
	edited, err := r.edit(ctx, args)
	edited.Value = r.Value
	return edited, err
}

// Authorize decides whether a call may run. An error denies the call with the error's text.
type Authorize func(ctx context.Context, req Request) (Decision, error)

// AuthorizeAll returns a hook that asks several hooks in order. The first that denies the call
// decides. If a hook changes the arguments, they are validated, and the later hooks see the changed
// call. The decision is Ask if a hook returns Ask, and otherwise Allow.
func AuthorizeAll(hooks ...Authorize) Authorize {
	return func(ctx context.Context, req Request) (Decision, error) {
		all := Decision{Verdict: Allow}
		for _, hook := range hooks {
			d, err := hook(ctx, req)
			if err != nil || d.Verdict != Allow && d.Verdict != Ask {
				return d, err
			}
			if d.Verdict == Ask {
				all.Verdict = Ask
			}
			if d.Value != nil {
				all.Value, req.Value = d.Value, d.Value
			}
			if d.Args == "" || d.Args == req.Call.Args {
				continue
			}
			all.Args = d.Args
			if req, err = req.WithArgs(ctx, d.Args); err != nil {
				return Decision{}, err
			}
		}
		return all, nil
	}
}

// findGuarded sets Access.Paths to the entries that are meant in e, and Access.Guarded to the files
// that the call would change and that need an approval. If it is not clear what is meant, the
// environment fails, or it does not answer before the context ends, the call is refused.
func (p *Prepared) findGuarded(ctx context.Context, e env.Environment) {
	if p.guarded = true; p.Outcome != nil || e == nil || len(p.Access.Paths) == 0 {
		return
	}
	paths, readOnly := p.Access.Paths, p.Access.Effect == ReadOnly
	type files struct {
		Access
		meant []*meant
	}
	found, err := guard.Within(ctx, "the environment", func() (f files, err error) {
		f.Access = Access{Paths: paths}.In(e.WorkDir())
		f.meant, err = findMeant(ctx, e, f.Paths)
		if err == nil && !readOnly {
			f.Guarded = guardedFiles(ctx, e, f.Paths)
		}
		return f, err
	})
	p.Access.Paths, p.Access.Guarded, p.meant = found.Paths, found.Guarded, found.meant
	var unclear *env.AmbiguousError
	switch {
	case errors.As(err, &unclear), errors.Is(err, syscall.ENAMETOOLONG):
		*p = *Refuse(p.Call, fmt.Sprintf("Error: %v. Nothing was run.", err))
	case err != nil:
		*p = *Refuse(p.Call, fmt.Sprintf(
			"Error: the call of %s was not run, because the environment did not say whether it needs an approval: %v",
			p.asked().Name, err))
	}
}

// guardedFiles returns those of the files that need an approval.
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

// AllowUnguarded is the default [Authorize]. It returns Ask for calls that change guarded files,
// and allows all others.
func AllowUnguarded(_ context.Context, req Request) (Decision, error) {
	if len(req.Access.Guarded) > 0 {
		return Decision{Verdict: Ask}, nil
	}
	return Decision{Verdict: Allow}, nil
}

// Authorize asks the hook about a prepared call and returns the call as edited, refused or
// permitted. c has the environment and the session that the call would run in. A nil hook means
// [AllowUnguarded]. A hook that fails or panics allows nothing. A hook that allows a call also
// approves of the changes to its guarded files.
//
// asks reports whether the hook returned Ask. The caller then asks another hook, or refuses the
// call by [Prepared.Unapproved].
func (r *Registry) Authorize(ctx context.Context, p *Prepared, c Call, hook Authorize) (decided *Prepared, asks bool) {
	if !p.guarded {
		p.findGuarded(ctx, c.Env)
	}
	if p.Outcome != nil {
		return p, false
	}
	name, args := p.asked().Name, p.asked().Args
	if _, ok := r.lookup(name); p.inner != nil && !ok { // it was removed since the call was prepared
		return p.refused(r.unknownForward(name)), false
	}
	d, err := r.decide(ctx, p, c, hook)
	if d.Value != nil {
		p.value = d.Value
	}
	switch {
	case err != nil:
		return p.refused(fmt.Sprintf("Error: the call of %s was not permitted: %v", name, err)), false
	case d.Verdict != Allow && d.Verdict != Ask:
		return p.refused(strings.TrimSuffix(fmt.Sprintf("Error: the call of %s was not permitted: %s", name, d.Reason),
			": ")), false
	case d.Args != "" && d.Args != args:
		p = r.edited(ctx, p, c, d.Args)
	}
	if p.Outcome != nil || d.Verdict == Ask {
		return p, p.Outcome == nil
	}
	for _, g := range p.Access.Guarded { // also those of edited arguments, which are the host's own
		p.approved = append(p.approved, g.Path)
	}
	return p, false
}

// decide returns the hook's decision about a call. The default hook is not foreign code, so it
// needs no goroutine of its own.
func (r *Registry) decide(ctx context.Context, p *Prepared, c Call, hook Authorize) (Decision, error) {
	if hook == nil {
		return AllowUnguarded(ctx, Request{Access: p.Access})
	}
	d, _, err := catch("permission hook", func() (Decision, error) { return hook(ctx, r.request(p, c)) })
	return d, err
}

// edited prepares a call again with other arguments.
func (r *Registry) edited(ctx context.Context, p *Prepared, c Call, args string) *Prepared {
	call := p.asked()
	call.Args = args
	var edited *Prepared
	if p.inner != nil {
		edited = r.forwarded(p, call)
	} else {
		edited = r.Prepare(call)
	}
	if edited.ignored == "" { // report what the model sent
		edited.ignored = p.ignored
	}
	edited.value = p.value
	edited.findGuarded(ctx, c.Env)
	return edited
}

// request returns the request for a hook about a call.
func (r *Registry) request(p *Prepared, c Call) Request {
	dir := ""
	if c.Env != nil {
		dir = c.Env.WorkDir()
	}
	return Request{SessionID: c.SessionID, AgentID: c.AgentID, Dir: dir, Call: p.asked(), Access: p.Access,
		Value: p.value,
		edit: func(ctx context.Context, args string) (Request, error) {
			edited := r.edited(ctx, p, c, args)
			if edited.Outcome != nil {
				return Request{}, errors.New(edited.Outcome.Model.Text())
			}
			return r.request(edited, c), nil
		},
		preview: func(ctx context.Context, diffs int) ([]Change, error) { return p.preview(ctx, c, diffs) }}
}

// Unapproved returns a call that needs an approval as refused, because nobody can be asked.
func (p *Prepared) Unapproved() *Prepared {
	return p.refused(fmt.Sprintf("Error: the call of %s needs a person's approval, and nobody is there to give it.%s",
		p.asked().Name, p.Access.reasons()))
}

// refused returns the call as refused, with the text for the model.
func (p *Prepared) refused(text string) *Prepared {
	refused := *p
	refused.Outcome = Refuse(p.Call, text).Outcome
	return &refused
}

// reasons returns why a call needs an approval, as sentences that each begin with a space.
func (a Access) reasons() string {
	var b strings.Builder
	for _, g := range a.Guarded {
		fmt.Fprintf(&b, " %s: %s.", texts.Shown(g.Path), g.Why)
	}
	return b.String()
}
