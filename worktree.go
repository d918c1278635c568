package attractor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/worktree"
)

// openWorktree makes the worktree in which the session works, if it is to have one.
func (s *Setup) openWorktree(ctx context.Context, c *config) (err error) {
	if c.Worktree == "" {
		return nil
	}
	data, err := userfiles.DataDir(c.getenv)
	if err != nil {
		return fail(ErrConfig, "there is no directory for worktrees: %w", err)
	}
	s.worktree, err = worktree.Open(ctx, worktree.Options{Dir: cmp.Or(c.Dir, c.Here.Dir, "."), Name: c.Worktree,
		Home: filepath.Join(data, "attractor", "worktrees"), Environ: c.Environ})
	if err != nil {
		return fail(ErrConfig, "%w", err)
	}
	w := s.worktree
	c.Dir = w.Dir
	if w.Uncommitted > 0 {
		s.warnings.add("worktree",
			fmt.Sprintf("The changes in %s that are not committed (paths: %d) are not in the worktree",
				texts.Shown(w.From), w.Uncommitted))
	}
	if w.NotCopied != nil {
		s.warnings.add("worktree", "Not all files of "+worktree.Include+" were copied: "+w.NotCopied.Error())
	}
	return nil
}

// closeWorktree removes the worktree if nothing would be lost.
func (s *Setup) closeWorktree() error {
	if s.worktree != nil {
		s.worktree.Close(context.Background())
	}
	return nil
}

// Worktree returns the worktree of the session, or nil. When the Setup is closed, its Kept says
// what became of it.
func (s *Setup) Worktree() *worktree.Worktree { return s.worktree }
