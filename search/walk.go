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
	maxUnreadable = 10 // files and directories that are named
)

// entry holds a file that a walk found: a regular file or a symbolic link.
type entry struct {
	abs, rel string // rel is from the walk's root
	info     env.Info
}

// dir returns the path of the directory that the file is in, with a slash at the end.
func (e *entry) dir() string { return e.abs[:len(e.abs)-len(e.info.Name)] }

// walker lists the files of a tree.
type walker struct {
	env env.Environment
	// enter reports whether to enter a directory, given its path from the walk's root. Nil enters all.
	enter func(rel string) bool
	// accept reports whether to list a file. Nil lists all.
	accept func(e *entry) bool
	// stat reports whether sizes and times are needed, besides names and types.
	stat bool
	// closed reports whether a repository below the root is listed as one directory and not entered.
	closed bool
	// full is called when more than limit files were found, unless it is nil.
	full  func()
	limit int64
	found atomic.Int64

	slots      chan struct{}
	unreadable problems
}

// level holds the files of a directory and those of its subdirectories.
type level struct {
	files []entry
	subs  []sublevel
}

// sublevel holds a subdirectory, which comes before files[at].
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

// walk lists the files below a directory, by name, directory by directory. It fails only if root cannot be read or the context ends.
// Other files and directories that cannot be read are added to w.unreadable.
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

// list walks one directory. Prefix is its path with a slash at the end, and its first base bytes are the walk's root. Other goroutines
// walk the subdirectories as long as there are slots; the rest is walked here.
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
	var running guard.Group // passes a panic of the environment on to the caller
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

// describe stats a file if that is needed. It returns false if the file cannot be read any more.
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

// has reports whether a directory's sorted entries have a name.
func has(entries []env.Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e env.Entry, name string) int { return strings.Compare(e.Name, name) })
	return ok
}

// problems collects the files and directories that could not be read. It is safe for concurrent use.
type problems struct {
	mu  sync.Mutex
	all []string
}

// add adds a problem. It ignores files that were removed since they were listed.
func (p *problems) add(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, fmt.Sprintf("%s: %s", names.Shown(name), names.Error(err)))
}

// list returns the first names with the reasons, and how many more there are.
func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.all)
	if len(p.all) <= maxUnreadable {
		return p.all
	}
	return append(p.all[:maxUnreadable:maxUnreadable], fmt.Sprintf("and %d more", len(p.all)-maxUnreadable))
}
