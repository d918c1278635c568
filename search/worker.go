package search

import (
	"context"
	"errors"
	"io"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

// maxBatch limits the files of a batch: enough to make its overhead small, few enough to waste little when a search ends early.
const maxBatch = 16

// batch holds files of one directory for a worker, which sends the outcome to done.
type batch struct {
	files []entry
	done  chan guard.Result[outcome]
}

// nextBatch returns the first files that are in one directory.
func nextBatch(files []entry) []entry {
	n := 1
	for n < min(len(files), maxBatch) && files[n].dir() == files[0].dir() {
		n++
	}
	return files[:n]
}

// outcome holds the results of a batch.
type outcome struct {
	found    []FileMatches
	searched int // text files
	binary   int
	problems []problem
}

// problem holds the reason why a file could not be searched.
type problem struct {
	file *entry
	err  error
}

// worker searches files, one batch after another.
type worker struct {
	*grepper
	scanner scanner
}

// search searches the files of a batch.
func (w *worker) search(ctx context.Context, files []entry) (o outcome) {
	open := func(f *entry) (io.ReadCloser, error) { return w.env.Open(ctx, f.abs) }
	if len(files) > 1 { // opening the directory does not pay for a single file
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

// file searches one file.
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
