package search

import (
	"context"
	"errors"
	"io"

	"github.com/attractor-go/attractor/env"
)

// maxHeld limits the lines that are found before a slow file has been searched, if Query.Max limits
// them.
const maxHeld = 4096

// outcome holds what was found in some files.
type outcome struct {
	found    []FileMatches
	lines    int // in found
	searched int // text files
	binary   int
	problems []problem
}

// worker searches files, one after another.
type worker struct {
	*grepper
	scanner scanner
}

func (g *grepper) worker() *worker {
	return &worker{grepper: g, scanner: scanner{matcher: g.matcher, query: g.query, limit: maxChunk}}
}

// search searches files of a folder.
func (w *worker) search(ctx context.Context, in *folder, files []env.Entry) (o outcome) {
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		r, err := in.dir.Open(ctx, files[i].Name)
		w.file(ctx, r, err, in.prefix, files[i].Name, &o)
	}
	return o
}

// file searches one file, unless opening it failed. The path comes in two parts, because most files
// need none.
func (w *worker) file(ctx context.Context, r io.ReadCloser, err error, dir, name string, o *outcome) {
	var found FileMatches
	if err == nil {
		var text bool
		found, text, err = w.scanner.scan(ctx, r)
		err = errors.Join(err, r.Close())
		switch {
		case text:
			o.searched++
		case err == nil:
			o.binary++
		}
	}
	if err != nil {
		o.problems = append(o.problems, problem{dir + name, err})
	}
	if found.Count > 0 {
		found.Path = shown(w.env.WorkDir(), dir+name)
		o.found = append(o.found, found)
		o.lines += len(found.Lines)
	}
}
