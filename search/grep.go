package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// grep is the built-in engine.
func grep(ctx context.Context, e env.Environment, q Query) (Result, error) {
	m, err := compile(q.Pattern, q.IgnoreCase)
	if err != nil {
		return Result{}, err
	}
	g := &grepper{env: e, query: &q, matcher: m, left: q.Max}
	files, err := g.files(ctx)
	if err != nil {
		return Result{}, err
	}
	first, rest := files, []entry(nil)
	if g.ripgrepMayPay() {
		first, rest = split(files, ripgrepFrom)
	}
	err = g.search(ctx, first)
	if err == nil && !g.result.More && len(rest) > 0 {
		err = g.searchRest(ctx, rest)
	}
	g.result.Unreadable = g.unreadable.list()
	return g.result, err
}

// searchRest searches with ripgrep's help, and without it if there is none or it fails: the result is the same.
func (g *grepper) searchRest(ctx context.Context, files []entry) error {
	if g.ripgrep(ctx, files) != nil {
		g.candidates = nil
	}
	return g.search(ctx, files)
}

// grepper is one search.
type grepper struct {
	env        env.Environment
	query      *Query
	matcher    *matcher
	unreadable problems
	result     Result
	left       int  // of Query.Max
	named      bool // the query's path is a file
	// candidates, when not nil, has the absolute names of the files in which there may be a match or a NUL byte.
	candidates map[string]bool
}

// files lists what is to be searched.
func (g *grepper) files(ctx context.Context) ([]entry, error) {
	root := absolute(g.env, g.query.Path)
	info, err := g.env.Stat(ctx, root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		g.named = true
		return []entry{{abs: root, rel: path.Base(root), info: info}}, nil
	}
	accept, err := fileFilter(g.query.Glob)
	if err != nil {
		return nil, err
	}
	w := &walker{env: g.env}
	all, err := w.walk(ctx, root)
	g.unreadable.all = w.unreadable.all
	if err != nil {
		return nil, err
	}
	files := all[:0]
	for _, f := range all {
		// A link's target is searched where it lies if it lies in the tree.
		if f.info.Mode.IsRegular() && accept(f.rel, shown(g.env.WorkDir(), f.abs)) {
			files = append(files, f)
		}
	}
	return files, nil
}

// job is one file on its way through a worker. Done gets one outcome.
type job struct {
	entry
	done chan outcome
}

type outcome struct {
	found FileMatches
	text  bool
	err   error
}

// search looks through the files in parallel and takes the results in the files' order, so that which matches are the first Max
// does not depend on who is ready first.
func (g *grepper) search(ctx context.Context, files []entry) error {
	ctx, stop := context.WithCancel(ctx)
	workers := min(max(4, runtime.GOMAXPROCS(0)), len(files))
	jobs := make(chan job)
	queue := make(chan job, 4*workers) // bounds what waits behind a slow file
	var running sync.WaitGroup
	running.Go(func() {
		defer close(queue)
		defer close(jobs)
		for _, f := range files {
			j := job{f, make(chan outcome, 1)}
			select {
			case queue <- j:
			case <-ctx.Done():
				return
			}
			jobs <- j // workers take jobs until the channel is closed
		}
	})
	for range workers {
		running.Go(func() {
			s := scanner{matcher: g.matcher, query: g.query, limit: maxChunk}
			for j := range jobs {
				j.done <- g.file(ctx, &s, j.entry)
			}
		})
	}
	defer running.Wait()
	defer stop()
	for j := range queue {
		o := <-j.done
		if o.err != nil && g.named {
			return o.err
		}
		if o.err != nil {
			g.unreadable.add(shown(g.env.WorkDir(), j.abs), o.err)
		}
		if o.text {
			g.result.Searched++
		}
		if o.found.Count > 0 && !g.take(o.found) {
			return nil
		}
	}
	return context.Cause(ctx)
}

// file searches one.
func (g *grepper) file(ctx context.Context, s *scanner, f entry) outcome {
	if ctx.Err() != nil {
		return outcome{}
	}
	if g.candidates != nil && !g.candidates[f.abs] && f.info.Size <= maxChunk {
		return outcome{text: true}
	}
	r, err := g.env.Open(ctx, f.abs)
	if err != nil {
		return outcome{err: err}
	}
	found, text, err := s.scan(r)
	found.Path = shown(g.env.WorkDir(), f.abs)
	return outcome{found, text, errors.Join(err, r.Close())}
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

// firstMatches cuts a file's lines after the first n matches and what is context of them.
func firstMatches(lines []Line, n, after int) []Line {
	end, last := 0, 0 // last is the line number up to which lines stay
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

// errBadGlob explains what a glob pattern may look like.
func errBadGlob(pattern string) error {
	return fmt.Errorf("the glob pattern %q is not valid: a [ or { is not closed, or a \\ is at the end; put a \\ before a character that is meant as it is: %w",
		pattern, fs.ErrInvalid)
}
