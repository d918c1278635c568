package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

// grep implements Grep for environments without a search of their own.
func grep(ctx context.Context, e env.Environment, q Query) (Result, error) {
	m, err := compile(q.Pattern, q.IgnoreCase)
	if err != nil {
		return Result{}, err
	}
	g := &grepper{env: e, query: &q, matcher: m, left: q.Max}
	ctx, cancel := limited(ctx)
	defer cancel()
	root := absolute(e, q.Path)
	info, err := e.Stat(ctx, root)
	switch {
	case err != nil:
	case info.IsDir():
		err = g.tree(ctx, root)
	default:
		err = g.named(ctx, root)
	}
	if err != nil && outOfTime(ctx) {
		g.result.Stopped, err = true, nil
	}
	return g.result, err
}

// grepper holds the state of one search.
type grepper struct {
	env     env.Environment
	query   *Query
	matcher *matcher
	result  Result
	left    int // of Query.Max
}

// tree searches a directory. It takes the results in the order of the files, so that the first Max
// matches are always the same.
func (g *grepper) tree(ctx context.Context, root string) error {
	filter, err := newFilter(g.query.Glob)
	if err != nil {
		return err
	}
	workDir := g.env.WorkDir()
	w := &walker{env: g.env, accept: func(in *folder, f env.Entry) bool {
		// A link's target is searched at its own path if that is in the tree.
		return f.Type.IsRegular() && filter.selects(in, f.Name, workDir)
	}}
	w.visitor = func() visitor {
		s := g.worker()
		return func(ctx context.Context, in *folder, files []env.Entry) (func() bool, int) {
			o := s.search(ctx, in, files)
			return func() bool { return g.takeAll(&o, &w.unreadable) }, o.lines
		}
	}
	if g.query.Max > 0 && g.query.Mode == Lines {
		w.limit = maxHeld
	}
	err = w.walk(ctx, root)
	g.result.Unreadable = w.unreadable.list()
	if err == nil && filter != nil && g.result.Searched+g.result.Binary == 0 {
		err = filter.broken
	}
	return err
}

// named searches one file.
func (g *grepper) named(ctx context.Context, abs string) error {
	var o outcome
	var searching guard.Group // passes a panic of the environment on to the caller
	searching.Go(func() {
		r, err := g.env.Open(ctx, abs)
		g.worker().file(ctx, r, err, abs, "", &o)
	})
	searching.Wait()
	for _, p := range o.problems {
		if !errors.Is(p.err, errPieces) {
			return p.err
		}
	}
	var unreadable problems
	g.takeAll(&o, &unreadable) // also what was found before the time was over
	g.result.Unreadable = unreadable.list()
	return context.Cause(ctx)
}

// takeAll adds an outcome to the result and reports whether more is wanted.
func (g *grepper) takeAll(o *outcome, unreadable *problems) bool {
	for _, p := range o.problems {
		unreadable.add(shown(g.env.WorkDir(), p.name), p.err)
	}
	g.result.Searched += o.searched
	g.result.Binary += o.binary
	for _, f := range o.found {
		if !g.take(f) {
			return false
		}
	}
	return true
}

// take adds a file's matches and reports whether more are wanted.
func (g *grepper) take(found FileMatches) bool {
	if g.query.Max <= 0 {
		g.result.Files = append(g.result.Files, found)
		return true
	}
	if g.left == 0 {
		g.result.More = true
		return false
	}
	if g.query.Mode != Lines {
		g.left--
	} else {
		if found.Count > g.left {
			g.result.More = true
			found.Lines, found.Count = firstMatches(found.Lines, g.left, g.query.After), g.left
		}
		g.left -= found.Count
	}
	g.result.Files = append(g.result.Files, found)
	return !g.result.More
}

// firstMatches returns the lines up to the nth match and the context after it.
func firstMatches(lines []Line, n, after int) []Line {
	end, last := 0, 0 // last is the number of the last context line
	for ; end < len(lines); end++ {
		switch l := lines[end]; {
		case l.Match && n == 0:
			return lines[:end]
		case l.Match:
			n--
			last = l.Number + after
		case n == 0 && l.Number > last:
			return lines[:end]
		}
	}
	return lines
}

// errBadGlob returns the error of a malformed glob pattern.
func errBadGlob(pattern string) error {
	return fmt.Errorf(
		"the glob pattern %q is not valid: a [ or { is not closed, a \\ is at the end, or its { } have more than %d "+
			"combinations; put a \\ before a character that is meant as it is", pattern,
		maxAlternatives)
}
