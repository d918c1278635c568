package permit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Hook returns its opinion about a call. An error denies the call with the error's text.
type Hook func(ctx context.Context, req tool.Request) (Opinion, error)

// Opinion holds the decision of a hook about a call. The zero value decides nothing.
type Opinion struct {
	Says   Stance
	Reason string // for the model if the hook denies, for the person if it asks
	Args   string // when not empty, replaces the arguments
	Value  any    // when not nil, goes with the call; see [Values]
}

// Stance is a hook's verdict.
type Stance uint8

// The stances, the stricter the higher. Denies and Asks count whatever the rules say. Allows
// answers the question that the built-in rules ask, and no other.
const (
	NoOpinion Stance = iota
	Allows
	Asks
	Denies
)

// consult asks hooks in order and keeps their values. It returns the request with the arguments as
// they have changed them, and the strictest opinion. The first that denies ends the round.
func (p *passage) consult(ctx context.Context, hooks []Hook, req tool.Request) (tool.Request, Opinion, error) {
	var strictest Opinion
	for _, hook := range hooks {
		o, err := hook(ctx, req)
		if err != nil {
			return req, Opinion{}, err
		}
		if o.Value != nil {
			p.values = append(slices.Clip(p.values), o.Value)
		}
		if o.Says > strictest.Says {
			strictest = o
		}
		if o.Says == Denies {
			break
		}
		if o.Args != "" && o.Args != req.Call.Args {
			if req, err = req.WithArgs(ctx, o.Args); err != nil {
				return req, Opinion{}, fmt.Errorf("a hook changed the arguments: %w", err)
			}
		}
	}
	return req, strictest, nil
}

// judgement is a decision of the rules and hooks together. Its Reason names the rule, if one
// decided.
type judgement rules.Decision

// judge returns what rules and hooks say about a call in the gate's mode.
func (g *Gate) judge(ctx context.Context, req tool.Request, p *passage) judgement {
	return g.judgeIn(ctx, g.Mode(), req, p)
}

// judgeIn returns what rules and hooks say about a call in a mode.
func (g *Gate) judgeIn(ctx context.Context, mode Mode, req tool.Request, p *passage) judgement {
	wish := p.wish
	if wish.Says == Denies {
		return judgement{Reason: wish.Reason}
	}
	if mode == ModeReadOnly && req.Access.Effect != tool.ReadOnly {
		return judgement{Reason: readOnlySession}
	}
	g.decide(ctx, req, p)
	j := judgement(p.ruled)
	switch {
	case j.Verdict == tool.Deny:
	case mode == ModePlan && !j.Reads:
		j = judgement{Reason: "the session is in plan mode. " + g.PlanText()}
	case mode == ModeFull && j.Denied:
		j = judgement{Reason: j.Reason}
	case mode == ModeFull:
		j.Verdict = tool.Allow
	case wish.Says == Asks:
		why := cmp.Or(wish.Reason, "a hook wants a person's approval")
		j = judgement{Verdict: tool.Ask, Reason: why, Reasons: append([]string{why}, j.Reasons...), Touches: j.Touches}
	case j.Verdict == tool.Ask && j.Default && wish.Says == Allows:
		j.Verdict = tool.Allow
	case j.Verdict == tool.Ask && mode == ModeAcceptEdits && j.Edits:
		g.acceptEdit(ctx, &j)
	case j.Verdict == tool.Ask && j.Default && j.Script && !j.Secret && mode.asks() && len(g.BeforeQuestion) == 0 &&
		g.Unasked != nil && g.Unasked():
		j.Verdict, j.Reads = tool.Allow, true // it can do nothing else where it runs
	}
	return j
}

// acceptEdit allows an edit of ordinary files, unless something may run them that no call starts:
// then a person, or a rule of theirs, decides about edits.
func (g *Gate) acceptEdit(ctx context.Context, j *judgement) {
	why := env.Exposed(ctx, g.Env)
	if why == "" {
		j.Verdict = tool.Allow
		return
	}
	j.Reason += ", and " + why
	j.Reasons = append([]string{j.Reason}, j.Reasons[1:]...)
	if g.Exposed != nil {
		g.Exposed(why)
	}
}

// readOnlySession is why calls that change or run something are denied in ModeReadOnly.
const readOnlySession = "this session is read-only: you can read and search files, but not change or run anything. " +
	"Report what you would do instead"

// refusal returns why a call does not run, for the model.
func (j *judgement) refusal() string {
	if j.Verdict != tool.Ask {
		return cmp.Or(j.Reason, "a hook denies it")
	}
	because := ""
	if j.Reason != "" {
		because = " (" + j.Reason + ")"
	}
	return "it needs a person's approval" + because + ", and nobody is there to give it. Do without it, or say what " +
		"you would do and why"
}

// Typed decides about a call that a person has written. It asks nobody, because the person wants
// the call. It denies what a rule or a hook denies, and commands that may do that, and in a
// read-only session everything that may change something. Plan mode does not count: it is about the
// model. Typed implements [tool.Authorize].
func (g *Gate) Typed(ctx context.Context, req tool.Request) (tool.Decision, error) {
	sent := req.Call.Args
	p := &passage{gate: g, accepted: true}
	req, wish, err := p.consult(ctx, g.BeforeRules, req)
	if err != nil {
		return tool.Decision{}, err
	}
	p.wish = wish
	mode := ModeFull // which asks about nothing, and refuses what may do what is denied
	if g.Mode() == ModeReadOnly {
		mode = ModeReadOnly
	}
	if j := g.judgeIn(ctx, mode, req, p); j.Verdict == tool.Deny {
		return tool.Decision{Reason: j.refusal()}, nil
	}
	return decision(req, sent, tool.Allow, p), nil
}
