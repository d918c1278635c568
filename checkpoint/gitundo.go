package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

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
// respects too.
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
