package search

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"sync"

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
	files, err := g.files(ctx)
	if err != nil {
		return Result{}, err
	}
	err = g.search(ctx, files)
	g.result.Unreadable = g.unreadable.list()
	return g.result, err
}

// grepper holds the state of one search.
type grepper struct {
	env        env.Environment
	query      *Query
	matcher    *matcher
	unreadable problems
	result     Result
	left       int  // of Query.Max
	named      bool // the query's path is a file
}

// files returns the files to search.
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
	w := &walker{env: g.env, accept: func(f *entry) bool {
		// A link's target is searched at its own path if that is in the tree.
		return f.info.Mode.IsRegular() && accept(f.rel, shown(g.env.WorkDir(), f.abs))
	}}
	files, err := w.walk(ctx, root)
	g.unreadable.all = w.unreadable.all
	return files, err
}

// search searches the files in parallel and takes the results in the order of the files, so that the first Max matches are always the
// same.
func (g *grepper) search(ctx context.Context, files []entry) error {
	ctx, stop := context.WithCancel(ctx)
	workers := min(max(4, runtime.GOMAXPROCS(0)), len(files))
	jobs := make(chan batch)
	queue := make(chan batch, 2*workers) // limits the batches that wait for a slow file
	var running sync.WaitGroup
	running.Go(func() {
		defer close(queue)
		defer close(jobs)
		for len(files) > 0 {
			b := batch{nextBatch(files), make(chan guard.Result[outcome], 1)}
			files = files[len(b.files):]
			select {
			case queue <- b:
			case <-ctx.Done():
				return
			}
			jobs <- b // workers take jobs until the channel is closed
		}
	})
	for range workers {
		running.Go(func() {
			w := worker{grepper: g, scanner: scanner{matcher: g.matcher, query: g.query, limit: maxChunk}}
			for b := range jobs {
				b.done <- <-guard.Start("the search", func() (outcome, error) { return w.search(ctx, b.files), nil })
			}
		})
	}
	defer running.Wait()
	defer stop()
	for b := range queue {
		searched := <-b.done
		if searched.Err != nil { // the environment panicked: pass it on to the caller
			panic(searched.Err)
		}
		o := searched.Value
		for _, p := range o.problems {
			if g.named {
				return p.err
			}
			g.unreadable.add(shown(g.env.WorkDir(), p.file.abs), p.err)
		}
		g.result.Searched += o.searched
		g.result.Binary += o.binary
		for _, f := range o.found {
			if !g.take(f) {
				return nil
			}
		}
	}
	return context.Cause(ctx)
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

// invalidError reports an invalid argument. It wraps fs.ErrInvalid but omits its text.
type invalidError struct{ reason string }

func (e *invalidError) Error() string { return e.reason }
func (e *invalidError) Unwrap() error { return fs.ErrInvalid }

// errBadGlob returns the error of a malformed glob pattern.
func errBadGlob(pattern string) error {
	return &invalidError{fmt.Sprintf("the glob pattern %q is not valid: a [ or { is not closed, or a \\ is at the end; put a \\ before a character that is meant as it is", pattern)}
}
