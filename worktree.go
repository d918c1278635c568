package attractor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/worktree"
)

// openWorktree makes the worktree in which the session works, if it is to have one.
func (s *Setup) openWorktree(ctx context.Context, c *config) error {
	if c.Worktree == "" {
		return nil
	}
	if err := s.enterWorktree(ctx, c); err != nil {
		return err
	}
	w := s.worktree
	if w.Uncommitted > 0 {
		s.warnings.add("worktree",
			fmt.Sprintf("The changes in %s that are not committed (paths: %d) are not in the worktree",
				texts.Shown(w.From), w.Uncommitted))
	}
	return nil
}

// enterWorktree finds or makes the worktree of a name, and makes it the directory.
func (s *Setup) enterWorktree(ctx context.Context, c *config) error {
	o, err := c.worktrees(cmp.Or(c.Dir, c.Here.Dir, "."))
	if err != nil {
		return err
	}
	o.Name = c.Worktree
	if s.worktree, err = worktree.Open(ctx, o); err != nil {
		return fail(ErrConfig, "%w", err)
	}
	c.Dir = s.worktree.Dir
	s.copyOf(filepath.ToSlash(realPath(s.worktree.From)), filepath.ToSlash(realPath(s.worktree.Top)))
	if why := s.worktree.NotCopied; why != nil {
		s.warnings.add("worktree", "Not all files of "+worktree.Include+" were copied: "+why.Error())
	}
	return nil
}

// copyOf notes that a directory has what another one has, and what that is a copy of.
func (s *Setup) copyOf(of, at string) {
	copies := []rules.Copy{{Of: of, At: at}}
	for _, c := range s.copies {
		copies = append(copies, rules.Copy{Of: c.Of, At: at})
	}
	s.copies = copies
}

// worktrees returns where the worktrees of a directory's repository are.
func (c *config) worktrees(dir string) (worktree.Options, error) {
	data, err := userfiles.DataDir(c.getenv)
	if err != nil {
		return worktree.Options{}, fail(ErrConfig, "there is no directory for worktrees: %w", err)
	}
	return worktree.Options{Dir: dir, Home: filepath.Join(data, "attractor", "worktrees"), Environ: c.Environ}, nil
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
