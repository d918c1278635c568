package tool

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

// ErrNoPreview means that what a call would change is known only when it runs.
var ErrNoPreview = errors.New("what the call would change is known only when it runs")

// Preview returns what the call would change as the files are now, with unified diffs of at most
// diffs bytes in all. The error wraps [ErrNoPreview] if the tool does not [Tool.Previews], and
// otherwise says why the call would fail.
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
	// an environment may not answer
	result, err := guard.Within(ctx, "the tool", func() (Result, error) { return p.tool.Run(ctx, &c) })
	if err == nil && result.IsError {
		return nil, fmt.Errorf("the call would fail: %s", result.Content.Text())
	}
	return result.Changes, err
}
