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
	"github.com/attractor-go/attractor/internal/texts"
)

const (
	// files that are visited together: enough to make the overhead small, few enough to waste
	// little at an early end
	maxBatch      = 16
	maxUnreadable = 10 // files and directories that are named
)

// walker visits the files of a tree: regular files and symbolic links.
type walker struct {
	env env.Environment
	// enter reports whether to enter a directory, given its path from the walk's root. Nil enters
	// all.
	enter func(rel string) bool
	// accept reports whether to visit a file. Nil visits all.
	accept func(in *folder, f env.Entry) bool
	// visitor returns a function that visits files. It is called once for each goroutine.
	visitor func() visitor
	// limit bounds what finished visits may hold while they wait for a slow one before them; 0
	// means no limit.
	limit int

	unreadable problems
}

// visitor visits some files of a folder. Take is called after the takes of all files that come
// before these, never concurrently, and reports whether to go on. Holds says how much the visit
// holds until then, in a unit of the visitor's own.
type visitor func(ctx context.Context, in *folder, files []env.Entry) (take func() bool, holds int)

// folder is an open directory of a walk. It is closed with the last task for its entries.
type folder struct {
	dir     env.Dir
	prefix  string // its path, with a slash at the end
	base    int    // the first bytes of prefix are the walk's root
	ignored Rules
	tasks   atomic.Int32 // that need it
}

func (f *folder) abs(name string) string { return f.prefix + name }
func (f *folder) rel(name string) string { return f.prefix[f.base:] + name }

// release closes the folder if no other task needs it.
func (f *folder) release() error {
	if f.tasks.Add(-1) == 0 {
		return f.dir.Close()
	}
	return nil
}

// walk visits the files below a directory, by name, directory by directory. It fails only if root
// cannot be read or the context ends: if that is by time, what was found before is taken. Other
// directories that cannot be read are added to w.unreadable.
func (w *walker) walk(ctx context.Context, root string) error {
	if slices.Contains(strings.Split(root, "/"), ".git") {
		return fmt.Errorf("%s: .git directories are not searched; git's own commands say what is in them",
			shown(w.env.WorkDir(), root))
	}
	ignored, err := RulesAbove(ctx, w.env, root)
	if err != nil {
		return err
	}
	prefix := strings.TrimSuffix(root, "/") + "/"
	dir, err := env.OpenDir(ctx, w.env, root)
	if err == nil {
		err = w.run(ctx, &folder{dir: dir, prefix: prefix, base: len(prefix), ignored: ignored})
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// enterDir opens a folder's subdirectory and returns the tasks for its entries.
func (w *walker) enterDir(ctx context.Context, in *folder, name string) (*task, error) {
	dir, err := in.dir.OpenDir(ctx, name)
	if err != nil {
		return nil, err
	}
	return w.list(ctx, &folder{dir: dir, prefix: in.abs(name) + "/", base: in.base, ignored: in.ignored})
}

// list returns the tasks for the entries of a directory, which it closes if there are none.
func (w *walker) list(ctx context.Context, f *folder) (first *task, err error) {
	f.tasks.Store(1)
	defer func() { err = errors.Join(err, f.release()) }()
	found, err := f.dir.List(ctx)
	if err != nil {
		return nil, err
	}
	gitRoot := has(found, ".git")
	if gitRoot || has(found, ".gitignore") {
		if f.ignored, err = f.ignored.Enter(ctx, w.env, path.Clean(f.prefix), gitRoot); err != nil {
			return nil, err
		}
	}
	return w.tasks(ctx, f, found), nil
}

// tasks returns the tasks for a directory's entries. It overwrites the slice.
func (w *walker) tasks(ctx context.Context, f *folder, found []env.Entry) (first *task) {
	end := &first
	add := func(t *task) {
		t.in = f
		f.tasks.Add(1)
		*end, end = t, &t.next
	}
	from, to := 0, 0 // the files since the last task
	flush := func() {
		for ; from < to; from = min(from+maxBatch, to) {
			add(&task{files: found[from:min(from+maxBatch, to)]})
		}
	}
	for _, e := range found {
		switch {
		case ctx.Err() != nil || !w.wanted(f, e):
		case e.Type.IsDir():
			flush()
			add(&task{dir: e.Name})
		default:
			found[to] = e
			to++
		}
	}
	flush()
	return first
}

// wanted reports whether a walk enters a directory or visits a file.
func (w *walker) wanted(in *folder, e env.Entry) bool {
	switch {
	case e.Name == ".git":
		return false
	case e.Type.IsDir():
		return (w.enter == nil || w.enter(in.rel(e.Name))) && !in.ignored.Exclude(in.prefix, e.Name, true)
	case e.Type.IsRegular() || e.Type == fs.ModeSymlink:
		return (w.accept == nil || w.accept(in, e)) && !in.ignored.Exclude(in.prefix, e.Name, false)
	}
	return false // a device, a socket, a FIFO
}

// has reports whether a directory's sorted entries have a name.
func has(entries []env.Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e env.Entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	return ok
}

// problem holds the reason why a file could not be read.
type problem struct {
	name string
	err  error
}

// problems holds the files and directories that could not be read. It is safe for concurrent use.
type problems struct {
	mu    sync.Mutex
	first []string // maxUnreadable of them at most, with the reasons, sorted
	count int
}

// add adds a problem. It ignores files that were removed since they were listed.
func (p *problems) add(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	text := fmt.Sprintf("%s: %s", texts.Shown(name), texts.Error(err))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if at, _ := slices.BinarySearch(p.first, text); at < maxUnreadable {
		p.first = slices.Insert(p.first, at, text)
		p.first = p.first[:min(len(p.first), maxUnreadable)]
	}
}

// list returns the first names with the reasons, and how many more there are.
func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Clone(p.first)
	if more := p.count - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}
