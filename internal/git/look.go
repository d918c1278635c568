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
	// Modified counts the paths that differ from the last commit, Untracked the files that git neither has nor ignores. Both are valid
	// only if Counted is true.
	Modified, Untracked int
	Counted             bool
	// Unasked says why git was not asked, if it was not: then only the branch is known, if that.
	Unasked string
	// Changed holds the first 20 of the counted paths: the modified ones, then the untracked ones, each in order.
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

// Look describes the repository of e's working directory. It asks git, in e and with a context of [env.Observing], if nothing of the
// repository's configuration could make it start another program; see [Files.Starts]. Otherwise, and where git cannot run, it reads the
// branch alone. A file that a filter of the user's would change counts as modified if only its time has changed, because the filter does not
// run.
func Look(ctx context.Context, e env.Environment) Snapshot {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	r := open(ctx, e)
	if r == nil {
		return Snapshot{}
	}
	s := Snapshot{Root: r.root}
	_, s.Branch, _ = r.head(ctx)
	files := Files{Env: e}
	repo, why := files.Find(ctx, e.WorkDir())
	if why == "" {
		_, why = files.Starts(ctx, repo)
	}
	if why == "" {
		why = s.ask(ctx, e)
	}
	s.Unasked = why
	return s
}

// Top returns the top of the work tree that e's working directory is in, spelled like that directory, or "" without a repository. It reads
// through e alone.
func Top(ctx context.Context, e env.Environment) string {
	r := open(ctx, e)
	if r == nil {
		return ""
	}
	return r.root
}

// open returns the repository of the working directory, or nil if there is none. Its top is the nearest directory, going up, with a .git
// that looks like a repository.
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

// openAt returns the repository whose work tree has its top at dir. In a linked work tree and in a submodule, .git is a file that names
// another directory; if that cannot be read, the repository has no gitDir.
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

// resolve returns name if it is absolute, otherwise name joined to dir.
func resolve(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
