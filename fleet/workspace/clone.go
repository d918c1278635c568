package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/repourl"
)

// clone is a repository of the worker's own with the commit that a task begins with. It is bare and
// shallow, and no task can reach it.
type clone struct {
	git   *git       // without credentials
	url   string     // without credentials
	base  string     // the commit
	files []treeFile // of the commit
	head  string     // the branch that a task begins on, such as refs/heads/main, or the commit
}

// baseRef is the name of the commit in a clone.
const baseRef = "refs/fleet/base"

// clone clones the repository of a task into dir: at a commit, or, if that is empty, at the ref
// that the task names.
func (w *workspaces) clone(ctx context.Context, t fleet.Task, dir, home, commit string) (*clone, error) {
	u, err := repourl.Parse(t.Repo.URL, w.o.AllowDir)
	if err != nil {
		return nil, permanentf("repo.url: %w", err)
	}
	if err := repourl.CheckRef(t.Repo.Ref); err != nil {
		return nil, permanentf("repo.ref: %w", err)
	}
	a, err := w.access(t, u)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.o.Limits.CloneTime,
		fmt.Errorf("workspace: cloning %s took more than %s", u.Text, w.o.Limits.CloneTime))
	defer cancel()
	c := &clone{git: newGit(dir, home), url: u.Text, base: commit}
	if err := c.git.run(ctx, nil, nil, "init", "-q", "--bare", "--template="); err != nil {
		return nil, err
	}
	f := fetcher{git: a.git(dir, home), url: u.Text, limits: w.o.Limits}
	if commit == "" {
		err = f.fetchRef(ctx, c, t.Repo.Ref)
	} else {
		err = f.fetchCommit(ctx, commit)
	}
	if err != nil {
		return nil, explain(err, u, t.Repo.Ref)
	}
	if c.base, err = c.git.output(ctx, "rev-parse", "--verify", baseRef+"^{commit}"); err != nil {
		return nil, permanentf("repo.ref %q of %s is not a commit", repourl.Shown(t.Repo.Ref), repourl.Shown(u.Text))
	}
	if !strings.HasPrefix(c.head, "refs/heads/") {
		c.head = c.base
	}
	return c, c.list(ctx, w.o.Limits)
}

// fetcher fetches into a clone.
type fetcher struct {
	git    *git
	url    string
	limits Limits
}

// fetchRef fetches the ref of a task, and sets the head of the clone.
func (f *fetcher) fetchRef(ctx context.Context, c *clone, ref string) error {
	if fullCommit(ref) {
		return f.fetchCommit(ctx, ref)
	}
	full, err := f.resolve(ctx, ref)
	if err != nil {
		return err
	}
	c.head = full
	return f.fetch(ctx, f.limits.Depth, "+"+full+":"+baseRef)
}

// resolve returns the full name of a ref at the remote repository. A branch comes before a tag.
func (f *fetcher) resolve(ctx context.Context, ref string) (string, error) {
	patterns := []string{"HEAD"}
	switch {
	case strings.HasPrefix(ref, "refs/"):
		patterns = []string{ref}
	case ref != "" && ref != "HEAD":
		patterns = []string{"refs/heads/" + ref, "refs/tags/" + ref}
	}
	out, err := f.git.output(ctx, append([]string{"ls-remote", "--symref", "--", f.url}, patterns...)...)
	if err != nil {
		return "", err
	}
	there := map[string]bool{}
	for line := range strings.SplitSeq(out, "\n") {
		value, name, ok := strings.Cut(line, "\t")
		if target, symbolic := strings.CutPrefix(value, "ref: "); ok && symbolic && name == "HEAD" &&
			strings.HasPrefix(target, "refs/heads/") {
			return target, repourl.CheckRef(target)
		}
		there[name] = ok
	}
	for _, name := range patterns {
		if there[name] {
			return name, nil
		}
	}
	if patterns[0] == "HEAD" {
		return "", permanentf("the repository %s has no commits on its default branch: name another in repo.ref",
			repourl.Shown(f.url))
	}
	return "", permanentf("repo.ref %q does not exist in %s", repourl.Shown(ref), repourl.Shown(f.url))
}

// fetchCommit fetches a commit. If the server refuses to send a single commit, it fetches all
// branches and tags.
func (f *fetcher) fetchCommit(ctx context.Context, commit string) error {
	err := f.fetch(ctx, f.limits.Depth, "+"+commit+":"+baseRef)
	failed, ok := errors.AsType[*gitError](err)
	if !ok || !unadvertised(failed.stderr) {
		return err
	}
	if err := f.fetch(ctx, 0, "+refs/heads/*:refs/fleet/all/heads/*",
		"+refs/tags/*:refs/fleet/all/tags/*"); err != nil {
		return err
	}
	if err := f.git.run(ctx, nil, nil, "update-ref", baseRef, commit); err != nil {
		return permanentf("the commit %s does not exist in %s, or no branch has it any more", commit,
			repourl.Shown(f.url))
	}
	return nil
}

// unadvertised reports whether a server does not have, or does not give, a commit.
func unadvertised(stderr string) bool {
	return strings.Contains(stderr, "not our ref") || strings.Contains(stderr, "unadvertised object")
}

// fetch fetches refs, and ends when the repository becomes too large.
func (f *fetcher) fetch(ctx context.Context, depth int, refs ...string) error {
	args := []string{"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
		"--no-auto-maintenance"}
	if depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(depth))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.watch(ctx, cancel)
	}()
	err := f.git.run(ctx, nil, nil, append(append(args, "--", f.url), refs...)...)
	cancel(nil)
	<-ended
	if err == nil {
		err = f.measure()
	}
	return err
}

// measure returns an error if the repository is larger than it may be.
func (f *fetcher) measure() error {
	if size := sizeOf(f.git.dir); size > f.limits.CloneBytes {
		return permanentf("the repository %s has more than %d bytes", repourl.Shown(f.url), f.limits.CloneBytes)
	}
	return nil
}

// watchEvery is the interval at which the size of a clone is measured.
const watchEvery = 500 * time.Millisecond

// watch cancels when the repository is larger than it may be.
func (f *fetcher) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := f.measure(); err != nil {
			cancel(err)
			return
		}
	}
}

// sizeOf returns the bytes of the files in a directory, as far as they can be counted while they
// change.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	}) // the function returns no error, because files come and go while git works
	return size
}

// list lists the files of the commit, or returns an error if they are more than a workspace may
// have.
func (c *clone) list(ctx context.Context, l Limits) (err error) {
	c.files, err = c.git.files(ctx, c.base)
	var bytes int64
	for _, f := range c.files {
		bytes += f.size
	}
	if errors.Is(err, errTooMuch) || len(c.files) > l.Files || bytes > l.TreeBytes {
		return permanentf("the files of commit %s have more than %d bytes, or are more than %d", c.base, l.TreeBytes,
			l.Files)
	}
	return err
}

// fullCommit reports whether a ref is the whole name of a commit.
func fullCommit(ref string) bool { return regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(ref) }

// explain returns an error of git with what to do about it. It is permanent if the same task would
// fail again.
func explain(err error, u repourl.URL, ref string) error {
	failed, ok := errors.AsType[*gitError](err)
	if !ok {
		return err
	}
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(strings.ToLower(failed.stderr), p) {
				return true
			}
		}
		return false
	}
	name := repourl.Shown(u.Text)
	switch {
	case says("returned error: 301", "returned error: 302", "returned error: 307", "returned error: 308"):
		return permanentf("%s has moved: name its new URL", name)
	case says("host key verification failed"):
		return permanentf("the ssh host key of %s is not known to the worker: add it to the known_hosts of the "+
			"credential or of the worker's user", name)
	case says("could not read username", "terminal prompts disabled", "authentication failed", "permission denied (",
		"returned error: 401", "returned error: 403", "could not read password"):
		return permanentf("%s does not let us in: it needs another credential, or does not exist: %s", name,
			lastLines(failed.stderr, 2))
	case says("repository not found", "' not found", "does not appear to be a git repository", "returned error: 404",
		"does not exist", "no such file"):
		return permanentf("there is no repository at %s", name)
	case says("couldn't find remote ref", "not our ref", "unadvertised object"):
		return permanentf("repo.ref %q does not exist in %s", repourl.Shown(ref), name)
	case says("ssl certificate problem", "certificate verification failed", "server certificate"):
		return permanentf("the certificate of %s is not trusted: %s", name, lastLines(failed.stderr, 1))
	case says("transport '", "not allowed", "not supported or disabled"):
		return permanentf("%s leads to a protocol other than https and ssh", name)
	}
	return fmt.Errorf("workspace: cloning %s: %w", name, failed)
}
