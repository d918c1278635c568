package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
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
// it does not come so far, an Undo of what ReadPlan has read from the file finishes it. Undo
// changes a path only if it still is as the plan says; other paths are left alone and named in the
// result. An error ends it before its end: the context's, a lost connection, a full store. If the
// file exists and the plan is not from it, the error is ErrUnfinished.
func Undo(ctx context.Context, w Workspace, p *Plan, file string) (Result, error) {
	if !p.begun {
		if err := p.save(file); err != nil {
			return Result{}, fmt.Errorf("writing the plan of the undo: %w", err)
		}
	} else if err := w.sweep(ctx, p); err != nil {
		return Result{}, err
	}
	result, err := w.carryOut(ctx, p, file)
	if err != nil {
		err = fmt.Errorf("the undo was interrupted and can be finished: %w", err)
	}
	return result, err
}

// carryOut takes all steps, records what they changed, tells about it and removes the plan's file.
func (w Workspace) carryOut(ctx context.Context, p *Plan, file string) (r Result, err error) {
	u := &undo{Workspace: w, tree: env.TreeOf(w.Env), left: map[Name]Kept{}, made: map[Name]fs.FileMode{},
		begun: p.begun}
	if u.top, err = env.Resolve(ctx, w.Env, "."); err != nil {
		return r, err
	}
	locked, err := w.locked(ctx, p)
	if err != nil {
		return r, err
	}
	for _, s := range u.steps(p, locked) {
		if err := u.take(ctx, s); err != nil {
			return r, err
		}
	}
	r = u.result(p)
	if r.Point, err = w.pointOf(ctx, p, r.Restored); err != nil {
		return r, fmt.Errorf("recording the tree after the undo: %w", err)
	}
	if err := u.restoreGit(ctx, p.Git, &r); err != nil {
		return r, err
	}
	if w.Done != nil {
		if err := w.Done(ctx, r); err != nil {
			return r, err
		}
	}
	return r, errors.Join(os.Remove(file), atomicfile.SyncDir(filepath.Dir(file)))
}

// ownerAll are the permissions that the owner of a directory needs to change what it holds.
const ownerAll fs.FileMode = 0o700

// locked returns the directories whose owner may not change what they hold, where something is
// changed.
func (w Workspace) locked(ctx context.Context, p *Plan) (list []Reversal, err error) {
	now := newLookup(w.Store, p.Now)
	seen := map[string]bool{}
	for _, r := range p.Paths {
		for dir := path.Dir(string(r.Path)); dir != "." && inWorkspace(dir) && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			was, err := now.at(ctx, dir)
			if err != nil {
				return nil, err
			}
			if was.isDir() && was.Mode&ownerAll != ownerAll {
				list = append(list, Reversal{Path: Name(dir), Was: was, Want: was})
			}
		}
	}
	slices.SortFunc(list, comparePaths)
	return list, nil
}

func comparePaths(a, b Reversal) int { return strings.Compare(string(a.Path), string(b.Path)) }

// step changes one path. It can be repeated: a step that was taken already does nothing.
type step struct {
	Reversal
	do func(ctx context.Context, r *Reversal, now *env.Node) error
}

// steps returns what is to be done, in order: directories are opened; what goes, goes first, from
// the inside out, so that a name that differs only in case is free when the old one is made; the
// permissions of directories come last, because they may forbid the rest.
func (u *undo) steps(p *Plan, locked []Reversal) (list []step) {
	var made, modes []step
	for _, r := range locked {
		list = append(list, step{r, u.open})
		if _, planned := slices.BinarySearchFunc(p.Paths, r, comparePaths); !planned {
			modes = append(modes, step{r, u.setMode})
		}
	}
	for _, r := range slices.Backward(p.Paths) {
		if r.removes() {
			list = append(list, step{r, u.remove})
		}
	}
	for _, r := range p.Paths {
		switch {
		case r.Want == nil:
		case !r.Want.isDir():
			made = append(made, step{r, u.make})
		default:
			if !r.Was.isDir() {
				made = append(made, step{r, u.make})
			}
			modes = append(modes, step{r, u.setMode})
		}
	}
	slices.SortFunc(modes, func(a, b step) int { return comparePaths(b.Reversal, a.Reversal) })
	return slices.Concat(list, made, modes)
}

// undo is the state of an undo that is being carried out.
type undo struct {
	Workspace
	tree env.Tree
	top  string // the real path of the working directory
	left map[Name]Kept
	// made are the directories that this run has made, with the permissions that they got. If an
	// earlier one has begun, these are not all.
	made  map[Name]fs.FileMode
	begun bool
}

// result says what has become of the plan's paths.
func (u *undo) result(p *Plan) (r Result) {
	r.Left = slices.Clone(p.Left)
	for _, back := range p.Paths {
		if _, left := u.left[back.Path]; !left {
			r.Restored = append(r.Restored, back.Path)
		}
	}
	for _, kept := range u.left {
		r.Left = append(r.Left, kept)
	}
	slices.SortFunc(r.Left, func(a, b Kept) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return r
}

// take takes one step. It returns only errors that end the undo.
func (u *undo) take(ctx context.Context, s step) error {
	if _, left := u.left[s.Path]; left {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	now, err := u.lookAt(ctx, string(s.Path))
	if err == nil {
		ctx := env.Placed(ctx, func(place string) error { return u.inPlace(place, string(s.Path)) })
		err = s.do(ctx, &s.Reversal, now)
	}
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

func (e *keptError) Error() string { return reasons[e.reason] }

// errChanged says that somebody else has changed the path.
var errChanged = &keptError{reason: ReasonChanged}

// changedBy turns an error that says that somebody else has changed or made the path meanwhile into
// errChanged.
func changedBy(err error) error {
	if errors.Is(err, env.ErrChanged) || errors.Is(err, fs.ErrExist) {
		return errChanged
	}
	return err
}

// nameOf returns a path's name in the environment. A name like ~ has a meaning only without the dot
// before it.
func nameOf(name string) string { return "./" + name }

// lookAt returns what is at a path now, nil for nothing. If a directory above it is a link or no
// directory any more, the path is blocked.
func (u *undo) lookAt(ctx context.Context, name string) (*env.Node, error) {
	if !inWorkspace(name) {
		return nil, &keptError{reason: ReasonRepository}
	}
	dir := path.Dir(name)
	real, err := env.Resolve(ctx, u.Env, nameOf(dir))
	switch {
	case ends(err):
		return nil, err
	case err != nil:
		return nil, &keptError{reason: ReasonBlocked, detail: texts.Error(err)}
	}
	if err := u.inPlace(real, dir); err != nil {
		return nil, err
	}
	node, err := u.tree.Lstat(ctx, nameOf(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		if above, errAbove := u.tree.Lstat(ctx, nameOf(dir)); errAbove == nil && !above.IsDir() {
			return nil, &keptError{reason: ReasonBlocked}
		}
		return nil, err
	}
	return &node, nil
}

// inPlace returns an error if a name leads to another place than the one that it spells.
func (u *undo) inPlace(place, name string) error {
	if place == path.Join(u.top, name) {
		return nil
	}
	return &keptError{reason: ReasonBlocked, detail: "it leads to " + texts.Shown(place)}
}

// open gives the owner of a directory all permissions.
func (u *undo) open(ctx context.Context, r *Reversal, now *env.Node) error {
	if now == nil || !now.IsDir() || now.Mode.Perm() != r.Was.Mode.Perm() {
		return nil // the steps inside, or the one that restores the permissions, find out
	}
	return u.tree.Chmod(ctx, nameOf(string(r.Path)), now.Mode.Perm()|ownerAll)
}

// remove removes what the path held.
func (u *undo) remove(ctx context.Context, r *Reversal, now *env.Node) error {
	name := string(r.Path)
	if now == nil {
		return nil
	}
	if now.Mode.IsRegular() && r.Was.isFile() {
		if now.Mode.Perm() != r.Was.Mode.Perm() {
			return errChanged
		}
		return changedBy(env.Delete(ctx, u.Env, nameOf(name), r.Was.Object))
	}
	switch held, err := u.holds(ctx, name, now, r.Was); {
	case err != nil:
		return err
	case !held:
		return u.already(ctx, r, now)
	case now.IsDir():
		return u.removeDir(ctx, r, now)
	}
	return u.Env.Remove(ctx, nameOf(name))
}

// already returns nil if the path has what is wanted in the end, which a later step of an earlier
// run made, and otherwise an error.
func (u *undo) already(ctx context.Context, r *Reversal, now *env.Node) error {
	held, err := u.holds(ctx, string(r.Path), now, r.Want)
	if err == nil && !held {
		err = errChanged
	}
	return err
}

// removeDir removes an empty directory.
func (u *undo) removeDir(ctx context.Context, r *Reversal, now *env.Node) error {
	if mode := now.Mode.Perm(); mode != r.Was.Mode.Perm() && mode != r.Was.Mode.Perm()|ownerAll {
		return errChanged
	}
	list, err := u.Env.ReadDir(ctx, nameOf(string(r.Path)))
	switch {
	case err != nil:
		return err
	case len(list) > 0:
		return &keptError{ReasonNotEmpty, namesOf(list)}
	}
	return u.Env.Remove(ctx, nameOf(string(r.Path)))
}

// make makes what is wanted: a link, a directory in which the next steps can make files, or a file.
func (u *undo) make(ctx context.Context, r *Reversal, now *env.Node) error {
	name := nameOf(string(r.Path))
	switch {
	case r.Want.isFile():
		return u.write(ctx, r, now)
	case now != nil:
		return u.already(ctx, r, now)
	case r.Want.isLink():
		return changedBy(u.tree.Symlink(ctx, string(r.Want.Target), name))
	}
	if err := u.tree.Mkdir(ctx, name, r.Want.Mode.Perm()|ownerAll); err != nil {
		return changedBy(err)
	}
	node, err := u.tree.Lstat(ctx, name)
	u.made[r.Path] = node.Mode.Perm()
	return err
}

// write writes a file and then its permissions. The environment compares the content again when it
// writes.
func (u *undo) write(ctx context.Context, r *Reversal, now *env.Node) error {
	was, name := env.NoFile, nameOf(string(r.Path))
	switch {
	case r.changesMode():
		return u.finishFile(ctx, r)
	case now == nil && !r.gone(), now != nil && !now.Mode.IsRegular():
		return errChanged
	case now != nil && (r.gone() || now.Mode.Perm() != r.Was.Mode.Perm()):
		return u.finishFile(ctx, r) // only an earlier run can have written it
	case now != nil:
		was = r.Was.Object
	}
	data, err := content(ctx, u.Store, r.Want.Object, r.Want.Size)
	if err != nil {
		return err
	}
	switch err = env.Replace(ctx, u.Env, name, was, data, r.Want.Mode.Perm()); {
	case errors.Is(err, env.ErrChanged):
		return u.finishFile(ctx, r)
	case err != nil:
		return err
	}
	node, err := u.tree.Lstat(ctx, name)
	switch mode := node.Mode.Perm(); {
	case err != nil || mode == r.Want.Mode.Perm():
		return err
	case was != env.NoFile && mode != r.Was.Mode.Perm() || !node.Mode.IsRegular():
		return errChanged
	}
	return u.tree.Chmod(ctx, name, r.Want.Mode.Perm())
}

// gone reports whether a path may be empty before it gets what is wanted: it was empty, or an
// earlier step has removed what it held.
func (r *Reversal) gone() bool { return r.Was == nil || r.removes() }

// finishFile gives a file that has the wanted content its permissions. Others have changed it if it
// has another content, or permissions that the undo does not give it.
func (u *undo) finishFile(ctx context.Context, r *Reversal) error {
	now, err := u.lookAt(ctx, string(r.Path))
	if err != nil {
		return err
	}
	if err := u.already(ctx, r, now); err != nil {
		return err
	}
	return u.setMode(ctx, r, now)
}

// setMode sets permissions if they are those before the undo or those that an earlier step has
// made.
func (u *undo) setMode(ctx context.Context, r *Reversal, now *env.Node) error {
	if now == nil || now.Mode.Type() != r.Want.Mode.Type() {
		return errChanged
	}
	mode, want := now.Mode.Perm(), r.Want.Mode.Perm()
	if mode == want {
		return nil
	}
	if !u.gaveMode(r, mode, now.IsDir()) {
		return errChanged
	}
	return u.tree.Chmod(ctx, nameOf(string(r.Path)), want)
}

// gaveMode reports whether a path has the permissions that it had before the undo, or those that
// the undo has given it for the time being.
func (u *undo) gaveMode(r *Reversal, mode fs.FileMode, isDir bool) bool {
	extra := fs.FileMode(0)
	if isDir {
		extra = ownerAll
	}
	if !r.gone() {
		return mode == r.Was.Mode.Perm() || mode == r.Was.Mode.Perm()|extra
	}
	if made, known := u.made[r.Path]; known || !u.begun {
		return known && mode == made
	}
	return mode&^(r.Want.Mode.Perm()|extra) == 0 // what is made has the wanted permissions less the umask
}

// sweep removes the temporary files that a killed undo may have left beside the files that it was
// writing. A file is taken for one only if it was not recorded before the undo and holds nothing
// but the beginning of a file that is restored beside it.
func (w Workspace) sweep(ctx context.Context, p *Plan) error {
	written := map[string][]*Entry{} // by directory
	for _, r := range p.Paths {
		if r.Want.isFile() {
			dir := path.Dir(string(r.Path))
			written[dir] = append(written[dir], r.Want)
		}
	}
	before := newLookup(w.Store, p.Now)
	for dir, files := range written {
		list, err := w.Env.ReadDir(ctx, nameOf(dir))
		if ends(err) {
			return err
		} // a directory that cannot be read is told by the paths in it
		for _, info := range list {
			name := path.Join(dir, info.Name)
			if !info.Mode.IsRegular() || !env.IsTemporary(info.Name) {
				continue
			}
			if was, err := before.at(ctx, name); err != nil {
				return err
			} else if was != nil {
				continue
			}
			if err := w.sweepFile(ctx, name, info.Size, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepFile removes a file of a number of bytes that are the beginning of one of the files that are
// written.
func (w Workspace) sweepFile(ctx context.Context, name string, size int64, files []*Entry) error {
	for _, e := range files {
		whole, err := content(ctx, w.Store, e.Object, e.Size)
		if err != nil || size > int64(len(whole)) {
			continue
		}
		err = env.Delete(ctx, w.Env, nameOf(name), env.HashOf(whole[:size]))
		if err := ignore(err, env.ErrChanged); err != nil {
			return err
		}
	}
	return nil
}
