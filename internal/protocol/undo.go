package protocol

import (
	"context"
	"errors"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/undo"
)

// The bounds of a reply about changes: bytes of a diff besides its first file, paths of each kind
// in a plan, and bytes of a plan or a report.
const (
	maxDiff    = 256 << 10
	maxPlanned = 1000
	maxReport  = 1 << 20
)

// The answers to an undo that has to wait, or to be looked at once more.
var (
	errRunning = errors.New("an input is running: interrupt it or wait for its end, and then ask for the undo")
	errStale   = errors.New("nothing was changed, because the files or the session have changed since that plan; ask " +
		"for a new one")
)

// diff returns what the session has changed until now.
func (c *controls) diff(ctx context.Context) (r Reply, err error) {
	diff, err := c.setup.Diff(ctx, maxDiff)
	if err == nil {
		r.Text = diff.Text()
	}
	return r, err
}

// undo plans the undo or the redo of a line. It carries that out if the line names the plan. The
// session must be at rest.
func (c *controls) undo(ctx context.Context, in *input) (r Reply, err error) {
	var plan attractor.UndoPlan
	confirm := func(_ context.Context, now attractor.UndoPlan) (bool, error) {
		plan = now
		if in.Plan != "" && in.Plan != now.ID {
			return false, errStale
		}
		return in.Plan != "", nil
	}
	r.Text, err = c.setup.Undo(ctx, undo.Options{Turn: in.Turn, Redo: in.Type == TypeRedo}, maxPlanned, confirm)
	if in.Plan == "" && plan.ID != "" {
		r.Plan, r.Text = plan.ID, plan.Text
	}
	r.Text = texts.Cut(r.Text, maxReport, "...\n")
	return r, err
}
