package git

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Snapshot describes the state of a repository. The zero value means that there is none.
type Snapshot struct {
	// Root is the top of the work tree, spelled like the environment's working directory.
	Root string
	// Branch is "" if HEAD is detached or cannot be read.
	Branch string
	// Subjects holds the subjects of the last commits, the newest first.
	Subjects []string
	// Modified counts the paths that differ from the last commit, Untracked the files that git
	// neither has nor ignores. Both are valid only if Counted is true.
	Modified, Untracked int
	Counted             bool
	// Unasked says why git was not asked, if it was not: then only the branch is known, if that.
	Unasked string
	// Changed holds the first 20 of the counted paths: the modified ones, then the untracked ones,
	// each in order.
	Changed []Change
}

// Change holds a path of the work tree that differs from the last commit.
type Change struct {
	Path      string // from Root
	Untracked bool
}

const (
	lookTimeout = 5 * time.Second // only the branch is told if this is not enough
	maxSubjects = 10
	maxChanged  = 20
)

// Look describes the repository of e's working directory. It asks git, in e and with a context of
// [env.Observing], if nothing of the repository's configuration could make it start another
// program; see [Files.Starts]. Otherwise, and where git cannot run, it reads the branch alone. A
// file that a filter of the user's would change counts as modified if only its time has changed,
// because the filter does not run.
func Look(ctx context.Context, e env.Environment) Snapshot {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s := Snapshot{Root: Top(ctx, e)}
	if s.Root == "" {
		return s
	}
	head, _ := ReadHead(ctx, e)
	s.Branch = head.Branch()
	files := Files{Env: e}
	repo, why := files.Find(ctx, e.WorkDir())
	if why == "" {
		_, why = files.Starts(ctx, repo)
	}
	if why == "" {
		why = s.ask(ctx, e, repo)
	}
	s.Unasked = why
	return s
}

// Top returns the top of the work tree that e's working directory is in, spelled like that
// directory, or "" without a repository: the nearest directory, going up, with a .git that looks
// like a repository. It reads through e alone.
func Top(ctx context.Context, e env.Environment) string {
	for dir := e.WorkDir(); ; dir = path.Dir(dir) {
		if (Files{Env: e}).isTop(ctx, dir) {
			return dir
		}
		if dir == path.Dir(dir) || ctx.Err() != nil {
			return ""
		}
	}
}

// isTop reports whether a directory has a .git that looks like a repository, or like a file that
// names one.
func (f Files) isTop(ctx context.Context, dir string) bool {
	dotGit := path.Join(dir, ".git")
	info, err := f.Env.Stat(ctx, dotGit)
	if err != nil {
		return false
	}
	if info.IsDir() {
		there, _ := f.Exists(ctx, path.Join(dotGit, "HEAD"))
		return there
	}
	text, err := f.Read(ctx, dotGit)
	return err == nil && strings.HasPrefix(string(text), "gitdir:")
}

// nearest returns the repository of the working directory, or nil if there is none. It has no
// GitDir if that cannot be read.
func (f Files) nearest(ctx context.Context) *Repository {
	top := Top(ctx, f.Env)
	if top == "" {
		return nil
	}
	info, err := f.Env.Stat(ctx, path.Join(top, ".git"))
	if err == nil {
		if repo, why := f.dotGit(ctx, top, info); why == "" {
			return repo
		}
	}
	return &Repository{Top: top}
}
