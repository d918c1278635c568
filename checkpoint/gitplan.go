package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/texts"
)

// GitPlan says what an undo does in a repository. Commits are never removed.
type GitPlan struct {
	ID    string    `json:"id"` // is in the lock files of this undo
	Steps []GitStep `json:"steps,omitempty"`
	// Left says what is left alone, and why, one line each.
	Left []string `json:"left,omitempty"`
	// From is what the session had left, and To what was checked out before.
	From GitState `json:"from"`
	To   GitState `json:"to"`
}

// GitStep replaces one file of a repository: HEAD, a ref or the index.
type GitStep struct {
	Kind string   `json:"kind"`
	File string   `json:"file"`          // absolute
	Was  env.Hash `json:"was,omitempty"` // the content that it has to have; empty if there is none
	// Text is the new content, or Object names it.
	Text   string   `json:"text,omitempty"`
	Object env.Hash `json:"object,omitempty"`
	// Note says what the step means, for people.
	Note string `json:"note"`
}

// maxIndex limits the index that is put back, in bytes.
const maxIndex = 256 << 20

// gitMoves are the moves of HEAD in a number of points.
type gitMoves struct {
	first, last GitState
	moved       bool
	mixed       bool              // somebody else has moved it in between
	staged      bool              // somebody else has changed the index in between
	left        map[string]string // where the session has left each ref that HEAD led to
}

// movesOf returns what the points say about the repository.
func movesOf(points []Point) (m gitMoves) {
	m.left = map[string]string{}
	for i := range points {
		before, after := points[i].Git, points[i].GitAfter
		if before == nil || after == nil || *before == *after {
			continue
		}
		if !m.moved {
			m.first, m.last, m.moved = *before, *before, true
		}
		m.mixed = m.mixed || before.Dir != m.last.Dir || before.Head != m.last.Head || before.Commit != m.last.Commit
		m.staged = m.staged || before.Index != m.last.Index
		m.last = *after
		if ref, ok := git.RefOf(after.Head); ok {
			m.left[ref] = after.Commit
		}
	}
	return m
}

// planGit returns how the repository is put back, nil if the points have not moved it.
func (w Workspace) planGit(ctx context.Context, points []Point, force bool) (*GitPlan, error) {
	m := movesOf(points)
	if !m.moved || m.first == m.last {
		return nil, nil
	}
	g := &gitPlanner{Workspace: w, moves: m, force: force, plan: &GitPlan{ID: rand.Text(), From: m.last, To: m.first}}
	for i, part := range []func(context.Context) error{g.allowed, g.ref, g.head, g.index} {
		err := part(ctx)
		if ends(err) {
			return nil, err
		}
		if err == nil {
			continue
		}
		g.plan.Left = append(g.plan.Left, texts.Error(err))
		if i == 0 {
			break
		}
	}
	return g.plan, nil
}

// allowed reads HEAD, and returns why the repository must be left alone, if so.
func (g *gitPlanner) allowed(ctx context.Context) error {
	m := g.moves
	var ok bool
	g.now, ok = git.ReadHead(ctx, g.Env)
	switch {
	case !ok:
		return cmp.Or(context.Cause(ctx), errors.New("the repository cannot be read"))
	case m.first.Dir != m.last.Dir || m.first.Dir != g.now.Dir:
		return errors.New("the repository is another one than before")
	case m.mixed && !g.force:
		return errors.New("somebody else has used the repository between two calls of the session")
	case g.now.Text != m.last.Head && g.now.Text != m.first.Head && !g.force:
		return fmt.Errorf("HEAD was moved by somebody else since: it is %s", texts.Shown(g.now.Text))
	}
	for _, head := range []string{m.first.Head, m.last.Head} {
		if _, ok := git.RefOf(head); !ok && strings.HasPrefix(head, "ref:") {
			return fmt.Errorf("the repository keeps its refs in a form that is not known here (%s): use git reset",
				texts.Shown(head))
		}
	}
	return nil
}

// gitPlanner makes a GitPlan.
type gitPlanner struct {
	Workspace
	moves gitMoves
	force bool
	now   git.Head
	plan  *GitPlan
}

// head plans HEAD, if it led elsewhere, and its branch is as it was: on another commit than the
// files, git would show changes that nobody made.
func (g *gitPlanner) head(ctx context.Context) error {
	from, to := g.moves.last.Head, g.moves.first.Head
	if from == to || g.now.Text == to {
		return nil
	}
	if len(g.plan.Left) > 0 {
		return errors.New("HEAD is left, too")
	}
	file := path.Join(g.now.Dir, "HEAD")
	was, err := env.HashFile(ctx, g.Env, file)
	if err != nil {
		return err
	}
	note := "HEAD leads to " + texts.Shown(to) + " again"
	if commit := g.moves.last.Commit; commit != "" && commit != g.moves.first.Commit {
		note += "; the commit that was checked out is " + commit
	}
	g.plan.Steps = append(g.plan.Steps, GitStep{Kind: "HEAD", File: file, Was: was, Text: to + "\n", Note: note})
	return nil
}

// ref plans the ref that HEAD led to before, if the session has moved it.
func (g *gitPlanner) ref(ctx context.Context) error {
	ref, ok := git.RefOf(g.moves.first.Head)
	if !ok {
		return nil
	}
	step := GitStep{Kind: "ref", File: path.Join(g.now.CommonDir, ref), Text: g.moves.first.Commit + "\n"}
	var err error
	// If it is moved before it is read, the step finds that its file has changed.
	if step.Was, err = env.HashFile(ctx, g.Env, step.File); err != nil {
		return err
	}
	now, err := git.Files{Env: g.Env}.Ref(ctx, g.now.CommonDir, ref)
	if err != nil {
		return err
	}
	want, shown := g.moves.first.Commit, texts.Shown(ref)
	left, known := g.moves.left[ref]
	switch {
	case now == want:
		return nil
	case want == "": // it may only have been unreadable
		return fmt.Errorf("%s had no commit before: git update-ref -d %[1]s removes it", shown)
	case now == "" && step.Was == env.NoFile: // making it again takes nothing from anybody
		step.Note = fmt.Sprintf("%s is there again, at %s", shown, want)
	case !known && !g.force:
		return fmt.Errorf("%s was moved by somebody else, or by the session in a call that left it: it is at %s; git "+
			"update-ref %[1]s %s puts it back", shown, texts.Shown(now), want)
	case now != left && !g.force:
		return fmt.Errorf("%s was moved by somebody else since: it is at %s", shown, texts.Shown(now))
	default:
		step.Note = fmt.Sprintf("%s is at %s again; what the session committed stays in the repository: git branch "+
			"NAME %s names it", shown, want, texts.Shown(now))
	}
	g.plan.Steps = append(g.plan.Steps, step)
	return nil
}

// index plans the index, if all else is put back: with another commit it would stage changes that
// nobody made.
func (g *gitPlanner) index(ctx context.Context) error {
	from, to := g.moves.last.Index, g.moves.first.Index
	switch {
	case from == to:
		return nil
	case len(g.plan.Left) > 0:
		return errors.New("the index is left, too")
	case to == env.NoFile: // it may only have been too large or unreadable
		return errors.New("what the index was is not recorded: git reset makes it that of the commit")
	}
	file := path.Join(g.now.Dir, "index")
	now, err := env.HashFile(ctx, g.Env, file)
	switch {
	case err != nil || now == to:
		return err
	case (now != from || g.moves.staged) && !g.force:
		return errors.New("the index was changed by somebody else since")
	}
	if err := g.checkIndex(ctx, to); err != nil {
		return err
	}
	g.plan.Steps = append(g.plan.Steps, GitStep{Kind: "index", File: file, Was: now, Object: to,
		Note: "the index is as before"})
	return nil
}

// checkIndex returns an error if git would write a hook, or a file outside of the work tree, by an
// index. A command in the background may have left one, which a sandbox has removed since.
func (g *gitPlanner) checkIndex(ctx context.Context, object env.Hash) error {
	data, err := content(ctx, g.Store, object, maxIndex)
	if err != nil {
		return err
	}
	config, err := git.Files{Env: g.Env}.Read(ctx, path.Join(g.now.CommonDir, "config"))
	if err := ignore(err, fs.ErrNotExist); err != nil {
		return err
	}
	settings, err := git.ParseConfig(string(config))
	if err == nil && git.NamesOutside(data, settings) {
		err = errors.New("what the index was cannot be read, or names a file in .git or outside of the work tree: " +
			"git reset makes it that of the commit")
	}
	return err
}

// unlockTimeout bounds the removal of a lock file after the undo was canceled.
const unlockTimeout = 5 * time.Second

// restoreGit takes the steps in the repository, and says in the result what became of them.
func (u *undo) restoreGit(ctx context.Context, g *GitPlan, r *Result) error {
	if g == nil {
		return nil
	}
	r.Git = append(r.Git, g.Left...)
	left := false
	for _, step := range g.Steps {
		if left { // the rest belongs to a ref or a HEAD that is not as it was
			r.Git = append(r.Git, fmt.Sprintf("%s is left, too", step.Kind))
			continue
		}
		err := u.gitStep(ctx, g, step)
		switch {
		case ends(err):
			return err
		case err != nil:
			left = true
			r.Git = append(r.Git, fmt.Sprintf("%s is left: %s", step.Kind, texts.Error(err)))
		default:
			r.Git = append(r.Git, step.Note)
			r.Point.Git, r.Point.GitAfter = &g.From, &g.To
		}
	}
	return nil
}

// gitStep replaces a file of the repository as git does: it first makes the lock file, which git
// respects too. A link in the place of the file stays, because it may lead to a hook.
func (u *undo) gitStep(ctx context.Context, g *GitPlan, s GitStep) (err error) {
	unlock, err := u.lockGit(ctx, s.File+".lock", g.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	want := s.Object
	if want == env.NoFile {
		want = env.HashOf([]byte(s.Text))
	}
	now, err := env.HashFile(ctx, u.Env, s.File)
	switch {
	case err != nil:
		return err
	case now == want:
		return nil
	case now != s.Was:
		return errors.New("somebody else has changed it since")
	}
	data := []byte(s.Text)
	if s.Object != env.NoFile {
		if data, err = content(ctx, u.Store, s.Object, maxIndex); err != nil {
			return err
		}
	}
	dir, err := env.Resolve(ctx, u.Env, path.Dir(s.File))
	if err != nil {
		return err
	}
	ctx = env.Placed(ctx, func(place string) error {
		if place != path.Join(dir, path.Base(s.File)) {
			return fmt.Errorf("it is a link to %s", texts.Shown(place))
		}
		return nil
	})
	return env.Replace(ctx, u.Env, s.File, s.Was, data, 0o644)
}

// lockGit makes a lock file. One of an earlier run of the same undo is taken over.
func (u *undo) lockGit(ctx context.Context, file, id string) (unlock func() error, err error) {
	err = env.Replace(ctx, u.Env, file, env.NoFile, []byte(id), 0o644)
	if errors.Is(err, env.ErrChanged) {
		var now env.Hash
		if now, err = env.HashFile(ctx, u.Env, file); err == nil && now != env.HashOf([]byte(id)) {
			err = fmt.Errorf("git is running, or was ended by a kill: %s exists", texts.Shown(file))
		}
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		return env.Delete(ctx, u.Env, file, env.HashOf([]byte(id)))
	}, nil
}
