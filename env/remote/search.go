package remote

import (
	"context"
	"fmt"

	"github.com/attractor-go/attractor/env/remote/internal/wire"
	"github.com/attractor-go/attractor/search"
)

// Grep implements search.Searcher: the search runs over there.
func (e *Env) Grep(ctx context.Context, q search.Query) (search.Result, error) {
	found, err := find[wire.Found](ctx, e, wire.Request{Op: wire.OpGrep, Query: wire.QueryOf(q)})
	return found.Search(), err
}

// Glob implements search.Searcher.
func (e *Env) Glob(ctx context.Context, pattern, dir string) (search.Listing, error) {
	listing, err := find[wire.Listing](ctx, e,
		wire.Request{Op: wire.OpGlob, Pattern: wire.Text(pattern), Name: wire.Text(dir)})
	if err != nil {
		return search.Listing{}, err
	}
	return listing.Search(), nil
}

// find searches over there.
func find[T any](ctx context.Context, e *Env, r wire.Request) (v T, err error) {
	c, err := e.connect(ctx)
	if err == nil {
		v, err = ask[T](ctx, c, r)
	}
	if err != nil && ctx.Err() == nil && c != nil && c.lost() {
		err = fmt.Errorf("search: %w", err)
	}
	return v, err
}
