package git

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/search"
)

const (
	// walkers limits the directories that are read at the same time.
	walkers = 8
	// fewFiles is a number of files whose system calls take less time than other goroutines take to start.
	fewFiles = 10_000
)

// folder is an open directory of the work tree.
type folder struct {
	dir   env.Dir
	path  string       // from the top, with a slash at the end, or "" for the top
	first int          // the place in the index of below
	below []indexEntry // the entries below the directory
	rules search.Rules
}

// walk compares the files that are not ignored. A repository within the work tree counts as one path.
func (c *counting) walk(ctx context.Context) error {
	ctx, c.stop = context.WithCancelCause(ctx)
	defer c.stop(nil)
	dir, err := env.OpenDir(ctx, c.env, c.root)
	if err != nil {
		return err
	}
	slots := walkers - 1
	if env.Direct(dir) && len(c.index.entries) < fewFiles {
		slots = 0
	}
	c.slots = make(chan struct{}, slots)
	if err := c.visit(ctx, folder{dir: dir, below: c.index.entries}); err != nil {
		return err
	}
	for _, i := range c.different {
		c.changed[c.index.entries[i].path] = true
	}
	return context.Cause(ctx)
}

// visit walks a directory and closes it. Other goroutines walk the subdirectories as long as there are slots; the rest is walked here.
func (c *counting) visit(ctx context.Context, f folder) (err error) {
	defer func() { err = errors.Join(err, f.dir.Close()) }()
	list, err := f.dir.List(ctx)
	if err != nil {
		return err
	}
	if f.path != "" && has(list, ".git") {
		if name := strings.TrimSuffix(f.path, "/"); !c.tracks(name) {
			c.add(nil, []string{name})
		}
		return nil
	}
	if f.path == "" || has(list, ".gitignore") {
		if f.rules, err = f.rules.Enter(ctx, c.env, path.Join(c.root, f.path), f.path == ""); err != nil {
			return err
		}
	}
	var running guard.Group // passes a panic of the environment on to the caller
	for _, name := range c.compareFiles(ctx, f, list) {
		select {
		case c.slots <- struct{}{}:
			running.Go(func() {
				defer func() { <-c.slots }()
				c.enter(ctx, f, name)
			})
		default:
			c.enter(ctx, f, name)
		}
	}
	running.Wait()
	return nil
}

// enter walks a subdirectory. Like git, it takes one that cannot be read for empty.
func (c *counting) enter(ctx context.Context, above folder, name string) {
	if ctx.Err() != nil {
		return
	}
	dir, err := above.dir.OpenDir(ctx, name)
	if err != nil {
		return
	}
	f := folder{dir: dir, path: above.path + name + "/", rules: above.rules}
	f.first, f.below = under(above.below, f.path)
	f.first += above.first
	_ = c.visit(ctx, f)
}

// compareFiles compares the files of a directory with the index, and returns the subdirectories to enter. Tracked files are compared even
// if they are ignored.
func (c *counting) compareFiles(ctx context.Context, f folder, list []env.Entry) (subdirectories []string) {
	abs := strings.TrimSuffix(c.root, "/") + "/" + f.path
	var different []int
	var untracked []string
	files := 0
	for _, e := range list {
		isDir := e.Type.IsDir()
		if e.Name == ".git" || !isDir && !e.Type.IsRegular() && e.Type != fs.ModeSymlink {
			continue
		}
		if i, tracked := f.find(e.Name); tracked && !isDir {
			files++
			if c.compareFile(ctx, f.dir, i, e.Name) {
				different = append(different, i)
			}
			continue
		}
		switch {
		case f.rules.Exclude(abs, e.Name, isDir):
		case isDir:
			subdirectories = append(subdirectories, e.Name)
		default:
			files++
			if name := f.path + e.Name; !c.inSubmodule(name) {
				untracked = append(untracked, name)
			}
		}
	}
	c.add(different, untracked)
	if c.files.Add(int64(files)) > maxFiles {
		c.stop(errBudget)
	}
	return subdirectories
}

// compareFile reports whether a file differs from its entry of the index. A file that has vanished since the directory was listed is left
// to unseen.
func (c *counting) compareFile(ctx context.Context, dir env.Dir, i int, name string) bool {
	node, err := dir.Lstat(ctx, name)
	if err != nil {
		return false
	}
	c.seen[i] = true
	differs, err := c.differs(ctx, i, node.Info)
	if err != nil {
		c.stop(err)
	}
	return differs
}

// find returns the place in the index of a file of the directory.
func (f *folder) find(name string) (int, bool) {
	i, found := slices.BinarySearchFunc(f.below, name, func(e indexEntry, name string) int { return strings.Compare(e.path[len(f.path):], name) })
	return f.first + i, found
}

// tracks reports whether a path is in the index or in a submodule.
func (c *counting) tracks(name string) bool {
	_, found := c.find(name)
	return found || c.inSubmodule(name)
}

// add adds what was found in a directory.
func (c *counting) add(different []int, untracked []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.different = append(c.different, different...)
	c.untracked = append(c.untracked, untracked...)
}

// has reports whether a directory's sorted entries have a name.
func has(entries []env.Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e env.Entry, name string) int { return strings.Compare(e.Name, name) })
	return ok
}
