package undo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sessions"
)

// Options says which changes of a session are taken back.
type Options struct {
	// Checkpoints is the directory of the store.
	Checkpoints string
	// Points are those of the session, whose workspace is the directory of Env.
	Points *Points
	Env    env.Environment
	// Workspace names the workspace in the store. Empty means that of the points.
	Workspace string
	// Turn is the turn after which changes are taken back. Nil means those since the last input
	// that changed something.
	Turn *int
	// Redo takes the newest undo back that was not taken back.
	Redo bool
	// Force also puts back what somebody else has changed since. Git also puts back HEAD and the
	// index of the repository.
	Force, Git bool
}

// ErrNothing says that a session has changed nothing that could be taken back.
var ErrNothing = errors.New("nothing to take back")

// Undo is an undo that can be carried out. It has exclusive use of the workspace until it is
// closed.
type Undo struct {
	Plan *checkpoint.Plan
	// Since says which changes are taken back.
	Since string
	// Resumed says that this is an undo that was interrupted, and Redo that it takes another one
	// back.
	Resumed, Redo bool

	workspace checkpoint.Workspace
	recorder  *checkpoint.Recorder
	file      string
	ignored   checkpoint.Names
	moved     bool // the session has moved HEAD, its branch or the index, which stay
	mayForce  bool // more would be put back with Force
	release   func() error
}

// New claims a workspace and plans an undo. If an undo of the workspace was interrupted, that one
// is planned. An error of the kind [ErrNothing] says that there is nothing to take back.
func New(ctx context.Context, c Options) (_ *Undo, err error) {
	if err := c.Points.checkPlace(ctx, c.Env); err != nil {
		return nil, err
	}
	store, err := checkpoint.OpenDir(c.Checkpoints, checkpoint.DirOptions{})
	if err != nil {
		return nil, err
	}
	workspace := cmp.Or(c.Workspace, c.Points.workspace(c.Env))
	id := c.Points.Session
	u := &Undo{Redo: c.Redo, recorder: NewRecorder(store, c.Checkpoints, workspace, id),
		file: undoFile(c.Checkpoints, workspace, id)}
	u.workspace = checkpoint.Workspace{Env: c.Env, Store: store, Record: u.recorder.Record, Owner: id}
	u.release, err = store.Claim(ctx, workspace, id)
	if _, used := errors.AsType[*checkpoint.InUseError](err); used {
		return nil, fmt.Errorf("%w; an undo needs the directory alone: end that first", err)
	} else if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.Close())
		}
	}()
	if files := Unfinished(c.Checkpoints, workspace); len(files) > 0 {
		if err := u.goOnWith(files[0]); err != nil {
			return nil, err
		}
		return u, nil
	}
	if err := os.MkdirAll(filepath.Dir(u.file), 0o700); err != nil {
		return nil, err
	}
	points, changes, err := c.choose(ctx, u)
	if err != nil {
		return nil, err
	}
	u.ignored = c.Points.ignored()
	o := checkpoint.PlanOptions{Force: c.Force, Redo: c.Redo, Ignored: u.ignored}
	if c.Git {
		o.Git = points
	}
	if u.Plan, err = checkpoint.NewPlan(ctx, u.workspace, changes, o); err != nil {
		return nil, err
	}
	u.moved, u.mayForce = !c.Git && movedGit(points), !c.Force && mayForce(u.Plan.Left)
	return u, nil
}

// ID returns a name for what the undo is going to do. Two undos have the same ID if they put back
// and leave alone the same, and the same is there now.
func (u *Undo) ID() (string, error) {
	plan := *u.Plan
	plan.Now = "" // the tree also has files that the undo does not touch
	data, err := json.Marshal(struct {
		Since string
		Plan  checkpoint.Plan
	}{u.Since, plan})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), err
}

// goOnWith makes u the undo that was interrupted, given the file of its plan.
func (u *Undo) goOnWith(file string) (err error) {
	if file != u.file {
		return fault.Errorf(fault.ErrConfig,
			"an undo of the session %s in this directory was interrupted; finish it first: attractor undo %s",
			sessionOf(file), sessionOf(file))
	}
	u.Resumed, u.Since = true, "the undo that was interrupted"
	if u.Plan, err = checkpoint.ReadPlan(file); err == nil {
		u.Redo = u.Plan.Redo
	}
	return err
}

// choose returns the points whose changes are taken back, and the changes.
func (c *Options) choose(ctx context.Context,
	u *Undo) (points []checkpoint.Point, changes []checkpoint.Change, err error) {
	var now env.Hash
	if list := c.Points.List; len(list) > 0 && list[len(list)-1].After == env.NoFile {
		tree, err := u.recorder.Record(ctx, c.Env)
		if err != nil {
			return nil, nil, err
		}
		now = tree.Root
	}
	switch {
	case c.Redo:
		last := c.Points.lastUndo()
		if last == nil {
			return nil, nil, fault.Errorf(ErrNothing, "the session %s has no undo that could be taken back",
				sessions.ShortID(c.Points.Session))
		}
		u.Since = "the undo of " + last.Time.Local().Format("2006-01-02 15:04")
		points = []checkpoint.Point{last.Point}
	case c.Turn != nil:
		u.Since = fmt.Sprintf("what was changed after turn %d", *c.Turn)
		if points, err = c.Points.After(*c.Turn); err != nil {
			return nil, nil, err
		}
	default:
		for _, input := range c.Points.inputs() {
			u.Since = fmt.Sprintf("what was changed since input %d of the session", input)
			points = c.Points.where(func(p *Point) bool { return p.Input >= input })
			changes, err = checkpoint.Compose(ctx, u.workspace.Store, points, now)
			if err != nil || len(changes) > 0 {
				return points, changes, c.Points.gone(err)
			}
		}
		if c.Points.lastUndo() != nil {
			return nil, nil, fault.Errorf(ErrNothing,
				"the session %s has changed nothing that is not taken back already", sessions.ShortID(c.Points.Session))
		}
		return nil, nil, fault.Errorf(ErrNothing, "the session %s has changed nothing that could be taken back",
			sessions.ShortID(c.Points.Session))
	}
	changes, err = checkpoint.Compose(ctx, u.workspace.Store, points, now)
	return points, changes, c.Points.gone(err)
}

// Run carries out the plan, and keeps what it did by note, which adds a note to the session.
func (u *Undo) Run(ctx context.Context,
	note func(ctx context.Context, kind string, data json.RawMessage, text string) error) (checkpoint.Result, error) {
	u.workspace.Done = func(ctx context.Context, r checkpoint.Result) error {
		data, err := json.Marshal(r.Point)
		if err == nil {
			err = note(context.WithoutCancel(ctx), checkpoint.NoteKind, data, u.text(&r))
		}
		if err != nil {
			return fmt.Errorf("the files were put back, but the session could not be told; undo again to tell it: %w",
				err)
		}
		return nil
	}
	return checkpoint.Undo(ctx, u.workspace, u.Plan, u.file)
}

// text returns what the model is told of the undo, or "" if nothing was taken back.
func (u *Undo) text(r *checkpoint.Result) string {
	if len(r.Restored) == 0 && len(r.Git) == 0 {
		return ""
	}
	var b strings.Builder
	var restored, left []string
	for _, name := range r.Restored {
		restored = append(restored, string(name))
	}
	for _, kept := range r.Left {
		left = append(left, string(kept.Path))
	}
	fmt.Fprintf(&b, "The user has taken back %s. These files are as they were before: %s.", u.Since,
		first(restored, len(restored), mostTold))
	if len(left) > 0 {
		fmt.Fprintf(&b, " These were left as they are: %s.", first(left, len(left), mostTold))
	}
	for _, line := range r.Git {
		fmt.Fprintf(&b, " The repository: %s.", line)
	}
	b.WriteString(" What you know of these files is out of date: read them again before you use them, and do not " +
		"repeat the change unless you are asked to.")
	return b.String()
}

// The most names that the model is told, and those that a person is told of what is not recorded.
const (
	mostTold    = 40
	mostIgnored = 3
)

// first returns the first names of a list, and how many others of the total there are.
func first(list []string, total, most int) string {
	var shown []string
	for _, name := range list[:min(len(list), most)] {
		shown = append(shown, texts.Shown(name))
	}
	if more := total - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(shown, ", "), "none")
}

// Close releases the workspace.
func (u *Undo) Close() error { return errors.Join(u.recorder.Close(), u.release()) }

// Text returns the plan for a person, with at most that many paths of each kind.
func (u *Undo) Text(most int) string {
	text := u.Plan.Text(most)
	if n := u.ignored.Count; n > 0 && len(u.Plan.Paths) > 0 {
		text += fmt.Sprintf("Not recorded, and left as they are: what .gitignore names (%s)\n",
			first(u.ignored.First, n, mostIgnored))
	}
	if u.moved {
		text += "The session has moved HEAD, its branch or the index, which stay as they are (attractor undo --git " +
			"puts them back)\n"
	}
	if u.mayForce {
		text += "What was left alone is put back with attractor undo --force; what is there now is recorded before\n"
	}
	return "To take back: " + u.Since + "\n" + text
}

// movedGit reports whether a session has moved HEAD, its branch or the index in some points.
func movedGit(points []checkpoint.Point) bool {
	return slices.ContainsFunc(points,
		func(p checkpoint.Point) bool { return p.Git != nil && p.GitAfter != nil && *p.Git != *p.GitAfter })
}

// mayForce reports whether an undo that is forced puts more back.
func mayForce(left []checkpoint.Kept) bool {
	forced := []checkpoint.Reason{checkpoint.ReasonChanged, checkpoint.ReasonMixed, checkpoint.ReasonUnknown}
	return slices.ContainsFunc(left, func(k checkpoint.Kept) bool { return slices.Contains(forced, k.Reason) })
}

// ParseTurn returns the turn that a person has written.
func ParseTurn(text string) (*int, error) {
	turn, err := strconv.Atoi(text)
	if err != nil || turn < 0 {
		return nil, fault.Errorf(fault.ErrConfig,
			"the turn %q must be a number, from 0; attractor sessions show lists the turns", text)
	}
	return &turn, nil
}

// Report returns what an undo did, for a person, with at most that many paths that were left alone.
func Report(r *checkpoint.Result, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Taken back: %s\n", texts.Count(len(r.Restored), "path"))
	for _, kept := range r.Left[:min(len(r.Left), most)] {
		fmt.Fprintf(&b, "Left alone: %s\n", kept)
	}
	if more := len(r.Left) - most; more > 0 {
		fmt.Fprintf(&b, "and %s more left alone\n", texts.Count(more, "path"))
	}
	for _, line := range r.Git {
		fmt.Fprintf(&b, "In the repository: %s\n", line)
	}
	return b.String()
}
