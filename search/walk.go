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
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/internal/names"
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

// dir returns the path of the directory that the file is in, with a slash at the end.
func (e *entry) dir() string { return e.abs[:len(e.abs)-len(e.info.Name)] }

// walker lists the files of a tree.
type walker struct {
	env env.Environment
	// enter, when set, says whether a directory, given from the walk's root, is worth entering.
	enter func(rel string) bool
	// accept, when set, says whether a file is to be listed.
	accept func(e *entry) bool
	// stat says that sizes and times are wanted, not the name and the type alone.
	stat bool
	// closed says that a repository below the root is listed as one directory and not entered.
	closed bool
	// full, when set, is called when more than limit files were found.
	full  func()
	limit int64
	found atomic.Int64

	slots      chan struct{}
	unreadable problems
}

// level is the files of a directory with those of its subdirectories.
type level struct {
	files []entry
	subs  []sublevel
}

// sublevel is a subdirectory, which comes before files[at].
type sublevel struct {
	level
	at int
}

// appendTo appends all files in the order of the tree.
func (l *level) appendTo(all []entry) []entry {
	from := 0
	for i := range l.subs {
		all = append(all, l.files[from:l.subs[i].at]...)
		all = l.subs[i].appendTo(all)
		from = l.subs[i].at
	}
	return append(all, l.files[from:]...)
}

// walk lists the files below root, which is a directory, by name, directory by directory. It fails only when root cannot be read
// or the context ends; what else cannot be read is in w.unreadable.
func (w *walker) walk(ctx context.Context, root string) ([]entry, error) {
	if slices.Contains(strings.Split(root, "/"), ".git") {
		return nil, &invalidError{shown(w.env.WorkDir(), root) + ": .git directories are not searched; git's own commands say what is in them"}
	}
	ignored, err := ignoreListAbove(ctx, w.env, root)
	if err != nil {
		return nil, err
	}
	w.slots = make(chan struct{}, walkers-1)
	var all level
	dir, err := env.OpenDir(ctx, w.env, root)
	if err == nil {
		prefix := strings.TrimSuffix(root, "/") + "/"
		all, err = w.list(ctx, dir, prefix, len(prefix), ignored)
		err = errors.Join(err, dir.Close())
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return all.appendTo(nil), err
}

// list walks one directory: prefix is its path with a slash at the end, from which the first base bytes lead to the walk's root.
// Its subdirectories are walked by other goroutines as long as there are slots for them, else here.
func (w *walker) list(ctx context.Context, dir env.Dir, prefix string, base int, ignored *ignoreList) (level, error) {
	found, err := dir.List(ctx)
	if err != nil {
		return level{}, err
	}
	if inside := len(prefix) > base; inside && w.closed && has(found, ".git") {
		abs := prefix[:len(prefix)-1]
		return level{files: []entry{{abs: abs, rel: abs[base:], info: env.Info{Name: path.Base(abs), Mode: fs.ModeDir}}}}, nil
	}
	if gitRoot := has(found, ".git"); gitRoot || has(found, ".gitignore") {
		if ignored, err = ignored.enter(ctx, w.env, path.Clean(prefix), gitRoot); err != nil {
			return level{}, err
		}
	}
	var l level
	var dirs []entry
	for _, f := range found {
		e := entry{abs: prefix + f.Name, info: env.Info{Name: f.Name, Mode: f.Type}}
		e.rel = e.abs[base:]
		switch {
		case !w.wanted(&e, ignored):
		case f.Type.IsDir():
			dirs = append(dirs, e)
			l.subs = append(l.subs, sublevel{at: len(l.files)})
		case w.describe(ctx, dir, &e):
			if w.full != nil && w.found.Add(1) > w.limit {
				w.full()
			}
			l.files = append(l.files, e)
		}
	}
	var running guard.Group // what an environment panics with reaches the caller
	for i := range l.subs {
		visit := func() { l.subs[i].level = w.visit(ctx, dir, &dirs[i], base, ignored) }
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
	return l, nil
}

// describe finds out more about a file if that is wanted. A file that went away since it was listed is none.
func (w *walker) describe(ctx context.Context, dir env.Dir, e *entry) bool {
	if !w.stat || e.info.Mode.Type() == fs.ModeSymlink {
		return true
	}
	info, err := dir.Stat(ctx, e.info.Name)
	if err != nil {
		w.unreadable.add(e.rel, err)
		return false
	}
	e.info = info
	return true
}

// visit walks a subdirectory.
func (w *walker) visit(ctx context.Context, above env.Dir, e *entry, base int, ignored *ignoreList) level {
	if ctx.Err() != nil {
		return level{}
	}
	var l level
	dir, err := above.OpenDir(ctx, e.info.Name)
	if err == nil {
		l, err = w.list(ctx, dir, e.abs+"/", base, ignored)
		err = errors.Join(err, dir.Close())
	}
	if err != nil {
		w.unreadable.add(e.rel, err)
	}
	return l
}

func (w *walker) wanted(e *entry, ignored *ignoreList) bool {
	mode := e.info.Mode
	switch {
	case e.info.Name == ".git":
		return false
	case mode.IsDir():
		return (w.enter == nil || w.enter(e.rel)) && !ignored.ignores(e.abs, e.info.Name, true)
	case mode.IsRegular() || mode.Type() == fs.ModeSymlink:
		return (w.accept == nil || w.accept(e)) && !ignored.ignores(e.abs, e.info.Name, false)
	}
	return false // a device, a socket, a FIFO
}

// has looks for a name in a directory's sorted entries.
func has(entries []env.Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e env.Entry, name string) int { return strings.Compare(e.Name, name) })
	return ok
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
	p.all = append(p.all, fmt.Sprintf("%s: %s", names.Shown(name), names.Error(err)))
}

// list returns the first names with their reasons, and how many more there are.
func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.all)
	if len(p.all) <= maxUnreadable {
		return p.all
	}
	return append(p.all[:maxUnreadable:maxUnreadable], fmt.Sprintf("and %d more", len(p.all)-maxUnreadable))
}
