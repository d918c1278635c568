package git

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Snapshot is what a repository's files say. Its zero value means that there is none.
type Snapshot struct {
	// Root is the top of the work tree, in the words of the environment's working directory.
	Root string
	// Branch is empty when HEAD is detached or cannot be read.
	Branch string
	// Subjects are those of the last commits, the newest first.
	Subjects []string
	// Modified counts the paths that differ from the last commit, Untracked the files that git neither has nor ignores. Both are known
	// only if Counted is set.
	Modified, Untracked int
	Counted             bool
	// Changed holds the first of the paths that are counted, at most 20: the modified ones, then the untracked ones, each in order.
	Changed []Change
}

// Change is a path of the work tree that is not as in the last commit.
type Change struct {
	Path      string // from Root
	Untracked bool
}

const (
	lookTimeout = 5 * time.Second // the counts are left out where this is not enough
	maxSubjects = 10
	maxChanged  = 20
)

// Look describes the repository that e's working directory belongs to. It reads through e alone, so a repository whose top or whose
// .git lies outside of what e may read is known in part or not at all.
func Look(ctx context.Context, e env.Environment) Snapshot {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	r := open(ctx, e)
	if r == nil {
		return Snapshot{}
	}
	defer r.close()
	s := Snapshot{Root: r.root}
	head, branch, ok := r.head(ctx)
	if !ok {
		return s
	}
	s.Branch = branch
	s.Subjects = r.subjects(ctx, head)
	if c, err := r.count(ctx, head); err == nil {
		s.Modified, s.Untracked, s.Counted, s.Changed = len(c.modified), len(c.untracked), true, c.first(maxChanged)
	}
	return s
}

// open finds the repository of the working directory: the nearest directory above with a .git that looks like one. It returns nil
// if there is none.
func open(ctx context.Context, e env.Environment) *repository {
	for dir := e.WorkDir(); ; dir = path.Dir(dir) {
		if r := openAt(ctx, e, dir); r != nil {
			return r
		}
		if dir == path.Dir(dir) || ctx.Err() != nil {
			return nil
		}
	}
}

// openAt returns the repository whose work tree begins at dir. In a linked work tree and in a submodule .git is a file that says where
// the rest is; if that cannot be read the repository has no gitDir.
func openAt(ctx context.Context, e env.Environment, dir string) *repository {
	dotGit := path.Join(dir, ".git")
	info, err := e.Stat(ctx, dotGit)
	if err != nil {
		return nil
	}
	r := &repository{env: e, root: dir, budget: maxRead}
	if info.IsDir() {
		if _, err := e.Stat(ctx, path.Join(dotGit, "HEAD")); err != nil {
			return nil
		}
		r.gitDir, r.commonDir = dotGit, dotGit
		return r
	}
	text, err := r.read(ctx, dotGit, maxSmall)
	target, ok := strings.CutPrefix(string(text), "gitdir:")
	if err != nil || !ok {
		return nil
	}
	gitDir := resolve(dir, strings.TrimSpace(target))
	if _, err := e.Stat(ctx, path.Join(gitDir, "HEAD")); err != nil {
		return r
	}
	r.gitDir, r.commonDir = gitDir, gitDir
	if common, err := r.read(ctx, path.Join(gitDir, "commondir"), maxSmall); err == nil {
		r.commonDir = resolve(gitDir, strings.TrimSpace(string(common)))
	}
	return r
}

// resolve returns a path that is relative to dir or absolute.
func resolve(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
