package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// GitPlan says what an undo does in a repository. Commits are never removed.
type GitPlan struct {
	ID    string    `json:"id"`  // is in the lock files of this undo
	Dir   string    `json:"dir"` // of the work tree: it has HEAD and the index
	Steps []GitStep `json:"steps,omitempty"`
	// Left says what is left alone, and why, one line each.
	Left []string `json:"left,omitempty"`
	// From is what the session had left, and To what was checked out before.
	From GitState `json:"from"`
	To   GitState `json:"to"`
}

// GitStep replaces one file of a repository.
type GitStep struct {
	Kind GitKind  `json:"kind"`
	File string   `json:"file"`          // absolute
	Was  env.Hash `json:"was,omitempty"` // the content that it has to have; empty if there is none
	// Text is the new content, or Object names it.
	Text   string   `json:"text,omitempty"`
	Object env.Hash `json:"object,omitempty"`
	// Note says what the step means, for people.
	Note string `json:"note"`
}

// GitKind names what a GitStep restores.
type GitKind string

// The kinds of steps in a repository.
const (
	GitHead  GitKind = "HEAD"
	GitRef   GitKind = "ref"
	GitIndex GitKind = "index"
)

// The limits of what is read of a repository.
const (
	maxGitSmall = 64 << 10
	maxPacked   = 64 << 20
	maxIndex    = 256 << 20
)

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
		if ref, ok := refOf(after.Head); ok {
			m.left[ref] = after.Commit
		}
	}
	return m
}

// refOf returns the ref that a HEAD leads to.
func refOf(head string) (ref string, ok bool) {
	ref, ok = strings.CutPrefix(strings.TrimSpace(head), "ref:")
	return strings.TrimSpace(ref), ok
}

// planGit returns how the repository is put back, nil if the points have not moved it.
func (w Workspace) planGit(ctx context.Context, points []Point, force bool) (*GitPlan, error) {
	m := movesOf(points)
	if !m.moved || m.first == m.last {
		return nil, nil
	}
	g := &gitPlanner{Workspace: w, moves: m, force: force, plan: GitPlan{ID: rand.Text(), Dir: m.first.Dir,
		From: m.last, To: m.first}}
	now, err := readFile(ctx, w.Env, path.Join(m.first.Dir, "HEAD"), maxGitSmall)
	if ends(err) {
		return nil, err
	}
	if why := m.forbidden(now, err, force); why != "" {
		g.leave(why)
		return &g.plan, nil
	}
	for _, part := range []func(context.Context) error{g.ref, g.head, g.index} {
		if err := part(ctx); ends(err) {
			return nil, err
		} else if err != nil {
			g.leave(texts.Error(err))
		}
	}
	return &g.plan, nil
}

// forbidden returns why the repository must be left alone, or "", given what HEAD is now.
func (m *gitMoves) forbidden(head []byte, err error, force bool) string {
	now := strings.TrimSpace(string(head))
	switch {
	case m.first.Dir != m.last.Dir:
		return "the repository is another one than before"
	case err != nil:
		return texts.Error(err)
	case m.mixed && !force:
		return "somebody else has used the repository between two calls of the session"
	case now != strings.TrimSpace(m.last.Head) && now != strings.TrimSpace(m.first.Head) && !force:
		return "HEAD was moved by somebody else since: it is " + texts.Shown(now)
	}
	for _, head := range []string{m.first.Head, m.last.Head} {
		if ref, ok := refOf(head); ok && (!strings.HasPrefix(ref, "refs/") || path.Clean(ref) != ref ||
			path.Base(ref) == ".invalid") {
			return "the repository keeps its refs in a form that is not known here (" + texts.Shown(ref) +
				"): use git reset"
		}
	}
	return ""
}

// gitPlanner makes a GitPlan.
type gitPlanner struct {
	Workspace
	moves gitMoves
	force bool
	plan  GitPlan
}

func (g *gitPlanner) leave(why string) { g.plan.Left = append(g.plan.Left, why) }

// head plans HEAD, if it led elsewhere, and its branch is as it was: on another commit than the
// files, git would show changes that nobody made.
func (g *gitPlanner) head(ctx context.Context) error {
	from, to := strings.TrimSpace(g.moves.last.Head), strings.TrimSpace(g.moves.first.Head)
	if from == to {
		return nil
	}
	file := path.Join(g.plan.Dir, "HEAD")
	raw, err := readFile(ctx, g.Env, file, maxGitSmall)
	if err != nil || strings.TrimSpace(string(raw)) == to {
		return err
	}
	if len(g.plan.Left) > 0 {
		g.leave("HEAD is left, too")
		return nil
	}
	note := "HEAD leads to " + texts.Shown(to) + " again"
	if commit := g.moves.last.Commit; commit != "" && commit != g.moves.first.Commit {
		note += "; the commit that was checked out is " + commit
	}
	g.plan.Steps = append(g.plan.Steps, GitStep{Kind: GitHead, File: file, Was: env.HashOf(raw), Text: to + "\n",
		Note: note})
	return nil
}

// ref plans the ref that HEAD led to before, if the session has moved it.
func (g *gitPlanner) ref(ctx context.Context) error {
	ref, ok := refOf(g.moves.first.Head)
	if !ok {
		return nil
	}
	common, err := g.commonDir(ctx)
	if err != nil {
		return err
	}
	file, want := path.Join(common, ref), g.moves.first.Commit
	raw, err := readFile(ctx, g.Env, file, maxGitSmall)
	loose := !errors.Is(err, fs.ErrNotExist)
	if loose && err != nil {
		return err
	}
	packed, err := g.packedRef(ctx, common, ref)
	if err != nil {
		return err
	}
	now := strings.TrimSpace(string(raw))
	if !loose {
		now = packed
	}
	left, known := g.moves.left[ref]
	switch {
	case now == want:
		return nil
	case want == "": // it may only have been unreadable
		return fmt.Errorf("%s had no commit before: git update-ref -d %[1]s removes it", texts.Shown(ref))
	case now == "" && !loose: // making it again takes nothing from anybody
		g.plan.Steps = append(g.plan.Steps, GitStep{Kind: GitRef, File: file, Text: want + "\n",
			Note: fmt.Sprintf("%s is there again, at %s", texts.Shown(ref), want)})
		return nil
	case !known && !g.force:
		return fmt.Errorf("%s was moved by somebody else, or by the session in a call that left it: it is at %s; git update-ref %[1]s %s puts it back",
			texts.Shown(ref), texts.Shown(now), want)
	case now != left && !g.force:
		return fmt.Errorf("%s was moved by somebody else since: it is at %s", texts.Shown(ref), texts.Shown(now))
	}
	step := GitStep{Kind: GitRef, File: file, Text: want + "\n",
		Note: fmt.Sprintf("%s is at %s again; what the session committed stays in the "+
			"repository: git branch NAME %s names it", texts.Shown(ref), want, texts.Shown(now))}
	if loose {
		step.Was = env.HashOf(raw)
	}
	g.plan.Steps = append(g.plan.Steps, step)
	return nil
}

// commonDir returns the directory that has the refs. In a linked work tree it is another one than
// that of HEAD.
func (g *gitPlanner) commonDir(ctx context.Context) (string, error) {
	text, err := readFile(ctx, g.Env, path.Join(g.plan.Dir, "commondir"), maxGitSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return g.plan.Dir, nil
	}
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(text))
	if !path.IsAbs(dir) {
		dir = path.Join(g.plan.Dir, dir)
	}
	return dir, nil
}

// packedRef returns the commit of a ref in packed-refs, or "".
func (g *gitPlanner) packedRef(ctx context.Context, common, ref string) (string, error) {
	text, err := readFile(ctx, g.Env, path.Join(common, "packed-refs"), maxPacked)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for line := range strings.Lines(string(text)) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return id, err
		}
	}
	return "", err
}

// index plans the index, if all else is put back: with another commit it would stage changes that
// nobody made.
func (g *gitPlanner) index(ctx context.Context) error {
	from, to := g.moves.last.Index, g.moves.first.Index
	if from == to {
		return nil
	}
	switch {
	case len(g.plan.Left) > 0:
		g.leave("the index is left, too")
		return nil
	case to == env.NoFile: // it may only have been too large or unreadable
		return errors.New("what the index was is not recorded: git reset makes it that of the commit")
	}
	file := path.Join(g.plan.Dir, "index")
	now, err := env.HashFile(ctx, g.Env, file)
	switch {
	case err != nil:
		return err
	case now == to:
		return nil
	case (now != from || g.moves.staged) && !g.force:
		return errors.New("the index was changed by somebody else since")
	}
	g.plan.Steps = append(g.plan.Steps, GitStep{Kind: GitIndex, File: file, Was: now, Object: to,
		Note: "the index is as before"})
	return nil
}

// readFile returns the content of a file of at most limit bytes. A larger one is an error.
func readFile(ctx context.Context, e env.Environment, name string, limit int64) (data []byte, err error) {
	f, err := e.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", texts.Shown(name), limit)
	}
	return data, err
}
