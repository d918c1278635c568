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
	h.follow(&o.Hooks)
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

// follow makes the hooks for inputs, stops and compactions those after the ones that there are. If
// one of these returns an error, or a prompt instead of a stop, they are not asked.
func (h *Hooks) follow(o *agent.Hooks) {
	input, stop, compact := o.BeforeInput, o.BeforeStop, o.BeforeCompact
	o.BeforeInput = func(ctx context.Context, m agent.Message) (agent.Message, error) {
		if input != nil {
			var err error
			if m, err = input(ctx, m); err != nil {
				return m, err
			}
		}
		return h.BeforeInput(ctx, m)
	}
	o.BeforeStop = func(ctx context.Context, s agent.Stop) (string, error) {
		if stop != nil {
			if prompt, err := stop(ctx, s); prompt != "" || err != nil {
				return prompt, err
			}
		}
		return h.BeforeStop(ctx, s)
	}
	o.BeforeCompact = func(ctx context.Context, about agent.Compacting) (keep string, err error) {
		if compact != nil {
			if keep, err = compact(ctx, about); err != nil {
				return "", err
			}
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
