package git_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
)

// tree holds a directory in which git works.
type tree struct {
	testing.TB
	dir string
}

func newTree(t testing.TB, init ...string) *tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &tree{t, filepath.Join(dir, "top")}
	w.must(os.Mkdir(w.dir, 0o755))
	w.git(append([]string{"init", "-q", "--template=", "-b", "main"}, init...)...)
	return w
}

func (w *tree) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *tree) put(name, content string) {
	w.Helper()
	file := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(file), 0o755))
	w.must(os.WriteFile(file, []byte(content), 0o644))
}

// command returns a git command without the user's configuration.
func (w *tree) command(args ...string) *exec.Cmd {
	w.Helper()
	peer.Need(w, "git")
	cmd := exec.Command("git", append([]string{"-C", w.dir, "-c", "protocol.file.allow=always", "-c",
		"core.fsync=none"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T",
		"GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org")
	return cmd
}

func (w *tree) git(args ...string) string {
	w.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (w *tree) commit(subject string) {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", subject)
}

// look calls git.Look for a directory, as the root package does.
func (w *tree) look(below string) git.Snapshot {
	w.Helper()
	dir := filepath.Join(w.dir, below)
	return w.lookWith(dir, git.Roots(dir))
}

func (w *tree) lookWith(dir string, roots []string) git.Snapshot {
	w.Helper()
	e, err := env.NewLocal(dir, env.LocalOptions{Roots: roots, Containment: env.ContainGroup})
	w.must(err)
	defer func() { w.must(e.Close()) }()
	return git.Look(context.Background(), e)
}

// asGit returns the snapshot according to git.
func (w *tree) asGit() git.Snapshot {
	w.Helper()
	s := git.Snapshot{Root: w.dir, Counted: true}
	for line := range strings.Lines(w.git("log", "-10", "--encoding=UTF-8", "--format=%s")) {
		s.Subjects = append(s.Subjects, strings.TrimSuffix(line, "\n"))
	}
	fields := strings.Split(w.git("--no-optional-locks", "status", "--porcelain", "-z", "--branch",
		"--untracked-files=all", "--find-renames=100%"), "\x00")
	for i := 0; i < len(fields)-1; i++ {
		branch, isBranch := strings.CutPrefix(fields[i], "## ")
		if isBranch {
			if !strings.HasPrefix(branch, "HEAD ") {
				s.Branch, _, _ = strings.Cut(branch, "...")
			}
			continue
		}
		change := git.Change{Path: strings.TrimSuffix(fields[i][3:], "/"),
			Untracked: strings.HasPrefix(fields[i], "??")}
		s.Changed = append(s.Changed, change)
		if change.Untracked {
			s.Untracked++
		} else {
			s.Modified++
		}
		if strings.HasPrefix(fields[i], "R") {
			i++ // the old name of what was moved
		}
	}
	s.Changed = s.Changed[:min(20, len(s.Changed)):min(20, len(s.Changed))]
	return s
}

// check compares the results of look and asGit.
func (w *tree) check(what string) {
	w.Helper()
	if diff := gocmp.Diff(w.asGit(), w.look("")); diff != "" {
		w.Errorf("%s: git says -, we say +\n%s", what, diff)
	}
}

// history makes so many commits with files in directories that a pack has chains of deltas. The
// objects are loose.
func (w *tree) history() {
	w.Helper()
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	var stream strings.Builder
	data := func(text string) { fmt.Fprintf(&stream, "data %d\n%s\n", len(text), text) }
	for i := range 14 {
		lines[i*20] = fmt.Sprint("changed by ", i)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter T <t@example.org> %d +0100\n", 1_700_000_000+i)
		data(fmt.Sprint("commit number ", i, "\n\nbody"))
		for j := range 60 * (1 - min(i, 1)) { // a tree that is large enough for deltas
			fmt.Fprintf(&stream, "M 100644 inline many/more%d\n", j)
			data("more")
		}
		for name, text := range map[string]string{"big.txt": strings.Join(lines, "\n"), fmt.Sprintf("dir/sub%d/file",
			i): fmt.Sprint(i),
			fmt.Sprintf("many/%d", i): strings.Repeat("x", i)} {
			fmt.Fprintf(&stream, "M 100644 inline %s\n", name)
			data(text)
		}
	}
	file := filepath.Join(w.TempDir(), "stream")
	w.must(os.WriteFile(file, []byte(stream.String()), 0o600))
	in, err := os.Open(file)
	w.must(err)
	defer in.Close()
	cmd := w.command("-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet")
	cmd.Stdin = in
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git fast-import: %v\n%s", err, out)
	}
	w.git("reset", "-q", "--hard")
}

// mess changes the work tree and the index in all the ways that git status distinguishes.
func (w *tree) mess() {
	w.Helper()
	w.put("big.txt", "all new")
	w.put("many/3", "staged")
	w.git("rm", "-q", "many/4", "dir/sub1/file")
	w.git("mv", "many/5", "elsewhere")
	w.must(os.Remove(filepath.Join(w.dir, "many/6")))
	w.must(os.RemoveAll(filepath.Join(w.dir, "dir/sub2")))
	w.must(os.Chmod(filepath.Join(w.dir, "many/7"), 0o755))
	w.put("many/8", "yyyyyyyy") // of the same size
	w.put("new/one", "1")
	w.put("new/ignored", "1")
	w.put("new\nline", "1")
	w.put(".gitignore", "ignored\nforced\n")
	w.put("forced", "1")
	w.git("add", "-f", "forced", "many/3")
	w.must(os.Remove(filepath.Join(w.dir, "many/9")))
	w.must(os.Symlink("big.txt", filepath.Join(w.dir, "many/9")))
	w.put("nested/.gitignore", "x")
	w.put("intended", "1")
	w.git("add", "-N", "intended")
	stamp := time.Now().Add(-time.Hour)
	w.must(os.Chtimes(filepath.Join(w.dir, "many/10"), stamp, stamp)) // only its time
}

// Look agrees with git for every form of a repository.
func TestI2_E6_SameAsGit(t *testing.T) {
	for _, c := range []struct {
		name string
		init []string
		make func(w *tree)
	}{
		{"loose objects", nil, func(*tree) {}},
		{"packed", nil, func(w *tree) { w.git("gc", "-q") }},
		{"packed, an older commit", nil, func(w *tree) {
			w.git("gc", "-q")
			w.git("checkout", "-q", "--detach", "HEAD~3")
		}},
		{"packed, deltas by id", nil, func(w *tree) {
			w.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-a", "-d", "-q", "-f")
			w.git("checkout", "-q", "--detach", "HEAD~3")
		}},
		{"two packs", nil, func(w *tree) {
			w.git("gc", "-q")
			w.put("late", "x")
			w.commit("late")
			w.git("repack", "-q")
		}},
		{"index version 3", nil, func(w *tree) { w.git("update-index", "--index-version=3") }},
		{"index version 4", nil, func(w *tree) { w.git("update-index", "--index-version=4") }},
		{"sha256", []string{"--object-format=sha256"}, func(w *tree) { w.git("gc", "-q") }},
		{"detached", nil, func(w *tree) { w.git("checkout", "-q", "--detach", "HEAD~3") }},
		{"a branch with slashes", nil, func(w *tree) {
			w.git("checkout", "-q", "-b", "a/b/c")
			w.git("pack-refs", "--all")
		}},
		{"a merge", nil, func(w *tree) {
			w.git("checkout", "-q", "-b", "side", "HEAD~2")
			w.put("side", "x")
			w.commit("on the side")
			w.git("merge", "-q", "--no-edit", "main")
		}},
		{"latin1", nil, func(w *tree) {
			w.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-m", "Gr\xfc\xdfe")
		}},
		{"a subject of three lines", nil, func(w *tree) {
			w.git("commit", "-q", "--allow-empty", "-m", "\n\none\ntwo\nthree\n\nbody")
		}},
		{"assumed unchanged", nil, func(w *tree) {
			w.git("update-index", "--assume-unchanged", "many/0")
			w.git("update-index", "--skip-worktree", "many/1")
			w.must(os.Remove(filepath.Join(w.dir, "many/0")))
			w.must(os.Remove(filepath.Join(w.dir, "many/1")))
		}},
		{"a conflict", nil, func(w *tree) {
			w.git("checkout", "-q", "-b", "side", "HEAD~2")
			w.put("big.txt", "other")
			w.commit("other")
			if out, err := w.command("merge", "main").CombinedOutput(); err == nil {
				w.Errorf("there was no conflict: %s", out)
			}
		}},
		{"a repository inside", nil, func(w *tree) {
			w.git("init", "-q", "inside")
			w.put("inside/a", "1")
			w.put("inside/b", "1")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newTree(t, c.init...)
			w.history()
			c.make(w)
			w.check("clean")
			if c.name != "a conflict" {
				w.mess()
				w.check("changed")
			}
		})
	}
}

// Look works from a directory below the top, in a linked work tree and in a submodule.
func TestI2_E6_LinkedTrees(t *testing.T) {
	w := newTree(t)
	w.history()
	below := w.look("dir/sub3")
	if diff := gocmp.Diff(w.asGit(), below); diff != "" {
		t.Errorf("below the top: %s", diff)
	}
	w.git("worktree", "add", "-q", "-b", "linked", "../linked")
	linked := &tree{t, filepath.Join(filepath.Dir(w.dir), "linked")}
	linked.put("untracked", "x")
	linked.check("a linked work tree")
	linked.git("checkout", "-q", "--detach", "HEAD~1")
	linked.check("a detached one")

	super := newTree(t)
	super.git("submodule", "--quiet", "add", w.dir, "lib")
	super.commit("with a submodule")
	super.put("lib/many/1", "changed in there, which is the submodule's business")
	if got := super.look(""); got.Modified != 0 || got.Untracked != 0 || !got.Counted {
		t.Errorf("a submodule: %+v", got)
	}
	lib := &tree{t, filepath.Join(super.dir, "lib")}
	lib.check("in a submodule")
}

// Where git cannot say what the repository has, Look says why, and the branch.
func TestI2_E6_WithoutGit(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(w *tree)
		branch string
		why    string
	}{
		{"another hash", func(w *tree) {
			w.git("config", "core.repositoryFormatVersion", "1")
			w.git("config", "extensions.objectFormat", "sha3")
		}, "main", "git ended with exit code 128"},
		{"another hash that old versions of git do not know",
			func(w *tree) { w.git("config", "extensions.objectFormat", "sha256") }, "main",
			"without core.repositoryformatversion = 1"},
		{"extensions of a work tree",
			func(w *tree) { w.put(".git/config.worktree", "[extensions]\nobjectFormat = sha256\n") }, "main",
			"the configuration of a work tree has extensions.objectformat"},
		{"no objects", func(w *tree) { w.must(os.RemoveAll(filepath.Join(w.dir, ".git/objects"))) }, "main",
			"has no directory objects"},
		{"an index of another version",
			func(w *tree) { w.put(".git/index", "DIRC\x00\x00\x00\x05"+strings.Repeat("\x00", 60)) }, "main",
			"git ended with exit code 128"},
		{"a filter", func(w *tree) { w.git("config", "filter.f.clean", "touch mark") }, "main",
			"has filter.f.clean, which may run a program"},
		{"a filter for big files", func(w *tree) { w.git("config", "filter.lfs.process", "touch mark") }, "main",
			"has filter.lfs.process"},
		{"a monitor", func(w *tree) { w.git("config", "core.fsmonitor", "touch mark") }, "main", "has core.fsmonitor"},
		{"more configuration", func(w *tree) { w.git("config", "include.path", "../more") }, "main",
			"has include.path"},
		{"a partial clone", func(w *tree) { w.git("config", "remote.o.promisor", "true") }, "main",
			"has remote.o.promisor"},
		{"a key of a later version", func(w *tree) { w.git("config", "core.new", "true") }, "main", "has core.new"},
		{"objects elsewhere", func(w *tree) { w.put(".git/objects/info/alternates", "/nowhere\n") }, "main",
			"objects/info/alternates"},
		{"configuration of the work tree",
			func(w *tree) { w.put(".git/config.worktree", "[diff]\nexternal = touch mark\n") }, "main",
			"has diff.external"},
		{"HEAD beside .git", func(w *tree) { w.put("HEAD", "ref: refs/heads/main\n") }, "main",
			"there is HEAD beside .git"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTree(t)
			w.put("a", "1")
			w.commit("one")
			c.make(w)
			got := w.look("")
			if got.Root != w.dir || got.Branch != c.branch || got.Counted || got.Subjects != nil ||
				!strings.Contains(got.Unasked, c.why) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Git runs nothing that the repository or the user's configuration names, and is not the
// repository's own.
func TestT9_NothingIsStarted(t *testing.T) {
	w := newTree(t)
	home := t.TempDir()
	mark := filepath.Join(home, "mark")
	program := "touch " + mark
	w.put("a", "1")
	w.put(".gitattributes", "* filter=f diff=d\n")
	w.commit("one")
	w.put("a", "2")
	w.put(".git/hooks/post-index-change", "#!/bin/sh\n"+program+"\n")
	w.put("bin/git", "#!/bin/sh\n"+program+"\n")
	w.put("bin/readlink", "#!/bin/sh\n"+program+"\n")
	other := t.TempDir() // a further directory of the session
	w.must(os.WriteFile(filepath.Join(other, "git"), []byte("#!/bin/sh\n"+program+"\n"), 0o755))
	for _, name := range []string{".git/hooks/post-index-change", "bin/git", "bin/readlink"} {
		w.must(os.Chmod(filepath.Join(w.dir, name), 0o755))
	}
	w.put("../home/.gitconfig",
		fmt.Sprintf("[filter \"f\"]\nclean = %[1]s\nprocess = %[1]s\nrequired\n[core]\nfsmonitor = %[1]s\npager = "+
			"%[1]s\nhooksPath = %[2]s\n[log]\nshowSignature\n[gpg]\nprogram = %[1]s\n[diff]\nexternal = %[1]s\n[diff "+
			"\"d\"]\ntextconv = %[1]s\n[alias]\nstatus = !%[1]s\n[status]\nshort\nsubmoduleSummary\n", program,
			filepath.Join(w.dir, ".git/hooks")))
	e, err := env.NewLocal(w.dir, env.LocalOptions{Containment: env.ContainGroup, Roots: []string{other},
		Env: []string{"HOME=" + filepath.Join(filepath.Dir(w.dir), "home"), "PATH=" + filepath.Join(w.dir,
			"bin") + ":bin::" + other + ":" + os.Getenv("PATH"), "GIT_EXTERNAL_DIFF=" + program}})
	w.must(err)
	defer func() { w.must(e.Close()) }()
	got := git.Look(t.Context(), e)
	if got.Unasked != "" || got.Modified != 1 || len(got.Subjects) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program ran")
	}

	link := filepath.Join(home, "link")
	w.must(os.Symlink(filepath.Join(w.dir, "bin"), link))
	w.must(os.MkdirAll(filepath.Join(home, "bin"), 0o755))
	w.must(os.Symlink(filepath.Join(w.dir, "bin/git"), filepath.Join(home, "bin/git")))
	w.put("../home/.gitconfig", "[filter \"a=b\"]\nclean = "+program+"\n")
	led, err := env.NewLocal(w.dir, env.LocalOptions{Containment: env.ContainGroup,
		Env: []string{"HOME=" + filepath.Join(filepath.Dir(w.dir), "home"),
			"PATH=" + link + ":" + home + "/bin:/" + w.dir + "/bin:" + os.Getenv("PATH")}})
	w.must(err)
	defer func() { w.must(led.Close()) }()
	if got := git.Look(t.Context(), led); !strings.Contains(got.Unasked, "has an = in its name") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the work tree ran")
	}
}

// In a linked work tree no program of the one from which it was made runs, and none of the
// repository around that.
func TestT9_NothingOfTheMainTreeIsStarted(t *testing.T) {
	around := newTree(t)
	w := &tree{t, filepath.Join(around.dir, "in")}
	w.must(os.Mkdir(w.dir, 0o755))
	w.git("init", "-q", "--template=", "-b", "main")
	mark := filepath.Join(t.TempDir(), "mark")
	w.put("a", "1")
	w.commit("one")
	for _, name := range []string{"git", "env", "readlink"} {
		for _, of := range []*tree{w, around} {
			of.put("bin/"+name, "#!/bin/sh\n: >"+mark+"\n")
			w.must(os.Chmod(filepath.Join(of.dir, "bin", name), 0o755))
		}
	}
	w.git("worktree", "add", "-q", "-b", "linked", "../../linked")
	linked := filepath.Join(filepath.Dir(around.dir), "linked")
	e, err := env.NewLocal(linked, env.LocalOptions{Containment: env.ContainGroup, Roots: git.Roots(linked),
		Env: []string{"PATH=" + filepath.Join(w.dir, "bin") + ":" + filepath.Join(around.dir, "bin") + ":" +
			os.Getenv("PATH")}})
	w.must(err)
	defer func() { w.must(e.Close()) }()
	if got := git.Look(t.Context(), e); got.Unasked != "" || len(got.Subjects) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the main tree ran")
	}
}

// A .git that points elsewhere, or that somebody else may have put above, gives no access.
func TestI2_PointersAreNotBelieved(t *testing.T) {
	secret := newTree(t)
	secret.put("a secret file", "password of a secret service")
	secret.commit("a secret subject")
	secret.git("gc", "-q")
	secret.put(".git/refs/heads/main", secret.git("rev-parse", "HEAD"))
	secret.git("worktree", "add", "-q", "-b", "linked", "../linked")
	gitDir := filepath.Join(secret.dir, ".git")
	at := func(t *testing.T) *tree {
		return &tree{t, t.TempDir()}
	}
	for name, make := range map[string]func(w *tree){
		"a gitdir":          func(w *tree) { w.put(".git", "gitdir: "+gitDir+"\n") },
		"a link":            func(w *tree) { w.must(os.Symlink(gitDir, filepath.Join(w.dir, ".git"))) },
		"a relative gitdir": func(w *tree) { w.put(".git", "gitdir: ../../../../../../../../../.."+gitDir+"\n") },
		"a linked HEAD":     func(w *tree) { w.git("init", "-q", "--template="); w.put(".git/commondir", gitDir) },
		"linked objects": func(w *tree) {
			w.git("init", "-q", "--template=")
			w.must(os.RemoveAll(filepath.Join(w.dir, ".git/objects")))
			w.must(os.Symlink(filepath.Join(gitDir, "objects"), filepath.Join(w.dir, ".git/objects")))
			w.put(".git/HEAD", secret.git("rev-parse", "HEAD"))
		},
		"linked packs and a linked ref": func(w *tree) {
			w.git("init", "-q", "--template=")
			w.must(os.RemoveAll(filepath.Join(w.dir, ".git/objects/pack")))
			w.must(os.Symlink(filepath.Join(gitDir, "objects/pack"), filepath.Join(w.dir, ".git/objects/pack")))
			w.must(os.Symlink(filepath.Join(gitDir, "refs/heads/main"), filepath.Join(w.dir, ".git/refs/heads/main")))
		},
		"a linked index": func(w *tree) {
			w.git("init", "-q", "--template=")
			w.must(os.Symlink(filepath.Join(gitDir, "index"), filepath.Join(w.dir, ".git/index")))
		},
		"refs that lead to a secret": func(w *tree) {
			w.git("init", "-q", "--template=")
			w.must(os.Symlink(filepath.Join(secret.dir, "a secret file"), filepath.Join(w.dir, ".git/packed-refs")))
		},
		"a work tree whose name git trims": func(w *tree) {
			w.git("init", "-q", "--template=")
			w.put(".git/config", "[core]\n\tworktree = \r"+secret.dir+"\n")
			w.put(".git/\r"+filepath.Dir(secret.dir)+"/x", "")
			w.must(os.Symlink(w.dir, filepath.Join(w.dir, ".git/\r"+secret.dir)))
		},
		"alternates": func(w *tree) {
			w.git("init", "-q", "--template=")
			w.put(".git/objects/info/alternates", filepath.Join(gitDir, "objects")+"\n")
			w.put(".git/HEAD", secret.git("rev-parse", "HEAD"))
		},
		"the work tree of another": func(w *tree) { w.put(".git", "gitdir: "+gitDir+"/worktrees/linked\n") },
		"a work tree that is none": func(w *tree) {
			w.put(".git", "gitdir: fake/worktrees/x\n")
			w.put("fake/worktrees/x/gitdir", filepath.Join(w.dir, ".git"))
			w.put("fake/worktrees/x/HEAD", secret.git("rev-parse", "HEAD"))
			w.put("fake/worktrees/x/commondir", gitDir)
		},
		"a work tree that names the directory above": func(w *tree) {
			w.put(".git", "gitdir: x\n")
			w.put("x/gitdir", filepath.Join(w.dir, ".git"))
			w.put("x/HEAD", secret.git("rev-parse", "HEAD"))
			w.put("x/commondir", "../..")
		},
		"a submodule that is none": func(w *tree) {
			w.put(".git", "gitdir: fake\n")
			w.put("fake/HEAD", secret.git("rev-parse", "HEAD"))
			w.put("fake/config", "[core]\n\tworktree = "+w.dir+"\n")
			w.must(os.Symlink(filepath.Join(gitDir, "objects"), filepath.Join(w.dir, "fake/objects")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := at(t)
			make(w)
			if got := w.look(""); strings.Contains(fmt.Sprintf("%+v", got), "a secret ") {
				t.Errorf("%+v", got)
			}
			for _, root := range git.Roots(w.dir) {
				if strings.HasPrefix(root, secret.dir) || !strings.HasPrefix(root, w.dir) {
					t.Errorf("%s would be opened", root)
				}
			}
		})
	}
	if got := secret.look(""); !slices.Contains(got.Subjects, "a secret subject") {
		t.Errorf("the test proves nothing: %+v", got)
	}
}

// Names of very many directories in the files of a repository end at a bound.
func TestI2_DeepNames(t *testing.T) {
	w := newTree(t)
	w.history()
	e, err := env.NewLocal(w.dir, env.LocalOptions{Containment: env.ContainGroup})
	w.must(err)
	t.Cleanup(func() { w.must(e.Close()) })
	files := git.Files{Env: e}
	repo, why := files.Find(t.Context(), w.dir)
	if why != "" {
		t.Fatal(why)
	}
	if x, err := files.Index(t.Context(), repo, nil); err != nil || !slices.Contains(x.Dirs, ".") {
		t.Errorf("the index has %+v, %v", x, err)
	}
	const entries = 20
	index := "DIRC\x00\x00\x00\x02" + string(binary.BigEndian.AppendUint32(nil, entries))
	for i := range entries {
		entry := strings.Repeat("\x00", 24) + "\x00\x00\x81\xa4" + strings.Repeat("\x00", 34) +
			fmt.Sprintf("%02d/", i) + strings.Repeat("a/", 2000) + "b"
		index += entry + strings.Repeat("\x00", 8-len(entry)%8)
	}
	w.put(".git/index", index+strings.Repeat("\x00", 20))
	x, err := files.Index(t.Context(), repo, nil)
	if err == nil {
		t.Errorf("%d directories were read", len(x.Dirs))
	}
	w.put(".git/HEAD", "ref: refs/heads/"+strings.Repeat("a/", 2000)+"b\n")
	if _, why := files.Find(t.Context(), w.dir); why != "" {
		t.Error(why)
	}
	w.put(".git/HEAD", "ref: refs/heads/"+strings.Repeat("a/", 2100)+"b\n")
	if _, why := files.Find(t.Context(), w.dir); why == "" {
		t.Error("a HEAD of more directories than fit into the name of a file is taken")
	}
}

// What reads files of a repository ends without a panic, whatever they hold.
func TestI2_BrokenFiles(t *testing.T) {
	for _, packed := range []bool{false, true} {
		w := newTree(t)
		w.history()
		if packed {
			w.git("gc", "-q")
		}
		var files []string
		w.must(filepath.WalkDir(filepath.Join(w.dir, ".git"), func(name string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.Contains(name, "hooks") {
				files = append(files, name)
				err = os.Chmod(name, 0o644)
			}
			return err
		}))
		e, err := env.NewLocal(w.dir, env.LocalOptions{Containment: env.ContainGroup})
		w.must(err)
		random := seed.New(t)
		for _, name := range files {
			data, err := os.ReadFile(name)
			w.must(err)
			for range max(1, 200/len(files)) {
				broken := slices.Clone(data)
				for range 1 + random.IntN(4) {
					if len(broken) > 0 {
						broken[random.IntN(len(broken))] = byte(random.Uint32())
					}
				}
				w.must(os.WriteFile(name, broken[:len(broken)-random.IntN(min(len(broken), 3)+1)], 0o644))
				git.ReadHead(t.Context(), e)
				if repo, why := (git.Files{Env: e}).Find(t.Context(), w.dir); why == "" {
					settings, _ := (git.Files{Env: e}).Starts(t.Context(), repo)  // it may, or it may not
					_, _ = (git.Files{Env: e}).Index(t.Context(), repo, settings) // it cannot be read, or it can
				}
			}
			w.must(os.WriteFile(name, data, 0o644))
		}
		w.must(e.Close())
		w.check("repaired")
	}
}
