package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/worktree"
)

// field is a repository of a user's, and the directory for worktrees.
type field struct {
	*testing.T
	repo, home string
	environ    []string
}

func newField(t *testing.T) *field {
	t.Helper()
	peer.Need(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &field{T: t, repo: filepath.Join(dir, "repo"), home: filepath.Join(dir, "trees"),
		environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}}
	f.write(filepath.Join(dir, ".gitconfig"), "[user]\nname = A\nemail = a@example.com\n[init]\ndefaultBranch = main\n")
	f.write(f.repo+"/main.go", "package main\n")
	f.write(f.repo+"/sub/x.txt", "x\n")
	f.write(f.repo+"/.gitignore", ".env\nbuild/\n")
	f.git("init", "-q")
	f.git("add", ".")
	f.git("commit", "-q", "-m", "first")
	return f
}

func (f *field) write(name, text string) {
	f.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		f.Fatal(err)
	}
}

// git runs git in the repository, or in the directory of -C.
func (f *field) git(args ...string) string {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.repo, f.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *field) options(name string) worktree.Options {
	return worktree.Options{Dir: f.repo + "/sub", Name: name, Home: f.home, Environ: f.environ}
}

func (f *field) open(name string) *worktree.Worktree {
	f.Helper()
	w, err := worktree.Open(f.Context(), f.options(name))
	if err != nil {
		f.Fatal(err)
	}
	return w
}

// closed closes a worktree and checks whether it is kept for a reason.
func (f *field) closed(w *worktree.Worktree, reason string) {
	f.Helper()
	if w.Close(f.Context()); w.Kept != reason {
		f.Errorf("kept because %q; want %q", w.Kept, reason)
	}
	if _, err := os.Stat(w.Top); (err == nil) != (reason != "") {
		f.Errorf("%s: %v", w.Top, err)
	}
	branches := f.git("branch", "--list", "--format=%(refname:short)", w.Branch)
	if (branches == w.Branch) != (reason != "") {
		f.Errorf("branches %q", branches)
	}
}

// left lists what the directory for worktrees has.
func (f *field) left() (names []string) {
	f.Helper()
	list, err := filepath.Glob(f.home + "/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range list {
		names = append(names, filepath.Base(name))
	}
	return names
}

// A worktree without changes goes, with its branch.
func TestO8_WithoutChanges(t *testing.T) {
	f := newField(t)
	f.write(f.repo+"/main.go", "package other\n")
	w := f.open("a")
	if !w.New || w.From != f.repo || filepath.Base(w.Dir) != "sub" || w.Uncommitted != 1 {
		t.Errorf("%+v", w)
	}
	if data, err := os.ReadFile(w.Top + "/main.go"); err != nil || string(data) != "package main\n" {
		t.Errorf("%q, %v", data, err)
	}
	f.write(w.Top+"/build/out", "ignored")
	f.closed(w, "")
	if left := f.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if trees := f.git("worktree", "list"); strings.Contains(trees, "\n") {
		t.Errorf("worktrees: %s", trees)
	}
}

// What somebody could miss keeps a worktree. The next one with the name goes on in it, and when its
// commits are merged, it goes.
func TestO8_Changes(t *testing.T) {
	f := newField(t)
	w := f.open("a")
	f.write(w.Top+"/new.go", "package main\n")
	f.closed(w, "it has 1 file with changes that are not committed")
	w = f.open("a")
	if w.New {
		t.Error("it is new")
	}
	f.git("-C", w.Top, "add", ".")
	f.git("-C", w.Top, "commit", "-q", "-m", "second")
	f.write(w.Top+"/main.go", "package x\n")
	f.write(w.Top+"/more.go", "package x\n")
	f.closed(w, "it has 1 commit, and 2 files with changes that are not committed")
	w = f.open("a")
	f.git("-C", w.Top, "stash", "-q", "-u")
	f.closed(w, "it has 1 commit")
	w = f.open("a")
	f.git("-C", w.Top, "checkout", "-q", "--detach")
	f.closed(w, "another branch or commit is checked out")
	w = f.open("a")
	f.git("-C", w.Top, "checkout", "-q", w.Branch)
	f.git("merge", "-q", "--ff-only", w.Branch)
	f.closed(w, "")
}

// Two sessions can be in one worktree. The last one removes it.
func TestO8_UsedByTwo(t *testing.T) {
	f := newField(t)
	a, b := f.open("a"), f.open("a")
	f.closed(a, "another session uses it")
	f.closed(b, "")
}

// Of sessions that begin at the same time with one name, one makes the worktree, and the others
// wait for it.
func TestO8_MadeOnce(t *testing.T) {
	f := newField(t)
	const sessions = 4
	opened := make([]*worktree.Worktree, sessions)
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			w, err := worktree.Open(t.Context(), f.options("a"))
			if err != nil {
				t.Error(err)
				return
			}
			if data, err := os.ReadFile(w.Top + "/sub/x.txt"); err != nil || string(data) != "x\n" {
				t.Errorf("%q, %v", data, err)
			}
			opened[i] = w
		})
	}
	all.Wait()
	made, kept := 0, 0
	for _, w := range opened {
		if w == nil {
			t.FailNow()
		}
		if w.New {
			made++
		}
		if w.Close(t.Context()); w.Kept != "" {
			kept++
		}
	}
	if made != 1 || kept != sessions-1 || len(f.left()) > 0 {
		t.Errorf("made by %d, kept by %d; left %q", made, kept, f.left())
	}
}

// A worktree that was removed by hand is made again, on its branch.
func TestO8_RemovedByHand(t *testing.T) {
	f := newField(t)
	w := f.open("a")
	f.write(w.Top+"/new.go", "package main\n")
	f.git("-C", w.Top, "add", ".")
	f.git("-C", w.Top, "commit", "-q", "-m", "second")
	f.closed(w, "it has 1 commit")
	if err := os.RemoveAll(w.Top); err != nil {
		t.Fatal(err)
	}
	w = f.open("a")
	if data, err := os.ReadFile(w.Top + "/new.go"); err != nil || string(data) != "package main\n" {
		t.Errorf("%q, %v", data, err)
	}
	f.closed(w, "it has 1 commit")
}

// A repository can want ignored files in its worktrees: no others are copied, and no links.
func TestO8_IgnoredFiles(t *testing.T) {
	f := newField(t)
	f.write(f.repo+"/"+worktree.Include, ".env\nuntracked.txt\nbuild/keep\n*.lnk\n")
	f.write(f.repo+"/.env", "KEY=1\n")
	f.write(f.repo+"/untracked.txt", "x\n")
	f.write(f.repo+"/build/keep", "x\n")
	f.write(f.repo+"/build/other", "x\n")
	if err := os.Symlink("/etc/passwd", f.repo+"/build/a.lnk"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.repo+"/.env", 0o600); err != nil {
		t.Fatal(err)
	}
	w := f.open("a")
	if want := []string{".env", "build/keep"}; !slices.Equal(w.Copied, want) || w.NotCopied != nil {
		t.Errorf("copied %q, %v", w.Copied, w.NotCopied)
	}
	if info, err := os.Stat(w.Top + "/.env"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	f.closed(w, "")
}

// Nothing that the repository has is run, neither when a worktree is made nor at its end.
func TestO8_HostileRepositories(t *testing.T) {
	canary := "echo run >>" + filepath.Join(t.TempDir(), "canary")
	name := strings.Fields(strings.TrimPrefix(canary, "echo run >>"))[0]
	f := newField(t)
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		f.write(f.repo+"/.git/hooks/"+hook, "#!/bin/sh\n"+canary+"\n")
		if err := os.Chmod(f.repo+"/.git/hooks/"+hook, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := f.open("a")
	f.closed(w, "")
	w = f.open("a")
	f.git("config", "filter.x.smudge", canary)
	f.git("config", "filter.x.clean", canary)
	f.write(f.repo+"/.git/info/attributes", "* filter=x\n")
	if w.Close(t.Context()); !strings.Contains(w.Kept, "filter.x.") {
		t.Errorf("kept because %q", w.Kept)
	}
	if _, err := worktree.Open(t.Context(), f.options("b")); err == nil || !strings.Contains(err.Error(), "filter.x.") {
		t.Errorf("opened with a filter of the repository: %v", err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a program of the repository has run")
	}
}

// The filter of Git LFS is the user's. It starts nothing that the repository names, and downloads
// nothing from where that says.
func TestO8_LargeFiles(t *testing.T) {
	for _, name := range []string{"lfs.customtransfer.x.path", "lfs.extension.x.smudge", "lfs.Extension.x.smudge"} {
		f := newField(t)
		f.git("config", name, "touch canary")
		if w, err := worktree.Open(t.Context(), f.options("a")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
	f := newField(t)
	f.write(f.repo+"/.gitattributes", "*.txt filter=lfs\n")
	f.write(f.repo+"/.lfsconfig", "[lfs]\nurl = https://example.com\n")
	f.git("add", ".")
	f.git("commit", "-q", "-m", "large files")
	f.git("config", "lfs.url", "ssh://example.com")
	f.git("config", "core.sshCommand", "touch canary")
	f.git("config", "--global", "filter.lfs.smudge", `echo "$GIT_SSH_COMMAND $(git config lfs.url)"`)
	w := f.open("a")
	if text, err := os.ReadFile(w.Dir + "/x.txt"); err != nil || string(text) != "false file:///dev/null\n" {
		t.Errorf("the filter runs with %q, %v", text, err)
	}
}

// Where the user wants relative paths in worktrees, git would write to the configuration of the
// repository, which it cannot.
func TestO8_RelativePaths(t *testing.T) {
	f := newField(t)
	f.write(f.repo+"/.gitattributes", "*.txt filter=x\n")
	f.git("add", ".")
	f.git("commit", "-q", "-m", "a filter")
	f.git("config", "--global", "worktree.useRelativePaths", "true")
	f.git("config", "--global", "filter.x.smudge", "git config worktree.useRelativePaths")
	w := f.open("a")
	if text, err := os.ReadFile(w.Dir + "/x.txt"); err != nil || string(text) != "false\n" {
		t.Errorf("git is told %q, %v", text, err)
	}
}

// Hooks of the user's configuration, which versions of git from 2.54 on run, may name files of the
// repository.
func TestO8_ConfiguredHooks(t *testing.T) {
	f := newField(t)
	f.write(f.repo+"/.gitattributes", "*.txt filter=x\n")
	f.write(f.repo+"/hook.sh", "echo >> '"+f.home+"/ran'\n")
	f.git("add", ".")
	f.git("commit", "-q", "-m", "a filter and a hook")
	f.git("config", "--global", "filter.x.smudge", "git config --get-all hook.a=b.enabled")
	f.git("config", "--global", "hook.a=b.command", "sh ./hook.sh")
	f.git("config", "--global", "hook.a=b.event", "reference-transaction")
	f.git("config", "--global", "--add", "hook.a=b.event", "post-index-change")
	f.git("config", "--global", "hook.a=b.enabled", "true")
	w := f.open("a")
	if text, err := os.ReadFile(w.Dir + "/x.txt"); err != nil || string(text) != "true\nfalse\n" {
		t.Errorf("git is told %q, %v", text, err)
	}
	w.Close(t.Context())
	if _, err := os.Stat(f.home + "/ran"); err == nil {
		t.Error("a hook of the configuration has run")
	}
}

// A filter of the user's that fails leaves neither a worktree nor a branch.
func TestO8_FilesThatCannotBeWritten(t *testing.T) {
	f := newField(t)
	f.write(f.repo+"/.gitattributes", "*.txt filter=x\n")
	f.git("add", ".gitattributes")
	f.git("commit", "-q", "-m", "a filter")
	f.git("config", "--global", "filter.x.smudge", "false")
	f.git("config", "--global", "filter.x.required", "true")
	if w, err := worktree.Open(t.Context(), f.options("a")); err == nil || !strings.Contains(err.Error(), "smudge") {
		t.Errorf("%+v, %v", w, err)
	}
	if left := f.left(); !slices.Equal(left, []string{"a.lock"}) {
		t.Errorf("left: %q", left)
	}
	if branches := f.git("branch", "--list", "attractor/*"); branches != "" {
		t.Errorf("branches: %s", branches)
	}
}

// A commit can have a link where the work tree has the directory of the session, or one above it.
func TestO8_LinkInThePlaceOfTheDirectory(t *testing.T) {
	f := newField(t)
	f.write(filepath.Dir(f.repo)+"/outside/deep/x.txt", "x\n")
	for link, dir := range map[string]string{"at": "at", "over": "over/deep"} {
		if err := os.Symlink(filepath.Dir(f.repo)+"/outside", f.repo+"/"+link); err != nil {
			t.Fatal(err)
		}
		f.git("add", link)
		f.git("commit", "-q", "-m", "a link")
		if err := os.Remove(f.repo + "/" + link); err != nil {
			t.Fatal(err)
		}
		f.write(f.repo+"/"+dir+"/x.txt", "x\n")
		o := f.options(link)
		o.Dir = f.repo + "/" + dir
		w, err := worktree.Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "a link leads from "+dir) {
			t.Errorf("%s: %+v, %v", dir, w, err)
		}
	}
	if left := f.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// Git writes a branch, and the log of its changes, where links of the repository lead.
func TestO8_LinksInTheRepository(t *testing.T) {
	for _, link := range []string{"logs", "logs/refs", "logs/refs/heads", "logs/refs/heads/attractor",
		"logs/refs/heads/attractor/a", "refs/heads/attractor", "refs/heads/attractor/a"} {
		f := newField(t)
		f.git("checkout", "-q", "--detach")
		outside := t.TempDir()
		if path.Base(link) == "a" {
			outside += "/file"
			f.write(outside, "mine\n")
		}
		place := f.repo + "/.git/" + link
		err := errors.Join(os.RemoveAll(place), os.MkdirAll(filepath.Dir(place), 0o755), os.Symlink(outside, place))
		if err != nil {
			t.Fatal(err)
		}
		w, err := worktree.Open(t.Context(), f.options("a"))
		if err == nil || !strings.Contains(err.Error(), "has a symbolic link") {
			t.Errorf("%s: %+v, %v", link, w, err)
		}
		if list, err := os.ReadDir(outside); err == nil && len(list) > 0 {
			t.Errorf("%s: written outside: %v", link, list)
		}
		if text, err := os.ReadFile(outside); err == nil && string(text) != "mine\n" {
			t.Errorf("%s: written outside: %s", link, text)
		}
	}
}

func TestO8_Refused(t *testing.T) {
	f := newField(t)
	for _, name := range []string{"", ".", "..", "-x", "a/b", "a..b", "x.lock", "a b", strings.Repeat("x", 65)} {
		if _, err := worktree.Open(t.Context(), f.options(name)); !errors.Is(err, worktree.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for want, o := range map[string]worktree.Options{
		"is not in a git repository": {Dir: t.TempDir(), Name: "a", Home: f.home, Environ: f.environ},
		"needs git":                  {Dir: f.repo, Name: "a", Home: f.home, Environ: []string{"PATH=sub"}},
	} {
		if _, err := worktree.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	w := f.open("b")
	f.closed(w, "")
	f.write(w.Top+"/mine", "x")
	if _, err := worktree.Open(t.Context(), f.options("b")); err == nil || !strings.Contains(err.Error(),
		"no worktree of") {
		t.Errorf("a directory of the user's: %v", err)
	}
	f.write(f.repo+"/new/x", "x")
	o := f.options("c")
	o.Dir = f.repo + "/new"
	if _, err := worktree.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no directory new") {
		t.Errorf("a directory that is not committed: %v", err)
	}
	if left := f.left(); !slices.Equal(left, []string{"b", "b.lock"}) {
		t.Errorf("left: %q", left)
	}
	f.git("update-ref", "-d", "HEAD")
	if _, err := worktree.Open(t.Context(), f.options("d")); err == nil || !strings.Contains(err.Error(),
		"no commit yet") {
		t.Errorf("a repository without commits: %v", err)
	}
}

// The names of worktrees are those of one repository, also asked for from one of its worktrees.
func TestO8_Names(t *testing.T) {
	f, other := newField(t), newField(t)
	other.home = f.home
	one := f.open("a-1")
	for _, w := range []*worktree.Worktree{one, f.open("a-2"), f.open("b-1"), other.open("a-3")} {
		defer w.Close(t.Context())
	}
	for _, dir := range []string{f.repo + "/sub", one.Top} {
		o := f.options("a-")
		if o.Dir = dir; !slices.Equal(worktree.Names(o), []string{"a-1", "a-2"}) {
			t.Errorf("%s has %v", dir, worktree.Names(o))
		}
	}
	if names := worktree.Names(worktree.Options{Dir: t.TempDir(), Home: f.home}); names != nil {
		t.Errorf("outside of a repository: %v", names)
	}
}
