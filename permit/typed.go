package permit

import (
	"context"

	"github.com/attractor-go/attractor/tool"
)

// Typed decides about a call that a person has written. It asks nobody, because the person wants the
// call. It denies what a rule or a hook denies, and commands that may do that, and in a read-only
// session everything that may change something. Plan mode does not count: it is about the model. Typed
// implements [tool.Authorize].
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
