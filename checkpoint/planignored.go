package checkpoint

import (
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/search"
)

// keepIgnored leaves new files alone that may have been there before, unrecorded. If they were
// ignored and the session has changed the .gitignore, they look as if the session had made them.
func (p *planner) keepIgnored(ctx context.Context) error {
	if p.options.Force {
		return nil
	}
	past := p.past()
	for _, name := range p.paths(false) {
		if p.back[name].want != nil {
			continue
		}
		out := p.options.Ignored.has(name)
		if !out && len(past.files) > 0 {
			var err error
			if out, err = past.ignores(ctx, name, p.back[name].now.Mode.IsDir()); err != nil {
				return err
			}
		}
		if out {
			p.keep(name, ReasonIgnored, "")
		}
	}
	return nil
}

// has reports whether a path, or a directory above it, is among the names.
func (n *Names) has(name string) bool {
	return slices.ContainsFunc(n.First, func(first string) bool {
		dir, isDir := strings.CutSuffix(first, "/")
		return first == name || isDir && (dir == name || strings.HasPrefix(name, first))
	})
}

// past is the environment with the files named .gitignore as they were before the changes.
type past struct {
	env.Environment
	store Store
	top   string            // of the repository, or of the workspace
	files map[string]*Entry // by absolute path
	rules map[string]search.Rules
}

// past returns the rules before the reversals.
func (p *planner) past() *past {
	e := &past{Environment: p.Env, store: p.Store, files: map[string]*Entry{}, rules: map[string]search.Rules{}}
	for name, was := range p.rules {
		e.files[path.Join(p.Env.WorkDir(), name)] = was
	}
	return e
}

// Open opens a file, a .gitignore as it was.
func (e *past) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	was, changed := e.files[name]
	switch {
	case !changed:
		return e.Environment.Open(ctx, name)
	case was == nil || !was.Mode.IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return e.store.Open(ctx, was.Object)
}

// ignores reports whether a path of the workspace was ignored.
func (e *past) ignores(ctx context.Context, name string, isDir bool) (bool, error) {
	if e.top == "" {
		if e.top = git.Top(ctx, e.Environment); e.top == "" {
			e.top = e.WorkDir()
		}
	}
	abs := path.Join(e.WorkDir(), name)
	for {
		dir := path.Dir(abs)
		rules, err := e.of(ctx, dir)
		if err != nil {
			return false, err
		}
		if rules.Exclude(strings.TrimSuffix(dir, "/")+"/", path.Base(abs), isDir) {
			return true, nil
		}
		if dir == e.WorkDir() || dir == path.Dir(dir) {
			return false, nil
		}
		abs, isDir = dir, true
	}
}

// of returns the rules for the files of a directory.
func (e *past) of(ctx context.Context, dir string) (rules search.Rules, err error) {
	if known, ok := e.rules[dir]; ok {
		return known, nil
	}
	if dir != e.top && dir != path.Dir(dir) {
		if rules, err = e.of(ctx, path.Dir(dir)); err != nil {
			return rules, err
		}
	}
	_, errGit := e.Stat(ctx, path.Join(dir, ".git"))
	rules, err = rules.Enter(ctx, e, dir, errGit == nil)
	if err == nil {
		e.rules[dir] = rules
	}
	return rules, err
}
