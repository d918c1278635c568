package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// work is what people do with a repository.
const work = `set -e
echo two >>f; git commit -qam second; git diff HEAD; git log --oneline HEAD >/dev/null; git reset -q HEAD
git switch -qc topic; echo topic >t; git add -A; git commit -qm topic; git switch -q -; git branch -v >/dev/null
echo three >>f; git stash -q; git stash pop -q; git commit -qam third; git rebase -q HEAD topic; git tag v1; git gc -q
test -z "$(git status --porcelain)"
`

// forms are the ways in which a repository lies in a root. Each returns the directory to work in.
var forms = map[string]func(t *testing.T, root string) string{
	"at the top": func(t *testing.T, root string) string {
		repository(t, root)
		return ""
	},
	"nested": func(t *testing.T, root string) string {
		write(t, filepath.Join(root, "a/node_modules/b/f"), "one\n")
		repository(t, filepath.Join(root, "a/node_modules/b"))
		return "a/node_modules/b"
	},
	"with directories named refs": func(t *testing.T, root string) string {
		write(t, filepath.Join(root, "refs/f"), "one\n")
		repository(t, root)
		git(t, root, "add", "-A")
		git(t, root, "commit", "-qm", "refs")
		return ""
	},
	"separate": func(t *testing.T, root string) string {
		git(t, root, "init", "-q", "--separate-git-dir", "store/s", "w")
		repository(t, filepath.Join(root, "w"))
		return "w"
	},
	"a work tree of .bare": func(t *testing.T, root string) string {
		repository(t, filepath.Join(root, "first"))
		git(t, root, "clone", "-q", "--bare", "first", ".bare")
		write(t, filepath.Join(root, ".git"), "gitdir: ./.bare\n")
		git(t, root, "worktree", "add", "-q", "main", "main")
		return "main"
	},
	"a work tree in the work tree": func(t *testing.T, root string) string {
		repository(t, root)
		git(t, root, "worktree", "add", "-q", "tree")
		return "tree"
	},
}

// Ordinary work goes on in repositories of all forms, and nothing of the sandbox is left in them.
func TestL4_RepositoriesOfOtherForms(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"a/node_modules/b", "w", "first", "store"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			dir := form(t, root)
			b := newBox(t, root, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
			b.succeeds(t, "cd ./"+dir+"\n"+work)
			b.end(t)
			err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				if info, err := d.Info(); err != nil || info.Mode()&os.ModeSticky != 0 {
					t.Errorf("left: %s, %v", name, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// New repositories can be made where there is none above or below, and where the user may run git
// later they cannot.
func TestL4_NewRepositories(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a/b/f"), "one\n")
	repository(t, filepath.Join(dir, "a/b"))
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "git init -q new && cd new && echo one >f && git add f && git commit -qm first &&\n"+
		"git init -q --bare ../bare")
	for _, script := range []string{"git init -q .", "git init -q a", "git init -q --bare .",
		"git init -q --bare a", "git init -q --separate-git-dir x ."} {
		b.fails(t, script)
	}
	b.end(t)
	git(t, dir, "init", "-q")
	if out := git(t, dir, "status", "--porcelain"); out != "?? a/\n?? bare/\n?? new/\n" {
		t.Error(out)
	}
}

// A linked .git cannot be covered, and a seventeenth repository would take too many mounts: they
// are read-only, and the session says so.
func TestL4_FrozenRepositories(t *testing.T) {
	dir := t.TempDir()
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q") {
		write(t, filepath.Join(dir, name, "f"), "one\n")
		git(t, filepath.Join(dir, name), "init", "-q")
	}
	git(t, dir, "init", "-q", "--bare", "deep/bare")
	git(t, dir, "init", "-q", "linked")
	if err := os.Rename(filepath.Join(dir, "linked/.git"), filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../store", filepath.Join(dir, "linked/.git")); err != nil {
		t.Fatal(err)
	}
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "git -C a add f && echo x >q/f && git -C q status && git -C linked status")
	for _, script := range []string{"git -C q add f", "rm q/.git/HEAD", "echo x >linked/f", "rm linked/.git",
		"mv linked l", "git -C linked config a.b c",
		"rm deep/bare/HEAD", "git -C deep/bare branch x"} {
		b.fails(t, script)
	}
	said := b.sandbox.Confine(env.LocalOptions{}).Confined
	for _, name := range []string{"q/.git", "linked", "deep/bare"} {
		if !slices.Contains(said, "read-only "+filepath.Join(dir, name)) {
			t.Errorf("%s is not named: %q", name, said)
		}
	}
}

// Directories that a command has made deeper than any path do not keep a session from starting, nor
// does a repository far down in them: what is deep is read-only, and the session says so.
func TestL4_DeepDirectories(t *testing.T) {
	dir := t.TempDir()
	newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{}).succeeds(t,
		"mkdir -p "+strings.Repeat("d/", 300)+" && cd "+strings.Repeat("d/", 300)+" && mkdir objects refs && >HEAD")
	dig(t, filepath.Join(dir, strings.Repeat("d/", 300)), 3000)
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "echo x >d/f")
	b.fails(t, "echo x >"+strings.Repeat("d/", 70)+"f")
	if said := b.sandbox.Confine(env.LocalOptions{}).Confined; !slices.ContainsFunc(said, func(line string) bool {
		return strings.HasPrefix(line, "read-only "+filepath.Join(dir, "d/d/d"))
	}) {
		t.Errorf("it is not named: %q", said)
	}
}

// However many directories are that deep, they do not keep a session from starting.
func TestL4_ManyDeepDirectories(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("d/", 64))
	for i := range 10_000 {
		if err := os.MkdirAll(filepath.Join(deep, strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "echo x >d/f")
	b.fails(t, "echo x >"+strings.Repeat("d/", 64)+"1/f")
}

// More repositories than bubblewrap can protect are an error that says so.
func TestL4_TooManyRepositories(t *testing.T) {
	dir := t.TempDir()
	for i := range 4000 {
		name := filepath.Join(dir, "r"+strconv.Itoa(i))
		if err := errors.Join(os.MkdirAll(filepath.Join(name, "objects"), 0o755),
			os.Mkdir(filepath.Join(name, "refs"), 0o755),
			os.WriteFile(filepath.Join(name, "HEAD"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	peer.Need(t, "bwrap")
	s, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace, Environ: user(t), State: t.TempDir()})
	if err == nil {
		t.Fatal(s.Close())
	}
	if !strings.Contains(err.Error(), "remove repositories") ||
		!strings.Contains(err.Error(), filepath.Join(dir, "r")) {
		t.Error(err)
	}
}

// A session that begins while a command of another one runs takes no placeholder for a repository
// or a file of the user's.
func TestL4_NestedRepositoriesOfTwoSessions(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a/b/f"), "one\n")
	git(t, filepath.Join(dir, "a/b"), "init", "-q")
	one := newBox(t, dir, sandbox.Options{State: state, Environ: user(t)}, env.LocalOptions{})
	p, out := one.start(t, env.Command{Script: "echo ready; read x", Stdin: true})
	out.until(t, "ready")
	two := newBox(t, dir, sandbox.Options{State: state, Environ: user(t)}, env.LocalOptions{})
	if _, err := p.Stdin().Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.end(t)
	for _, name := range []string{"refs", "a/refs", "a/.git", ".git", "a/b/refs", "a/b/commondir"} {
		two.fails(t, "rm -rf "+name+"; mkdir -p "+name+"/x")
	}
	two.succeeds(t, "mkdir objects a/objects a/b/objects && git -C a/b add f")
	two.end(t)
	if left := list(t, dir) + list(t, dir+"/a") + list(t, dir+"/a/b"); left != "a\nobjects"+"b\nobjects"+
		".git\nf\nobjects" {
		t.Errorf("left: %s", left)
	}
}
