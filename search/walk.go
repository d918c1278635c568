package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
)

const (
	walkers       = 8  // directories read at the same time
	maxUnreadable = 10 // of which the names are kept
)

// entry is a file that a walk found: regular, or a symbolic link.
type entry struct {
	abs, rel string // rel is from the walk's root
	info     env.Info
}

// walker lists the files of a tree.
type walker struct {
	env env.Environment
	// enter, when set, says whether a directory, given from the walk's root, is worth entering.
	enter func(rel string) bool

	slots      chan struct{}
	unreadable problems
}

// walk lists the files below root, which is a directory, by name, directory by directory. It fails only when root cannot be read
// or the context ends; what else cannot be read is in w.unreadable.
func (w *walker) walk(ctx context.Context, root string) ([]entry, error) {
	if slices.Contains(strings.Split(root, "/"), ".git") {
		return nil, fmt.Errorf("%s: .git directories are not searched: %w", root, fs.ErrInvalid)
	}
	ignored, err := ignoreListAbove(ctx, w.env, root)
	if err != nil {
		return nil, err
	}
	w.slots = make(chan struct{}, walkers-1)
	entries, err := w.list(ctx, root, "", ignored)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return entries, err
}

// list walks one directory. Its subdirectories are walked by other goroutines as long as there are slots for them, else here.
func (w *walker) list(ctx context.Context, abs, rel string, ignored *ignoreList) ([]entry, error) {
	infos, err := w.env.ReadDir(ctx, abs)
	if err != nil {
		return nil, err
	}
	if has(infos, ".git") || has(infos, ".gitignore") {
		if ignored, err = ignored.enter(ctx, w.env, abs, has(infos, ".git")); err != nil {
			return nil, err
		}
	}
	kept := infos[:0:0]
	for _, info := range infos {
		if w.wanted(path.Join(abs, info.Name), path.Join(rel, info.Name), info, ignored) {
			kept = append(kept, info)
		}
	}
	parts := make([][]entry, len(kept)) // one for each, so that the order does not depend on who is ready first
	var running sync.WaitGroup
	for i, info := range kept {
		e := entry{path.Join(abs, info.Name), path.Join(rel, info.Name), info}
		if !info.IsDir() {
			parts[i] = []entry{e}
			continue
		}
		visit := func() { parts[i] = w.visit(ctx, e, ignored) }
		select {
		case w.slots <- struct{}{}:
			running.Go(func() {
				defer func() { <-w.slots }()
				visit()
			})
		default:
			visit()
		}
	}
	running.Wait()
	return slices.Concat(parts...), nil
}

// visit walks a subdirectory.
func (w *walker) visit(ctx context.Context, dir entry, ignored *ignoreList) []entry {
	if ctx.Err() != nil {
		return nil
	}
	entries, err := w.list(ctx, dir.abs, dir.rel, ignored)
	if err != nil {
		w.unreadable.add(dir.rel, err)
	}
	return entries
}

func (w *walker) wanted(abs, rel string, info env.Info, ignored *ignoreList) bool {
	switch {
	case info.Name == ".git":
		return false
	case info.IsDir():
		return (w.enter == nil || w.enter(rel)) && !ignored.ignores(abs, true)
	case info.Mode.IsRegular() || info.Mode.Type() == fs.ModeSymlink:
		return !ignored.ignores(abs, false)
	}
	return false // a device, a socket, a FIFO
}

func has(infos []env.Info, name string) bool {
	return slices.ContainsFunc(infos, func(i env.Info) bool { return i.Name == name })
}

// problems collects what could not be read. It is safe for concurrent use.
type problems struct {
	mu  sync.Mutex
	all []string
}

// add notes a problem. A file that went away since it was listed is none.
func (p *problems) add(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, fmt.Sprintf("%s: %v", name, err))
}

// list is the first names with their reasons, and how many more there are.
func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.all)
	if len(p.all) <= maxUnreadable {
		return p.all
	}
	return append(p.all[:maxUnreadable:maxUnreadable], fmt.Sprintf("and %d more", len(p.all)-maxUnreadable))
}
