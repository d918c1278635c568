package agent

import (
	"context"

	"github.com/attractor-go/attractor/tool"
)

// lane is one of the two hooks that permit calls. Each is asked about one call at a time, in the order of the calls whose turn has come.
type lane int

const (
	authorize lane = iota
	approve        // where Authorize says Ask
	lanes
)

// ask asks a hook about the next call that it has to decide about. A call that needs no approval does not wait for those that do.
func (r *round) ask(l lane) {
	hook, phase := r.s.authorize, prepared
	if l == approve {
		hook, phase = r.s.approve, open
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
				r.decided(c, d, l)
			}
		})
		return
	}
}

// decision holds the outcome of a hook: a call that is permitted or refused, unless somebody else has to be asked, or the hook does not return.
type decision struct {
	call *tool.Prepared
	asks bool
	err  error
}

// decided notes what a hook came to. What it has not decided before an interrupt is not permitted.
func (r *round) decided(c *call, d decision, l lane) {
	c.phase = permitted
	switch {
	case r.stopped() != nil:
		c.phase = prepared // and stays it
	case d.err != nil || r.ctx.Err() != nil:
		c.Prepared = tool.Refuse(c.Call, notRun)
	case d.asks && l == authorize && r.s.approve != nil:
		c.Prepared, c.phase = d.call, open
	case d.asks:
		c.Prepared = d.call.Unapproved()
	default:
		c.Prepared = d.call
	}
}

// permit asks a hook about a call. One whose tool was removed since it was prepared is refused.
func (s *Session) permit(ctx context.Context, p *tool.Prepared, hook tool.Authorize) decision {
	registry := s.tools()
	d, err := host(ctx, s, "the permission hook that was asked about "+p.Call.Name, s.grace, func() (d decision, _ error) {
		if _, ok := registry.Get(p.Call.Name); !ok && s.inTurn == nil { // a replay has its results from the journal
			p = registry.Prepare(p.Call)
		}
		own := *p
		d.call, d.asks = registry.Authorize(ctx, &own, s.toolCall(), hook)
		return d, nil
	})
	s.warnOfStuck(err)
	d.err = err
	return d
}
