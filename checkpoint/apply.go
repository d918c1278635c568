package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// Result says what an undo did.
type Result struct {
	// Restored are the paths that are as they were before the changes.
	Restored []Name `json:"restored,omitempty"`
	// Left are the paths that were left alone, by the plan or because they changed while the undo
	// ran.
	Left []Kept `json:"left,omitempty"`
	// Point describes what the undo itself changed. An undo of it takes the undo back.
	Point Point `json:"point"`
	// Git says what became of the repository, one line each.
	Git []string `json:"git,omitempty"`
}

// Undo carries out a plan. It first writes the plan to a file, and removes that when it is done. If
// it does not come so far, Resume finishes it. Undo changes a path only if it still is as the plan
// says; other paths are left alone and named in the result. An error ends it before its end: the
// context's, a lost connection, a full store. If the file exists, the error is ErrUnfinished.
func Undo(ctx context.Context, w Workspace, p *Plan, file string) (Result, error) {
	if err := p.save(file); err != nil {
		return Result{}, fmt.Errorf("writing the plan of the undo: %w", err)
	}
	result, err := w.carryOut(ctx, p, false)
	if err != nil {
		return result, fmt.Errorf("the undo was interrupted and can be finished: %w", err)
	}
	return result, w.finish(ctx, result, file)
}

// Resume finishes an undo that was interrupted, given the file of its plan. The result is that of
// the whole undo.
func Resume(ctx context.Context, w Workspace, file string) (Result, error) {
	p, err := ReadPlan(file)
	if err != nil {
		return Result{}, err
	}
	if err := w.sweep(ctx, p); err != nil {
		return Result{}, err
	}
	result, err := w.carryOut(ctx, p, true)
	if err != nil {
		return result, err
	}
	return result, w.finish(ctx, result, file)
}

// finish tells about the result and removes the plan's file.
func (w Workspace) finish(ctx context.Context, r Result, file string) error {
	if w.Done != nil {
		if err := w.Done(ctx, r); err != nil {
			return err
		}
	}
	return discard(file)
}

// carryOut takes all steps and records what they changed.
func (w Workspace) carryOut(ctx context.Context, p *Plan, resumed bool) (Result, error) {
	u := &undo{Workspace: w, tree: env.TreeOf(w.Env), left: map[Name]Kept{}, made: map[Name]fs.FileMode{},
		resumed: resumed}
	var err error
	if u.top, err = env.Resolve(ctx, w.Env, "."); err != nil {
		return Result{}, err
	}
	for _, step := range p.Steps {
		if err := u.take(ctx, step); err != nil {
			return Result{}, err
		}
	}
	result := u.result(p)
	if result.Point, err = w.pointOf(ctx, p, result.Restored); err != nil {
		return Result{}, fmt.Errorf("recording the tree after the undo: %w", err)
	}
	return result, u.restoreGit(ctx, p.Git, &result)
}

// undo is the state of an undo that is being carried out.
type undo struct {
	Workspace
	tree env.Tree
	top  string // the real path of the working directory
	left map[Name]Kept
	// made are the directories that this run has made, with the permissions that they got. A
	// resumed run does not know all of them.
	made    map[Name]fs.FileMode
	resumed bool
}

// result says what has become of the plan's paths.
func (u *undo) result(p *Plan) (r Result) {
	r.Left = slices.Clone(p.Left)
	for _, step := range p.Steps {
		if _, left := u.left[step.Path]; !left && step.Op != OpOpen && !step.isOpen() {
			r.Restored = append(r.Restored, step.Path)
		}
	}
	slices.Sort(r.Restored)
	r.Restored = slices.Compact(r.Restored)
	for _, kept := range u.left {
		r.Left = append(r.Left, kept)
	}
	slices.SortFunc(r.Left, func(a, b Kept) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return r
}

// take takes one step. It returns only errors that end the undo.
func (u *undo) take(ctx context.Context, s Step) error {
	if _, left := u.left[s.Path]; left {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err := u.do(ctx, s)
	var kept *keptError
	switch {
	case err == nil:
	case errors.As(err, &kept):
		u.left[s.Path] = Kept{Path: s.Path, Reason: kept.reason, Detail: kept.detail}
	case ends(err):
		return err
	default:
		u.left[s.Path] = Kept{Path: s.Path, Reason: ReasonFailed, Detail: texts.Error(err)}
	}
	return nil
}

// keptError says why a step was not taken.
type keptError struct {
	reason Reason
	detail string
}

func (e *keptError) Error() string { return e.reason.String() }

// errChanged says that somebody else has changed the path.
func errChanged() error { return &keptError{reason: ReasonChanged} }

// do takes a step, unless it was taken already.
func (u *undo) do(ctx context.Context, s Step) error {
	cur, err := u.lookAt(ctx, s.Path)
	if err != nil {
		return err
	}
	switch s.Op {
	case OpOpen:
		return u.open(ctx, s, cur)
	case OpRemove:
		return u.remove(ctx, s, cur)
	case OpMkdir:
		return u.mkdir(ctx, s, cur)
	case OpWrite:
		return u.write(ctx, s, cur)
	case OpLink:
		return u.link(ctx, s, cur)
	case OpChmod:
		return u.chmod(ctx, s, cur)
	}
	return fmt.Errorf("the plan has an unknown step %q", s.Op)
}

// nameOf returns a path's name in the environment. A name like ~ has a meaning only without the dot
// before it.
func nameOf(p Name) string { return "./" + string(p) }

// lookAt returns what is at a path now, nil for nothing. If a directory above it is a link or no
// directory any more, the path is blocked.
func (u *undo) lookAt(ctx context.Context, p Name) (*env.Node, error) {
	if !inWorkspace(string(p)) {
		return nil, &keptError{reason: ReasonRepository}
	}
	dir := path.Dir(string(p))
	real, err := env.Resolve(ctx, u.Env, nameOf(Name(dir)))
	switch {
	case ends(err):
		return nil, err
	case err != nil:
		return nil, &keptError{reason: ReasonBlocked, detail: texts.Error(err)}
	case real != path.Join(u.top, dir):
		return nil, &keptError{reason: ReasonBlocked, detail: "it leads to " + texts.Shown(real)}
	}
	node, err := u.tree.Lstat(ctx, nameOf(p))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		if above, errAbove := u.tree.Lstat(ctx, nameOf(Name(dir))); errAbove == nil && !above.IsDir() {
			return nil, &keptError{reason: ReasonBlocked}
		}
		return nil, err
	}
	return &node, nil
}

// ofType reports whether a state has a type, such as fs.ModeDir or 0 for a regular file.
func (s *State) ofType(t fs.FileMode) bool { return s != nil && s.Mode.Type() == t }

// gone reports whether a path may be empty before it gets what is wanted: it was empty, or an
// earlier step has removed what it held.
func (s *Step) gone() bool {
	return s.Was == nil || s.Was.Mode.Type() != s.Want.Mode.Type() || s.Want.ofType(fs.ModeSymlink)
}
