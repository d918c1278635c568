package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/search"
)

// Workspace is a tree that can be put back, with what was recorded of it.
type Workspace struct {
	// Env has the tree as its working directory. It has to be an [env.Tree].
	Env   env.Environment
	Store Store
	// Record records the tree of Env and keeps it, as Recorder.Record does.
	Record func(context.Context, env.Environment) (Tree, error)
	// Owner keeps the trees of the undo in the store, as the id of the session whose changes are
	// taken back.
	Owner string
	// Done, when set, is called with the result of an undo before the plan's file is removed, to
	// note its point. After its error, and if the process is killed meanwhile, the undo that
	// finishes this one calls it again.
	Done func(context.Context, Result) error
}

// PlanOptions are the choices for an undo.
type PlanOptions struct {
	// Force also puts back what somebody else has changed. What is there is recorded, so it can be
	// had again.
	Force bool
	// Redo says that the changes are those of an undo, which is taken back.
	Redo bool
	// Ignored names what was ignored when the first of the changes began: Left.Ignored of the tree
	// then, as far as it is known.
	Ignored Names
	// Git are the points whose moves of HEAD, of the branch that it led to and of the index are
	// taken back. Empty leaves the repository alone.
	Git []Point
}

// NewPlan records the tree and says how the changes, which come from Compose, would be taken back.
// A path is put back only if it is as the changes left it. The plan changes nothing.
func NewPlan(ctx context.Context, w Workspace, changes []Change, o PlanOptions) (*Plan, error) {
	tree, err := w.Record(ctx, w.Env)
	if err != nil {
		return nil, fmt.Errorf("recording the tree before the undo: %w", err)
	}
	p := &planner{Workspace: w, options: o, now: newLookup(w.Store, tree.Root), back: map[string]*Reversal{},
		rules: map[string]*Entry{}, plan: &Plan{Version: planVersion, Now: tree.Root, Redo: o.Redo}}
	for i := range changes {
		if err := p.consider(ctx, &changes[i]); err != nil {
			return nil, err
		}
	}
	for _, check := range []func(context.Context) error{p.keepIgnored, p.keepFullDirs, p.keepOrphans} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range p.paths() {
		p.plan.Paths = append(p.plan.Paths, *p.back[name])
	}
	if p.plan.Git, err = w.planGit(ctx, o.Git, o.Force); err != nil {
		return nil, err
	}
	slices.SortFunc(p.plan.Left, func(a, b Kept) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return p.plan, nil
}

// planner makes a plan.
type planner struct {
	Workspace
	options PlanOptions
	now     *lookup
	back    map[string]*Reversal // the paths that are put back
	rules   map[string]*Entry    // files named .gitignore that were changed, as they were
	plan    *Plan
}

// keep leaves a path alone.
func (p *planner) keep(name string, why Reason, detail string) {
	p.plan.Left = append(p.plan.Left, Kept{Path: Name(name), Reason: why, Detail: detail})
	delete(p.back, name)
}

// consider decides about one change by itself.
func (p *planner) consider(ctx context.Context, c *Change) error {
	if !inWorkspace(c.Path) {
		p.keep(c.Path, ReasonRepository, "")
		return nil
	}
	if path.Base(c.Path) == ".gitignore" {
		p.rules[c.Path] = c.Before
	}
	now, err := p.now.at(ctx, c.Path)
	if err != nil {
		return err
	}
	if now == nil {
		switch there, same, err := p.unrecorded(ctx, c); {
		case ends(err):
			return err
		case err != nil:
			p.keep(c.Path, ReasonFailed, texts.Error(err))
			return nil
		case same:
			p.plan.Done++
			return nil
		case there:
			p.keep(c.Path, ReasonUnrecorded, "")
			return nil
		}
	}
	switch why := judge(c, now, p.options.Force); {
	case alike(now, c.Before) && now.Recorded():
		p.plan.Done++
	case why != "":
		p.keep(c.Path, why, "")
	default:
		p.back[c.Path] = &Reversal{Path: Name(c.Path), Was: now, Want: c.Before}
	}
	return nil
}

// judge returns why a path must not be put back, or "" if it may.
func judge(c *Change, now *Entry, force bool) Reason {
	switch {
	case !now.Recorded() || !c.Before.Recorded():
		return ReasonUnrecorded
	case force:
		return ""
	case c.Unknown:
		return ReasonUnknown
	case !alike(now, c.After):
		return ReasonChanged
	case c.Mixed:
		return ReasonMixed
	}
	return ""
}

// unrecorded reports whether there is something at a path that the recorded tree does not have, and
// whether that is what was there before the changes, as of a file that is ignored only now.
func (p *planner) unrecorded(ctx context.Context, c *Change) (there, same bool, err error) {
	for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
		if above, err := p.now.at(ctx, dir); err != nil || above != nil && !above.Mode.IsDir() {
			return false, false, err
		}
	}
	node, err := env.TreeOf(p.Env).Lstat(ctx, nameOf(c.Path))
	if err != nil {
		return false, false, ignore(err, fs.ErrNotExist)
	}
	if !c.Before.Recorded() || !c.Before.isLink() && c.Before != nil && node.Mode.Perm() != c.Before.Mode.Perm() {
		return true, false, nil
	}
	same, err = p.holds(ctx, c.Path, &node, c.Before)
	return true, same, err
}

// holds reports whether there is something at a path like an entry, given what is there: the same
// content or target, or any directory. Permissions do not count.
func (w Workspace) holds(ctx context.Context, name string, node *env.Node, e *Entry) (bool, error) {
	switch {
	case node == nil || e == nil:
		return node == nil && e == nil, nil
	case node.Mode.Type() != e.Mode.Type():
		return false, nil
	case e.isLink():
		target, err := env.TreeOf(w.Env).Readlink(ctx, nameOf(name))
		return Name(target) == e.Target, err
	case e.isFile():
		hash, err := env.HashFile(ctx, w.Env, nameOf(name))
		return hash == e.Object, err
	}
	return e.isDir(), nil
}

// keepFullDirs leaves directories alone that would have to be removed and hold something that
// stays.
func (p *planner) keepFullDirs(ctx context.Context) error {
	for _, name := range slices.Backward(p.paths()) {
		if r := p.back[name]; !r.removes() || !r.Was.Mode.IsDir() {
			continue
		}
		list, err := p.Env.ReadDir(ctx, nameOf(name))
		if err != nil {
			if ends(err) {
				return err
			}
			p.keep(name, ReasonFailed, texts.Error(err))
			continue
		}
		list = slices.DeleteFunc(list, func(child env.Info) bool {
			r := p.back[name+"/"+child.Name]
			return r != nil && r.Was != nil && r.Want == nil
		})
		if len(list) > 0 {
			p.keep(name, ReasonNotEmpty, namesOf(list))
		}
	}
	return nil
}

// keepOrphans leaves paths alone whose directory will not be there.
func (p *planner) keepOrphans(ctx context.Context) error {
	for _, name := range p.paths() {
		if p.back[name].Want == nil {
			continue
		}
		if ok, err := p.hasDir(ctx, path.Dir(name)); err != nil {
			return err
		} else if !ok {
			p.keep(name, ReasonBlocked, "")
		}
	}
	return nil
}

// hasDir reports whether a path will be a directory, or missing and so made with what belongs in
// it. Whether something is there that is not recorded, the undo finds out.
func (p *planner) hasDir(ctx context.Context, name string) (bool, error) {
	for ; name != "."; name = path.Dir(name) {
		if r := p.back[name]; r != nil {
			return r.Want.isDir(), nil
		}
		if now, err := p.now.at(ctx, name); err != nil || now != nil {
			return now.isDir(), err
		}
	}
	return true, nil
}

// paths returns the paths that are put back, directories before what they hold.
func (p *planner) paths() []string { return slices.Sorted(maps.Keys(p.back)) }

// namesOf returns some names of a list for people.
func namesOf(list []env.Info) string {
	var all []string
	for _, info := range list {
		all = append(all, info.Name)
	}
	return texts.SomeNames(all)
}

// ends reports whether an error is about the whole undo and not about one path.
func ends(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, env.ErrLost) || errors.Is(err, ErrFull)
}

// keepIgnored leaves new files alone that may have been there before, unrecorded. If they were
// ignored and the session has changed the .gitignore, they look as if the session had made them.
func (p *planner) keepIgnored(ctx context.Context) error {
	if p.options.Force {
		return nil
	}
	e := &past{Environment: p.Env, store: p.Store, files: map[string]*Entry{}, rules: map[string]search.Rules{}}
	for name, was := range p.rules {
		e.files[path.Join(p.Env.WorkDir(), name)] = was
	}
	for _, name := range p.paths() {
		if p.back[name].Want != nil {
			continue
		}
		out := p.options.Ignored.has(name)
		if !out && len(e.files) > 0 {
			var err error
			if out, err = e.ignores(ctx, path.Join(e.WorkDir(), name), p.back[name].Was.isDir()); err != nil {
				return err
			}
		}
		if out {
			p.keep(name, ReasonIgnored, "")
		}
	}
	return nil
}

// past is the environment with the files named .gitignore as they were before the changes.
type past struct {
	env.Environment
	store Store
	files map[string]*Entry       // by absolute path
	rules map[string]search.Rules // by directory
}

// Open opens a file, a .gitignore as it was.
func (e *past) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	was, changed := e.files[name]
	switch {
	case !changed:
		return e.Environment.Open(ctx, name)
	case !was.isFile():
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return e.store.Open(ctx, was.Object)
}

// ignores reports whether an absolute path, or a directory above it in the workspace, was ignored.
func (e *past) ignores(ctx context.Context, name string, isDir bool) (bool, error) {
	for name != e.WorkDir() && name != path.Dir(name) {
		dir := path.Dir(name)
		rules, known := e.rules[dir]
		if !known {
			var err error
			if rules, err = search.RulesAbove(ctx, e, dir); err != nil {
				return false, err
			}
			_, noGit := e.Stat(ctx, path.Join(dir, ".git"))
			if rules, err = rules.Enter(ctx, e, dir, noGit == nil); err != nil {
				return false, err
			}
			e.rules[dir] = rules
		}
		if rules.Exclude(strings.TrimSuffix(dir, "/")+"/", path.Base(name), isDir) {
			return true, nil
		}
		name, isDir = dir, true
	}
	return false, nil
}
