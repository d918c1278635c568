package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Options say which worktree is wanted.
type Options struct {
	// Dir is a directory in a repository of this machine.
	Dir string
	// Name names the worktree and its branch: at most 64 letters, digits, dots, underscores and
	// hyphens.
	Name string
	// Home is the user's directory for worktrees, which is made if it is missing.
	Home string
	// Environ holds the variables of git. Those that begin with GIT_ do not count. Nil means those
	// of the process.
	Environ []string
}

// Worktree is a git worktree that a session uses. It is for one goroutine at a time.
type Worktree struct {
	// Dir is the directory in it that takes the place of Options.Dir, and Top its top. Both are
	// absolute, without symbolic links.
	Dir, Top string
	// Branch is the branch that was checked out in it.
	Branch string
	// From is the top of the work tree that it was made from.
	From string
	// New says that it was made by this Open.
	New bool
	// Uncommitted counts the paths of From with changes that are not committed, and so not in a new
	// worktree.
	Uncommitted int
	// Kept says, after Close, why the worktree is still there. It is empty if it is gone.
	Kept string
	// Copied lists the ignored files that were copied, by their paths from the top; see [Include].
	// NotCopied says why there may be more.
	Copied    []string
	NotCopied error

	git    *runner
	common string   // the repository's directory, which all of its work trees share
	used   *os.File // says that this process uses it
}

// BranchPrefix begins the names of branches. The name of the worktree follows.
const BranchPrefix = "attractor/"

// ErrName is wrapped by the error for a name that no worktree can have.
var ErrName = errors.New("the name of a worktree has at most 64 letters, digits, dots, underscores and hyphens, " +
	"and begins with a letter or a digit")

// Check returns an error if a worktree cannot have a name.
func Check(text string) error {
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	odd := strings.Trim(text, alphanumeric+"._-") != "" || text == "" || len(text) > 64
	if odd || !strings.Contains(alphanumeric, text[:1]) || strings.HasSuffix(text, ".lock") ||
		strings.HasSuffix(text, ".") || strings.Contains(text, "..") {
		return fmt.Errorf("%q: %w", text, ErrName)
	}
	return nil
}

// Open makes a worktree, or goes on in the one with the name. If git could start a program there
// because of what the repository has, it is an error that says so.
func Open(ctx context.Context, o Options) (*Worktree, error) {
	if err := Check(o.Name); err != nil {
		return nil, err
	}
	g, repo, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(g.dir)
	if err != nil {
		return nil, err
	}
	within, err := filepath.Rel(repo.Top, dir)
	if err != nil {
		return nil, err
	}
	place := o.place(repo.CommonDir)
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, err
	}
	if place, err = filepath.EvalSymlinks(place); err != nil {
		return nil, err
	}
	w := &Worktree{Top: filepath.Join(place, o.Name), Branch: BranchPrefix + o.Name, From: repo.Top,
		git: g, common: repo.CommonDir}
	w.Dir = filepath.Join(w.Top, within)
	if err := w.use(ctx, repo); err != nil {
		return nil, err
	}
	return w, nil
}

// place returns the directory for the worktrees of a repository.
func (o *Options) place(commonDir string) string {
	sum := sha256.Sum256([]byte(commonDir))
	of := filepath.Base(strings.TrimSuffix(commonDir, "/.git"))
	return filepath.Join(o.Home, of+"-"+hex.EncodeToString(sum[:4]))
}

// Names returns the names of the worktrees that the repository of o.Dir has in o.Home, of those
// that begin with o.Name. It starts no process.
func Names(o Options) (names []string) {
	roots := git.Roots(o.Dir)
	if len(roots) == 0 {
		return nil
	}
	common := roots[len(roots)-1]
	if len(roots) == 1 {
		common = filepath.Join(common, ".git")
	}
	common, err := filepath.EvalSymlinks(common)
	if err != nil {
		return nil
	}
	list, err := os.ReadDir(o.place(common))
	if err != nil {
		return nil // nobody has made one
	}
	for _, e := range list {
		if e.IsDir() && strings.HasPrefix(e.Name(), o.Name) {
			names = append(names, e.Name())
		}
	}
	return names
}

// open finds or makes the worktree.
func (w *Worktree) open(ctx context.Context, repo *git.Repository) error {
	_, err := os.Lstat(w.Top)
	switch {
	case err == nil && !slices.Equal(git.Roots(w.Top), []string{w.Top, repo.CommonDir}):
		return fmt.Errorf("%s is no worktree of %s: remove it, or choose another name", w.Top, w.From)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		if err := w.make(ctx); err != nil {
			return err
		}
	}
	return w.checkDir()
}

// checkDir returns an error unless Dir is a directory. A link that is committed in its place, or in
// that of a directory above, could lead anywhere.
func (w *Worktree) checkDir() error {
	within, err := filepath.Rel(w.Top, w.Dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(w.Dir)
	if err == nil && real != w.Dir {
		return fmt.Errorf("in the worktree %s a link leads from %s to %s: commit a directory in its place, or begin "+
			"at the top of the repository", w.Top, within, real)
	}
	info, err := os.Stat(w.Dir)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("the worktree %s has no directory %s: commit it first, or begin at the top of the repository",
			w.Top, within)
	}
	return nil
}

// make makes the worktree, and its branch unless that is there from before.
func (w *Worktree) make(ctx context.Context) error {
	if err := w.checkLinks(); err != nil {
		return err
	}
	commit, err := w.git.output(ctx, w.From, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return fmt.Errorf("%s has no commit yet that a worktree could begin with: commit something first", w.From)
	}
	// One that was removed by hand is still known to git; otherwise this fails and does nothing.
	_, _ = w.git.output(ctx, w.From, "worktree", "remove", w.Top)
	args := []string{"worktree", "add", "--quiet", "--no-checkout", "-b", w.Branch, w.Top, commit}
	_, err = w.git.output(ctx, w.From, "show-ref", "--verify", "--quiet", "refs/heads/"+w.Branch)
	had := err == nil
	if had {
		args = []string{"worktree", "add", "--quiet", "--no-checkout", w.Top, w.Branch}
	}
	if _, err := w.git.within(ctx, w.written(), w.From, args...); err != nil {
		return fmt.Errorf("cannot make a worktree: %w", err)
	}
	if err := w.checkOut(ctx, had); err != nil {
		return fmt.Errorf("cannot make a worktree: %w", err)
	}
	w.New = true
	if w.Uncommitted, err = w.git.changes(ctx, w.From); err != nil {
		return err
	}
	w.Copied, w.NotCopied = w.include(ctx)
	return nil
}

// written returns the directories that git changes when it makes a worktree and a branch. Those of
// the repository that are missing are made.
func (w *Worktree) written() []string {
	dirs := []string{filepath.Dir(w.Top)}
	for _, name := range []string{"refs", "reftable", "logs", "worktrees"} {
		dir := filepath.Join(w.common, name)
		if name != "reftable" {
			_ = os.Mkdir(dir, 0o777) // git says what is wrong with it
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// checkOut writes the files of a new worktree, for which filters of the user's may run. If that
// fails it removes the worktree, and the branch unless it was there before.
func (w *Worktree) checkOut(ctx context.Context, had bool) error {
	_, err := w.git.output(ctx, w.Top, "read-tree", "--reset", "-u", "HEAD")
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	_, removing := w.git.output(ctx, w.From, "worktree", "remove", "--force", w.Top)
	if !had && removing == nil {
		_, removing = w.git.within(ctx, []string{w.common}, w.From, "update-ref", "-d", "refs/heads/"+w.Branch)
	}
	return errors.Join(err, removing)
}

// checkLinks returns an error if git would write the branch, or the log of its changes, where a
// symbolic link leads.
func (w *Worktree) checkLinks() error {
	for _, name := range []string{"refs/heads/" + w.Branch, "logs/refs/heads/" + w.Branch} {
		for ; name != "."; name = path.Dir(name) {
			file := filepath.Join(w.common, filepath.FromSlash(name))
			info, err := os.Lstat(file)
			if err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return fmt.Errorf("the repository has a symbolic link, %s, instead of a file, so git would write "+
					"where it leads: remove it", file)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Outcome says what has become of the worktree, when it is closed.
func (w *Worktree) Outcome() string {
	if w.Kept == "" {
		return fmt.Sprintf("The worktree %s is removed: nothing is lost with it.", w.Top)
	}
	return fmt.Sprintf("The worktree %s stays, on the branch %s: %s. To go on in it: --worktree=%s; to throw it "+
		"away, run: git -C %s worktree remove --force %s", w.Top, w.Branch, w.Kept,
		strings.TrimPrefix(w.Branch, BranchPrefix), shquote.Shown(w.From), shquote.Shown(w.Top))
}

// Close removes the worktree and its branch, unless something would be lost, or another session
// uses it. Kept says so. Files that git ignores do not count. No process of the session may use the
// worktree any more.
func (w *Worktree) Close(ctx context.Context) {
	defer func() { _ = w.used.Close() }() // nothing was written
	err := w.remove(ctx)
	if err == nil {
		_ = os.Remove(w.lockName())
		_ = os.Remove(filepath.Dir(w.Top)) // fails if there are others
		return
	}
	w.Kept = err.Error()
}

// remove removes the worktree. An error says why it stays.
func (w *Worktree) remove(ctx context.Context) error {
	if alone, err := alone(w.used); err != nil || !alone {
		return cmp.Or(err, errors.New("another session uses it"))
	}
	if err := w.checkLinks(); err != nil {
		return err
	}
	if err := w.lost(ctx); err != nil {
		return err
	}
	head, err := w.git.output(ctx, w.Top, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	// which looks itself whether something has changed
	if _, err := w.git.output(ctx, w.From, "worktree", "remove", w.Top); err != nil {
		return err
	}
	// A branch that somebody has moved meanwhile stays.
	_, _ = w.git.within(ctx, []string{w.common}, w.From, "update-ref", "-d", "refs/heads/"+w.Branch, head)
	return nil
}

// lost returns an error that says what would be lost with the worktree, or why that is not known.
func (w *Worktree) lost(ctx context.Context) error {
	_, why, err := w.git.find(ctx, w.Top)
	if why != "" {
		err = errors.New(why)
	}
	if err != nil {
		return err
	}
	branch, err := w.git.output(ctx, w.Top, "symbolic-ref", "--quiet", "HEAD")
	if err != nil || branch != "refs/heads/"+w.Branch {
		return errors.New("another branch or commit is checked out")
	}
	var parts []string
	commits, err := w.git.output(ctx, w.From, "rev-list", "--count", branch, "^HEAD")
	if err != nil {
		return err
	}
	if commits != "0" {
		parts = append(parts, counted(commits, "commit"))
	}
	changed, err := w.git.changes(ctx, w.Top)
	if err != nil {
		return err
	}
	if changed > 0 {
		parts = append(parts, counted(fmt.Sprint(changed), "file")+" with changes that are not committed")
	}
	if parts == nil {
		return nil
	}
	return errors.New("it has " + strings.Join(parts, ", and "))
}

func counted(n, what string) string {
	if n == "1" {
		return n + " " + what
	}
	return n + " " + what + "s"
}
