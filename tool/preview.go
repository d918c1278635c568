package tool

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

// ErrNoPreview reports that it cannot be said before a call what it would change.
var ErrNoPreview = errors.New("what the call would change is known only when it runs")

// Preview returns what the call would change as the files are now, with unified diffs of at most so
// many bytes in all. The error wraps [ErrNoPreview] unless its tool [Tool.Previews], and otherwise
// says why the call would fail.
func (r Request) Preview(ctx context.Context, diffs int) ([]Change, error) {
	if r.preview == nil {
		return nil, ErrNoPreview
	}
	return r.preview(ctx, diffs)
}

// preview runs the call on a draft of its environment.
func (p *Prepared) preview(ctx context.Context, c Call, diffs int) ([]Change, error) {
	if !p.tool.Previews || c.Env == nil {
		return nil, ErrNoPreview
	}
	p.fill(&c)
	c.Env, c.Diffs, c.Live, c.Approved = env.Draft(c.Env), diffs, nil, nil
	for _, g := range p.Access.Guarded {
		c.Approved = append(c.Approved, g.Path)
	}
	// on a goroutine of its own, because an environment may not answer
	ran := guard.Start("the tool", func() (Result, error) { return p.tool.Run(ctx, &c) })
	select {
	case done := <-ran:
		if done.Err == nil && done.Value.IsError {
			return nil, fmt.Errorf("the call would fail: %s", done.Value.Content.Text())
		}
		return done.Value.Changes, done.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
