package hooks

import (
	"context"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// Attach adds the hooks to the options of a session: to its agent.Hooks, OnEvent and Closers. What
// the options have already is called first. The end of the session calls End. The caller calls
// Start, which needs the session, and End if the session cannot be made.
//
// The hooks for PreToolUse can only be stricter than Options.Authorize: a call that they allow is
// still asked about or denied if Authorize says so. Those for PermissionRequest are asked before
// Options.Approve, and can allow a call in its place. A host with permission rules of its own,
// which a hook may relax, uses BeforeRules and BeforeQuestion instead.
func (h *Hooks) Attach(o *agent.Options) {
	rules := o.Authorize
	if rules == nil {
		rules = tool.AllowUnguarded
	}
	if h.Has(PreToolUse) {
		o.Authorize = tool.AuthorizeAll(h.authorize, rules)
	}
	if h.Has(PermissionRequest) {
		o.Approve = h.approve(rules, o.Approve)
	}
	o.Middleware = append(slices.Clip(o.Middleware), h.Middleware)
	o.BeforeInput = h.afterInput(o.BeforeInput)
	o.BeforeStop = h.afterStop(o.BeforeStop)
	o.BeforeCompact = h.afterCompact(o.BeforeCompact)
	show := o.OnEvent
	o.OnEvent = func(ev agent.Event) {
		if show != nil {
			show(ev)
		}
		h.OnEvent(ev)
	}
	o.Closers = append(slices.Clip(o.Closers), ending{h})
}

// authorize implements [tool.Authorize] by the hooks for PreToolUse.
func (h *Hooks) authorize(ctx context.Context, req tool.Request) (tool.Decision, error) {
	o, err := h.BeforeRules(ctx, req)
	d := tool.Decision{Verdict: tool.Allow, Reason: o.Reason, Args: o.Args}
	switch o.Says {
	case Denies:
		d.Verdict = tool.Deny
	case Asks:
		d.Verdict = tool.Ask
	}
	return d, err
}

// approve returns a hook that asks those for PermissionRequest, and then next unless they have
// decided. If they change the arguments, the rules judge the call again and may deny it.
func (h *Hooks) approve(rules, next tool.Authorize) tool.Authorize {
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		o, err := h.BeforeQuestion(ctx, req)
		answer := next
		switch {
		case err != nil || o.Says == Denies:
			return tool.Decision{Reason: o.Reason}, err
		case o.Says == Allows:
			answer = always(tool.Decision{Verdict: tool.Allow})
		case next == nil:
			answer = always(tool.Decision{Reason: "no hook has allowed it, and there is nobody to ask"})
		}
		if o.Args == "" {
			return answer(ctx, req)
		}
		return tool.AuthorizeAll(always(tool.Decision{Verdict: tool.Allow, Args: o.Args}), denials(rules), answer)(ctx,
			req)
	}
}

// always returns a hook that always returns d.
func always(d tool.Decision) tool.Authorize {
	return func(context.Context, tool.Request) (tool.Decision, error) { return d, nil }
}

// denials returns a hook that denies what the rules deny, and allows everything else.
func denials(rules tool.Authorize) tool.Authorize {
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		d, err := rules(ctx, req)
		if d.Verdict == tool.Ask {
			d.Verdict = tool.Allow
		}
		return d, err
	}
}

// afterInput returns a BeforeInput that calls first, and then asks the hooks about its message.
func (h *Hooks) afterInput(first func(context.Context, agent.Message) (agent.Message, error)) func(context.Context,
	agent.Message) (agent.Message, error) {
	if first == nil {
		return h.BeforeInput
	}
	return func(ctx context.Context, m agent.Message) (agent.Message, error) {
		m, err := first(ctx, m)
		if err != nil {
			return m, err
		}
		return h.BeforeInput(ctx, m)
	}
}

// afterStop returns a BeforeStop that calls first, and asks the hooks if first returns no prompt.
func (h *Hooks) afterStop(first func(context.Context, agent.Stop) (string, error)) func(context.Context,
	agent.Stop) (string, error) {
	if first == nil {
		return h.BeforeStop
	}
	return func(ctx context.Context, stop agent.Stop) (string, error) {
		if prompt, err := first(ctx, stop); prompt != "" || err != nil {
			return prompt, err
		}
		return h.BeforeStop(ctx, stop)
	}
}

// afterCompact returns a BeforeCompact that returns what first and the hooks want to keep.
func (h *Hooks) afterCompact(first func(context.Context, agent.Compacting) (string, error)) func(context.Context,
	agent.Compacting) (string, error) {
	if first == nil {
		return h.BeforeCompact
	}
	return func(ctx context.Context, about agent.Compacting) (string, error) {
		keep, err := first(ctx, about)
		if err != nil {
			return "", err
		}
		more, err := h.BeforeCompact(ctx, about)
		return strings.TrimSpace(keep + "\n\n" + more), err
	}
}

// ending ends hooks with their session.
type ending struct{ hooks *Hooks }

// Close implements [io.Closer].
func (e ending) Close() error {
	e.hooks.End(context.Background())
	return nil
}
