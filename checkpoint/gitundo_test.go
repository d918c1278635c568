//go:build unix

package checkpoint_test

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/internal/peer"
)

// repository is a world whose tree is in a repository.
type repository struct {
	*world
	git, gitDir string
}

// newRepository returns a repository with a commit.
func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{world: testWorld(t), git: peer.Need(t, "git")}
	r.run("init", "-q", "-b", "main")
	r.gitDir = filepath.Join(r.dir, ".git")
	r.put("file", "one\n")
	r.commit("first")
	return r
}

// run runs git and returns what it prints.
func (r *repository) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(r.git, append([]string{"-c", "user.name=N", "-c", "user.email=e@example.com"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) commit(subject string) string {
	r.t.Helper()
	r.run("add", "-A")
	r.run("commit", "-q", "-m", subject)
	return r.run("rev-parse", "HEAD")
}

// state returns the state of the repository as git sees it.
func (r *repository) state() *checkpoint.GitState {
	r.t.Helper()
	head, err := os.ReadFile(filepath.Join(r.gitDir, "HEAD"))
	r.must(err)
	s := &checkpoint.GitState{Dir: r.gitDir, Head: strings.TrimSpace(string(head))}
	if commit, err := exec.Command(r.git, "-C", r.dir, "rev-parse", "-q", "--verify", "HEAD").Output(); err == nil {
		s.Commit = strings.TrimSpace(string(commit))
	}
	if index, err := os.ReadFile(filepath.Join(r.gitDir, "index")); err == nil {
		batch, err := r.store.Begin(r.t.Context())
		r.must(err)
		s.Index, _, err = batch.Put(r.t.Context(), bytes.NewReader(index))
		r.must(err)
	}
	return s
}

// call does something as the session, which may move the repository.
func (r *repository) call(do func()) checkpoint.Point {
	r.t.Helper()
	before := r.state()
	p := r.session(do)
	p.Git, p.GitAfter = before, r.state()
	r.points[len(r.points)-1] = p
	return p
}

// inReftable makes the points those of a repository with reftables.
func (r *repository) inReftable() {
	for _, s := range []*checkpoint.GitState{r.points[0].Git, r.points[0].GitAfter} {
		s.Head, s.Commit = "ref: refs/heads/.invalid", ""
	}
}

// check reports whether git is content with the repository, and sees nothing changed.
func (r *repository) check(head, branch string) {
	r.t.Helper()
	if got := r.run("rev-parse", "HEAD"); got != head {
		r.t.Errorf("HEAD is %s, want %s", got, head)
	}
	if got := r.run("branch", "--show-current"); got != branch {
		r.t.Errorf("the branch is %q, want %q", got, branch)
	}
	if got := r.run("status", "--porcelain"); got != "" {
		r.t.Errorf("git sees changes:\n%s", got)
	}
	r.run("fsck", "--no-dangling")
	if locks, err := filepath.Glob(filepath.Join(r.gitDir, "*.lock")); err != nil || len(locks) > 0 {
		r.t.Errorf("lock files are left: %v, %v", locks, err)
	}
}

// Commits, branches and what was staged are taken back only on request, and the session's commits
// can still be found.
func TestO4_Repository(t *testing.T) {
	for name, session := range map[string]func(r *repository){
		"commits": func(r *repository) { r.call(func() { r.put("file", "two\n"); r.commit("second") }) },
		"a branch": func(r *repository) {
			r.call(func() { r.put("file", "two\n"); r.commit("second") })
			r.call(func() { r.run("switch", "-q", "-c", "topic"); r.put("new", "x"); r.commit("third") })
		},
		"packed refs": func(r *repository) {
			r.call(func() { r.put("file", "two\n"); r.commit("second"); r.run("pack-refs", "--all") })
		},
		"detached": func(r *repository) {
			r.call(func() { r.run("checkout", "-q", "--detach"); r.put("file", "two\n"); r.commit("second") })
		},
		"a branch that is removed": func(r *repository) {
			r.call(func() {
				r.run("switch", "-q", "-c", "topic")
				r.put("new", "x")
				r.commit("second")
				r.run("branch", "-q", "-D", "main")
			})
		},
		"staged": func(r *repository) { r.call(func() { r.put("file", "two\n"); r.run("add", "file") }) },
		"reset": func(r *repository) {
			r.call(func() {
				r.put("file", "two\n")
				r.commit("second")
				r.run("commit", "-q", "--amend", "-m", "amended")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			head := r.run("rev-parse", "HEAD")
			session(r)
			after := r.run("rev-parse", "HEAD")
			state := *r.state()
			r.undo(checkpoint.PlanOptions{}, r.points...)
			if *r.state() != state {
				t.Error("the repository was changed without request")
			}
			result := r.undo(checkpoint.PlanOptions{Git: r.points}, r.points...)
			r.check(head, "main")
			if after != head && !strings.Contains(strings.Join(result.Git, "\n"), after) {
				t.Errorf("the last commit is not named: %q", result.Git)
			}
			back := result.Point
			r.undo(checkpoint.PlanOptions{Git: []checkpoint.Point{back}}, back)
			if got := r.run("rev-parse", "HEAD"); got != after {
				t.Errorf("after the undo of the undo HEAD is %s, want %s", got, after)
			}
		})
	}
}

// A repository that somebody else has moved since, or uses at the moment, is left alone, and so is
// its index.
func TestO4_RepositoryOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		others func(r *repository)
		told   string
	}{
		"a later commit": {func(r *repository) { r.put("other", "x"); r.commit("by somebody") },
			"refs/heads/main was moved by somebody else"},
		"another branch": {func(r *repository) { r.run("switch", "-q", "-c", "theirs") },
			"HEAD was moved by somebody else"},
		"staged": {func(r *repository) { r.put("other", "x"); r.run("add", "other") },
			"the index was changed by somebody else"},
		"a link": {func(r *repository) {
			ref, hook := filepath.Join(r.gitDir, "refs/heads/main"), filepath.Join(r.gitDir, "hooks/pre-commit")
			r.must(errors.Join(os.Rename(ref, hook), os.Symlink(hook, ref)))
		}, "it is a link to "},
		"a lock": {func(r *repository) { r.put(".git/refs/heads/main.lock", "") },
			"git is running, or was ended by a kill"},
		"no commit before": {func(r *repository) { r.points[0].Git.Commit = "" },
			"refs/heads/main had no commit before"},
		"reftable": {func(r *repository) { r.put(".git/HEAD", "ref: refs/heads/.invalid\n"); r.inReftable() },
			"a form that is not known here"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.call(func() { r.put("file", "two\n"); r.commit("second") })
			c.others(r)
			state := *r.state()
			result := r.undo(checkpoint.PlanOptions{Git: r.points}, r.points...)
			now := *r.state()
			if name == "staged" { // the commit is taken back, what somebody has staged is not
				state.Commit = now.Commit
			}
			if now != state || !strings.Contains(strings.Join(result.Git, "\n"), c.told) {
				t.Errorf("%+v, want %+v; told: %q", now, state, result.Git)
			}
		})
	}
}

// Git needs no configuration in a repository.
func TestO4_IndexWithoutConfig(t *testing.T) {
	r := newRepository(t)
	r.must(os.Remove(filepath.Join(r.gitDir, "config")))
	before := *r.state()
	r.call(func() { r.put("file", "two\n"); r.run("add", "file") })
	result := r.undo(checkpoint.PlanOptions{Git: r.points}, r.points...)
	if now := *r.state(); now != before {
		t.Errorf("%+v, want %+v; told: %q", now, before, result.Git)
	}
}

// An index that names a hook is not put back: git would write the hook when its user has it put
// back what is missing.
func TestO4_IndexThatNamesAHook(t *testing.T) {
	r := newRepository(t)
	r.run("update-index", "--add", "--cacheinfo", "100755,"+r.run("hash-object", "-w", "file")+",xgit/hooks/x")
	index := filepath.Join(r.gitDir, "index")
	data, err := os.ReadFile(index)
	r.must(err)
	data = bytes.Replace(data[:len(data)-sha1.Size], []byte("xgit/"), []byte(".git/"), 1)
	sum := sha1.Sum(data)
	r.must(os.WriteFile(index, append(data, sum[:]...), 0o644))
	r.call(func() { r.must(os.Remove(index)); r.run("read-tree", "HEAD"); r.put("file", "two\n") })
	state := *r.state()
	result := r.undo(checkpoint.PlanOptions{Git: r.points}, r.points...)
	if now, told := *r.state(), strings.Join(result.Git, "\n"); now != state ||
		!strings.Contains(told, "names a file in .git") {
		t.Errorf("%+v, want %+v; told: %s", now, state, told)
	}
}

// HEAD stays where it is if the branch that it led to cannot be put back: the session has moved
// that in the call that left it, or its name is taken by a directory of refs.
func TestO4_HeadStaysWithItsBranch(t *testing.T) {
	for name, c := range map[string]struct {
		session func(r *repository)
		told    string
	}{
		"moved": {func(r *repository) {
			r.put("file", "two\n")
			r.commit("second")
			r.run("switch", "-q", "-c", "topic")
		}, "git update-ref refs/heads/main "},
		"taken": {func(r *repository) {
			r.run("switch", "-q", "-c", "topic")
			r.run("branch", "-q", "-m", "main", "main/x")
		}, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.call(func() { c.session(r) })
			state := *r.state()
			result := r.undo(checkpoint.PlanOptions{Git: r.points}, r.points...)
			if now, told := *r.state(), strings.Join(result.Git, "\n"); now != state ||
				!strings.Contains(told, c.told) || !strings.Contains(told, "HEAD is left, too") {
				t.Errorf("%+v, want %+v; told: %s", now, state, told)
			}
		})
	}
}

// In a linked work tree HEAD and the index are its own, and the branches are those of the whole
// repository.
func TestO4_LinkedWorkTree(t *testing.T) {
	r := newRepository(t)
	main := r.run("rev-parse", "HEAD")
	w := testWorld(t)
	w.must(os.Remove(w.dir))
	r.run("worktree", "add", "-q", "-b", "linked", w.dir)
	linked := &repository{world: w, git: r.git}
	linked.gitDir = linked.run("rev-parse", "--absolute-git-dir")
	w.env = localWith(t, w.dir, r.dir)
	linked.call(func() { linked.put("file", "two\n"); linked.commit("second") })
	linked.undo(checkpoint.PlanOptions{Git: linked.points}, linked.points...)
	linked.check(main, "linked")
	r.check(main, "main")
}
