package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
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
	// note its point. After its error, and if the process is killed meanwhile, Resume calls it
	// again.
	Done func(context.Context, Result) error
}

// PlanOptions are the choices for an undo.
type PlanOptions struct {
	// Force also puts back what somebody else has changed. What is there is recorded, so it can be
	// had again.
	Force bool
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
	p := &planner{Workspace: w, options: o, now: newLookup(w.Store, tree.Root), back: map[string]*reversal{},
		rules: map[string]*Entry{}}
	p.plan = Plan{Version: planVersion, Now: tree.Root}
	for i := range changes {
		if err := p.consider(ctx, &changes[i]); err != nil {
			return nil, err
		}
	}
	for _, check := range []func(context.Context) error{p.keepIgnored, p.keepFullDirs, p.keepOrphans, p.addSteps} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	if p.plan.Git, err = w.planGit(ctx, o.Git, o.Force); err != nil {
		return nil, err
	}
	slices.SortFunc(p.plan.Left, func(a, b Kept) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return &p.plan, nil
}

// planner makes a plan.
type planner struct {
	Workspace
	options PlanOptions
	now     *lookup
	back    map[string]*reversal // the paths that are put back
	rules   map[string]*Entry    // files named .gitignore that were changed, as they were
	plan    Plan
}

// reversal is a path that is put back.
type reversal struct{ want, now *Entry }

// removes reports whether the path holds something that has to go before what is wanted can be
// made.
func (r *reversal) removes() bool {
	return r.now != nil && (r.want == nil || r.want.Mode.Type() != r.now.Mode.Type() ||
		r.want.Mode.Type() == fs.ModeSymlink)
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
		p.back[c.Path] = &reversal{want: c.Before, now: now}
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
		switch above, err := p.now.at(ctx, dir); {
		case err != nil:
			return false, false, err
		case above != nil && !above.Mode.IsDir():
			return false, false, nil
		}
	}
	node, err := env.TreeOf(p.Env).Lstat(ctx, nameOf(Name(c.Path)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	same, err = p.asBefore(ctx, c, &node)
	return true, same, err
}

// asBefore reports whether a path is as it was before the changes.
func (p *planner) asBefore(ctx context.Context, c *Change, node *env.Node) (bool, error) {
	was, name := c.Before, nameOf(Name(c.Path))
	switch {
	case was == nil || node.Mode.Type() != was.Mode.Type() || !was.Recorded():
		return false, nil
	case was.Mode.Type() == fs.ModeSymlink:
		target, err := env.TreeOf(p.Env).Readlink(ctx, name)
		return target == was.Target, err
	case node.Mode.Perm() != was.Mode.Perm():
		return false, nil
	case was.Mode.IsDir():
		return true, nil
	}
	hash, err := env.HashFile(ctx, p.Env, name)
	return hash == was.Object, err
}

// keepFullDirs leaves directories alone that would have to be removed and hold something that
// stays.
func (p *planner) keepFullDirs(ctx context.Context) error {
	for _, name := range p.paths(true) {
		if r := p.back[name]; !r.removes() || !r.now.Mode.IsDir() {
			continue
		}
		list, err := p.Env.ReadDir(ctx, nameOf(Name(name)))
		if err != nil {
			if ends(err) {
				return err
			}
			p.keep(name, ReasonFailed, texts.Error(err))
			continue
		}
		list = slices.DeleteFunc(list, func(child env.Info) bool {
			r := p.back[name+"/"+child.Name]
			return r != nil && r.now != nil && r.want == nil
		})
		if len(list) > 0 {
			p.keep(name, ReasonNotEmpty, namesOf(list))
		}
	}
	return nil
}

// keepOrphans leaves paths alone whose directory will not be there.
func (p *planner) keepOrphans(ctx context.Context) error {
	for _, name := range p.paths(false) {
		if p.back[name].want == nil {
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
// it.
func (p *planner) hasDir(ctx context.Context, name string) (bool, error) {
	if name == "." {
		return true, nil
	}
	if r := p.back[name]; r != nil {
		return r.want != nil && r.want.Mode.IsDir(), nil
	}
	now, err := p.now.at(ctx, name)
	if err != nil || now != nil {
		return now != nil && now.Mode.IsDir(), err
	}
	node, err := env.TreeOf(p.Env).Lstat(ctx, nameOf(Name(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.hasDir(ctx, path.Dir(name))
	case ends(err):
		return false, err
	}
	return err == nil && node.IsDir(), nil
}

// paths returns the paths that are put back, directories before or after what they hold.
func (p *planner) paths(inner bool) []string {
	list := slices.Sorted(maps.Keys(p.back))
	if inner {
		slices.Reverse(list)
	}
	return list
}

// namesOf returns the first names of a list for people.
func namesOf(list []env.Info) string {
	const most = 3
	var shown []string
	for _, info := range list[:min(len(list), most)] {
		shown = append(shown, Name(info.Name).Shown())
	}
	if more := len(list) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}

// ends reports whether an error is about the whole undo and not about one path.
func ends(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, env.ErrLost) || errors.Is(err, ErrFull)
}
