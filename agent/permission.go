package agent

import (
	"context"

	"github.com/attractor-go/attractor/tool"
)

// A lane is one of the two hooks that permit calls. Each is asked about one call at a time, in the
// order of the calls.
type lane int

const (
	authorize lane = iota
	approve        // asked where Authorize says Ask
	lanes
)

// ask asks a hook about the first call that needs its decision. A call that needs no approval does
// not wait for those that do.
func (r *round) ask(l lane) {
	hook, phase := r.s.hooks.Authorize, toAuthorize
	if l == approve {
		hook, phase = r.s.hooks.Approve, toApprove
	}
	if r.busy[l] {
		return
	}
	for _, c := range r.calls {
		if c.phase != phase || r.blocked(c) {
			continue
		}
		c.phase, r.busy[l] = asking, true
		r.start(func() func() {
			d := r.s.permit(r.deciding, c.Prepared, hook)
			return func() {
				r.busy[l] = false
				r.applyDecision(c, d, l)
			}
		})
		return
	}
}

// A decision holds the outcome of a hook: the call as permitted or refused, whether Approve has to
// be asked, or an error.
type decision struct {
	call *tool.Prepared
	asks bool
	err  error
}

// applyDecision changes a call by the decision about it. After an interrupt no call is permitted.
func (r *round) applyDecision(c *call, d decision, l lane) {
	c.phase = permitted
	switch {
	case r.err() != nil:
		c.phase = toAuthorize // the next process asks again
	case d.err != nil || r.ctx.Err() != nil:
		c.Prepared = tool.Refuse(c.Call, notRun)
	case d.asks && l == authorize && r.s.hooks.Approve != nil:
		c.Prepared, c.phase = d.call, toApprove
	case d.asks:
		c.Prepared = d.call.Unapproved()
	default:
		c.Prepared = d.call
	}
}

// permit returns a hook's decision about a call. It refuses a call whose tool has been removed
// since it was prepared.
func (s *Session) permit(ctx context.Context, p *tool.Prepared, hook tool.Authorize) decision {
	registry := s.tools()
	decide := func() (d decision) {
		if _, ok := registry.Get(p.Call.Name); !ok {
			p = registry.Prepare(p.Call)
		}
		own := *p
		d.call, d.asks = registry.Authorize(ctx, &own, s.toolCall(), hook)
		return d
	}
	if hook == nil { // only the environment is asked, on a goroutine of its own and no longer than until ctx ends
		return decide()
	}
	d, err := host(ctx, s, "the permission hook that was asked about "+p.Call.Name, s.limits.Grace,
		func() (decision, error) { return decide(), nil })
	s.warnOfStuck(err)
	d.err = err
	return d
}
