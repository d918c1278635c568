package search

import (
	"context"
	"errors"
	"io"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

// maxBatch is how many files a batch has: enough to make little of its way, few enough to be dropped when a search ends early.
const maxBatch = 16

// batch is files of one directory on their way through a worker. Done gets one outcome.
type batch struct {
	files []entry
	done  chan guard.Result[outcome]
}

// nextBatch returns the first files, as far as they are in one directory.
func nextBatch(files []entry) []entry {
	n := 1
	for n < min(len(files), maxBatch) && files[n].dir() == files[0].dir() {
		n++
	}
	return files[:n]
}

// outcome is what came of a batch.
type outcome struct {
	found    []FileMatches
	searched int // text files
	binary   int
	problems []problem
}

// problem is why a file could not be searched.
type problem struct {
	file *entry
	err  error
}

// worker searches files, one batch after the other.
type worker struct {
	*grepper
	scanner scanner
}

// search looks through a batch.
func (w *worker) search(ctx context.Context, files []entry) (o outcome) {
	open := func(f *entry) (io.ReadCloser, error) { return w.env.Open(ctx, f.abs) }
	if len(files) > 1 { // for one file alone, and for one that was named, opening the directory is a detour
		if dir, err := env.OpenDir(ctx, w.env, files[0].dir()); err == nil {
			defer func() {
				if err := dir.Close(); err != nil {
					o.problems = append(o.problems, problem{&files[0], err})
				}
			}()
			open = func(f *entry) (io.ReadCloser, error) { return dir.Open(ctx, f.info.Name) }
		}
	}
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		w.file(&files[i], open, &o)
	}
	return o
}

// file searches one.
func (w *worker) file(f *entry, open func(*entry) (io.ReadCloser, error), o *outcome) {
	r, err := open(f)
	if err != nil {
		o.problems = append(o.problems, problem{f, err})
		return
	}
	found, text, err := w.scanner.scan(r)
	if err = errors.Join(err, r.Close()); err != nil {
		o.problems = append(o.problems, problem{f, err})
	}
	switch {
	case text:
		o.searched++
	case err == nil:
		o.binary++
	}
	if found.Count > 0 {
		found.Path = shown(w.env.WorkDir(), f.abs)
		o.found = append(o.found, found)
	}
}
