package search

import (
	"context"

	"golang.org/x/text/unicode/norm"

	"github.com/attractor-go/attractor/env"
)

// Searcher is implemented by environments that search by themselves. They must return what [Grep]
// and [Glob] would for any other.
type Searcher interface {
	Grep(ctx context.Context, q Query) (Result, error)
	Glob(ctx context.Context, pattern, dir string) (Listing, error)
}

// Grep searches the contents of files. It uses the environment's own search if it has one. A glob
// also selects the files that it names literally, such as app/[id]/*.tsx, and names that are equal
// to it to the eye.
func Grep(ctx context.Context, e env.Environment, q Query) (Result, error) {
	if BothForms(q.Pattern) {
		q.Pattern = "(?:" + norm.NFC.String(q.Pattern) + "|" + norm.NFD.String(q.Pattern) + ")"
	}
	if s, done := searcher(ctx, e, "grep", q.Path); s != nil {
		result, err := s.Grep(ctx, q)
		done(err)
		return result, err
	}
	return grep(ctx, e, q)
}

// Glob lists the files below dir whose path from dir matches the pattern, newest first. It uses the
// environment's own search if it has one. Patterns may have *, ?, classes and {alternatives} within
// a path element, and ** for any number of elements. Behind **, a class such as [^a] may also match
// a slash. An empty dir means the working directory. An absolute pattern may lead out of dir. A
// pattern is also the literal name of what exists, such as app/[id]/page.tsx, and it matches names
// that are equal to the eye: in another Unicode normal form, or with other spaces or quotes.
func Glob(ctx context.Context, e env.Environment, pattern, dir string) (Listing, error) {
	if s, done := searcher(ctx, e, "glob", dir); s != nil {
		listing, err := s.Glob(ctx, pattern, dir)
		done(err)
		return listing, err
	}
	return glob(ctx, e, pattern, dir)
}

// searcher returns the search of e, or of the environment that e is a view of, or nil. Done must be
// called with the outcome, which it passes to the views.
func searcher(ctx context.Context, e env.Environment, op, name string) (s Searcher, done func(error)) {
	if s, ok := e.(Searcher); ok {
		return s, func(error) {}
	}
	view, ok := e.(env.View)
	if !ok {
		return nil, nil
	}
	below, told := view.Below(ctx, op, name)
	s, inner := searcher(ctx, below, op, name)
	return s, func(err error) {
		inner(err)
		told(err)
	}
}
