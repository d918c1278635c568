package search

import (
	"context"

	"github.com/attractor-go/attractor/env"
)

// Searcher is implemented by environments that search by themselves. What they return must be what the engine would.
type Searcher interface {
	Grep(ctx context.Context, q Query) (Result, error)
	Glob(ctx context.Context, pattern, dir string) (Listing, error)
}

// Grep searches the contents of files, with the environment's own search if it has one.
func Grep(ctx context.Context, e env.Environment, q Query) (Result, error) {
	if s, ok := e.(Searcher); ok {
		return s.Grep(ctx, q)
	}
	return grep(ctx, e, q)
}

// Glob lists the files below dir whose path from there matches the pattern, newest first, with the environment's own search
// if it has one. The pattern has *, ?, classes and {alternatives} within a path element and ** for any number of elements. An
// empty dir is the working directory. An absolute pattern is taken from the directory that it names.
func Glob(ctx context.Context, e env.Environment, pattern, dir string) (Listing, error) {
	if s, ok := e.(Searcher); ok {
		return s.Glob(ctx, pattern, dir)
	}
	return glob(ctx, e, pattern, dir)
}
