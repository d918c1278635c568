package sandbox_test

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// user returns an environment with a home directory whose git configuration names the user and a
// program.
func user(t *testing.T) []string {
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"),
		"[user]\n\tname = A \\\"quoted\\\" name\n\temail = a@example.com\n[credential]\n\thelper = store\n[core]\n"+
			"\tpager = less\n[safe]\n\tdirectory = *\n")
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
}

// repository makes a repository with a commit.
func repository(t testing.TB, dir string) {
	git(t, dir, "init", "-q")
	write(t, filepath.Join(dir, "f"), "one\n")
	git(t, dir, "add", "f")
	git(t, dir, "commit", "-qm", "first")
}

// commits checks that commands can use the repository and commit, and that no file of the sandbox
// is added.
func commits(t *testing.T, b *box) {
	t.Helper()
	if out := b.succeeds(t, "git status --porcelain"); out != "" {
		t.Errorf("git status: %s", out)
	}
	out := b.succeeds(t, "echo two >>f && echo new >g && git add -A && git commit -qm second && git log "+
		"--format=%an%s -1 && git show --stat --format=")
	if !strings.Contains(out, `A "quoted" namesecond`) || !strings.Contains(out, "2 files changed") {
		t.Errorf("the commit: %s", out)
	}
	if out := b.succeeds(t, "git config --global --list"); strings.Contains(out, "credential") ||
		strings.Contains(out, "pager") {
		t.Errorf("commands see the user's configuration:\n%s", out)
	}
	b.succeeds(t, "git checkout -q -b other && git branch && git stash list && git diff HEAD~1 && git gc -q")
}

func TestL4_Git(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir)
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	commits(t, b)
	for _, script := range []string{
		"echo x >.git/hooks/pre-commit", "echo x >>.git/config", "git config core.fsmonitor ./evil",
		"git config --worktree a.b c", "echo x >.git/commondir",
		"rm -rf .git/hooks", "mv .git .git2", "mv .git/config .git/config2", "mkdir .git/modules/x",
		"mkdir .git/worktrees/x", "ln -f f .git/config", "echo 'URL: /evil' >.git/remotes/origin",
		"echo /evil >.git/branches/origin",
		"echo x >.git/info/attributes", "rm -f .git/commondir && ! cat .git/commondir",
		"mkdir .git/new && mv -T .git/new .git/modules",
		"umount .git", "umount -l .git/hooks", "mount -o remount,rw .git/hooks", "unshare -rm true",
	} {
		b.fails(t, script)
	}
	b.end(t)
	if out := git(t, dir, "status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("left in the work tree: %s", out)
	}
	if got := list(t, filepath.Join(dir, ".git")); strings.Contains(got, "commondir") ||
		strings.Contains(got, "modules") || strings.Contains(got, "worktrees") || strings.Contains(got, "remotes") {
		t.Errorf("left in .git:\n%s", got)
	}
}

// What git reads beside the configuration is protected also if that says so far behind.
func TestL4_GitLargeConfiguration(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir)
	name := filepath.Join(dir, ".git/config")
	config, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, string(config)+strings.Repeat("# a long comment\n", 1<<16)+"[extensions]\n\tworktreeConfig = true\n")
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	commits(t, b)
	b.fails(t, "echo '[core]' >.git/config.worktree")
}

// The working directory is part of a repository.
func TestL4_GitBelowTheTop(t *testing.T) {
	top := t.TempDir()
	repository(t, top)
	dir := filepath.Join(top, "sub")
	write(t, filepath.Join(dir, "f"), "one\n")
	git(t, top, "add", "-A")
	git(t, top, "commit", "-qm", "sub")
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	commits(t, b)
	for _, script := range []string{"echo x >../f", "echo x >../.git/hooks/pre-commit", "echo x >>../.git/config",
		"git init -q .", "mkdir ../new"} {
		b.fails(t, script)
	}
}

func TestL4_GitWorktree(t *testing.T) {
	main, dir := t.TempDir(), filepath.Join(t.TempDir(), "linked")
	repository(t, main)
	git(t, main, "worktree", "add", "-q", dir)
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	commits(t, b)
	common := filepath.Join(main, ".git")
	for _, script := range []string{
		"ls " + main + "/f", "echo 'gitdir: /tmp' >.git", "rm .git", "mv .git x",
		"echo x >" + common + "/hooks/pre-commit",
		"echo x >>" + common + "/config", "echo /tmp >" + common + "/worktrees/linked/commondir",
		"echo x >" + common + "/worktrees/linked/gitdir",
		"mkdir -p " + common + "/worktrees/linked/modules/lib/hooks", // of a submodule that is not there yet
		"mkdir " + common + "/worktrees/new", "mv " + common + "/worktrees/linked " + common + "/worktrees/x",
	} {
		b.fails(t, script)
	}
}

func TestL4_GitSubmodule(t *testing.T) {
	super, lib := t.TempDir(), t.TempDir()
	repository(t, super)
	repository(t, lib)
	git(t, super, "submodule", "--quiet", "add", lib, "lib")
	git(t, super, "commit", "-qm", "submodule")
	b := newBox(t, filepath.Join(super, "lib"), sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	commits(t, b)
	gitDir := filepath.Join(super, ".git/modules/lib")
	for _, script := range []string{"echo x >.git", "echo x >>" + gitDir + "/config",
		"echo x >" + gitDir + "/hooks/post-commit", "ls " + super + "/f"} {
		b.fails(t, script)
	}
	b.end(t)
	b = newBox(t, super, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	if out := b.succeeds(t, "git status --porcelain --ignore-submodules=none"); out != " M lib\n" {
		t.Errorf("git status: %s", out)
	}
	b.fails(t, "echo x >lib/.git")
	b.fails(t, "echo x >>.git/modules/lib/config")
}

// The links that a user makes during a session where commands cannot make any stay, and so do those
// that are too deep for git. Those in the logs of a branch go, whatever its name is.
func TestL4_LinksOfUsersInRepositories(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	repository(t, dir)
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "true")
	hook := filepath.Join(dir, ".git/hooks/pre-commit")
	if err := errors.Join(os.MkdirAll(filepath.Dir(hook), 0o700), os.Symlink("../../pre-commit.sh", hook)); err != nil {
		t.Fatal(err)
	}
	logs, err := os.OpenRoot(filepath.Join(dir, ".git/logs"))
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	name := strings.Repeat("x", 255)
	deep := strings.Repeat(name+"/", 16)
	for _, in := range []string{deep, "refs/heads/objects/x"} {
		if err := errors.Join(logs.MkdirAll(in, 0o700), logs.Symlink(outside, filepath.Join(in, "y"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := logs.Symlink(outside, filepath.Join(name, "y")); err != nil {
		t.Fatal(err)
	}
	b.succeeds(t, "true")
	if to, err := os.Readlink(hook); to != "../../pre-commit.sh" {
		t.Errorf("the hook of a user leads to %q, %v", to, err)
	}
	for at, stays := range map[string]bool{deep: true, name: false, "refs/heads/objects/x": false} {
		if _, err := logs.Lstat(filepath.Join(at, "y")); (err == nil) != stays {
			t.Errorf("the link in %s: %v", at, err)
		}
	}
}

// What git writes after a command in files of the repository goes nowhere else: the links that the
// command has left there are gone, also those in directories that it has hidden.
func TestL4_LinksInRepositories(t *testing.T) {
	dir, nested := t.TempDir(), "nested/.git/"
	outside := filepath.Join(t.TempDir(), "outside")
	repository(t, dir)
	write(t, filepath.Join(dir, "nested/f"), "one\n")
	repository(t, filepath.Join(dir, "nested"))
	kept := filepath.Join(dir, ".git/logs/kept")
	if err := os.Symlink(outside+"-of-the-user", kept); err != nil {
		t.Fatal(err)
	}
	configs := read(t, filepath.Join(dir, ".git/config")) + read(t, filepath.Join(dir, nested, "config"))
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "ln -sf config .git/COMMIT_EDITMSG; ln -sf ../config "+nested+"COMMIT_EDITMSG; "+
		`printf '[core]\n\tfsmonitor = ./evil\n' | tee .git/MERGE_MSG >`+nested+"MERGE_MSG; "+
		"ln -sf "+outside+" .git/index; ln -sf "+outside+" .git/logs/HEAD; mv .git/refs/tags .git/x; "+
		"ln -s /tmp .git/refs/tags; ln -sf refs/heads/main .git/refs/heads/symbolic; "+
		"ln -sf "+outside+" "+nested+"logs/HEAD; chmod 300 "+nested+"logs "+nested)
	for _, top := range []string{dir, filepath.Join(dir, "nested")} {
		write(t, filepath.Join(top, "g"), "two\n")
		git(t, top, "add", "-A", ".")
		git(t, top, "-c", "core.editor=true", "commit", "-q")
	}
	if now := read(t, filepath.Join(dir, ".git/config")) +
		read(t, filepath.Join(dir, nested, "config")); now != configs {
		t.Errorf("the configuration is now\n%s\nand was\n%s", now, configs)
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Errorf("git has written a file outside:\n%s", read(t, outside))
	}
	if to, err := os.Readlink(kept); to != outside+"-of-the-user" {
		t.Errorf("a link of the user's leads to %q, %v", to, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, ".git/refs/heads/symbolic")); to != "refs/heads/main" {
		t.Errorf("a symbolic ref leads to %q, %v", to, err)
	}
	if _, err := os.Readlink(filepath.Join(dir, ".git/refs/tags")); err == nil {
		t.Error("the tags lie elsewhere")
	}
}

// An index that a command has written has git put nothing into .git or outside of the work tree
// when the user has it put back what is missing.
func TestL4_IndexesOfCommands(t *testing.T) {
	for _, form := range []string{"", "--index-version 4", "--split-index"} {
		top, made := t.TempDir(), t.TempDir()
		dir := filepath.Join(top, "work")
		for _, at := range []string{dir, made} {
			write(t, filepath.Join(at, "a"), "one\n")
			repository(t, at)
		}
		id := strings.TrimSpace(git(t, dir, "hash-object", "-w", "a"))
		git(t, made, "update-index", "--add", "--cacheinfo", "100755,"+id+",-git/hooks/pre-commit",
			"--cacheinfo", "100755,"+id+",-./out")
		git(t, made, strings.Fields("update-index --force-write-index "+form)...)
		indexOutside(t, filepath.Join(made, ".git"))
		b := newBox(t, dir, sandbox.Options{Environ: user(t), ReadOnly: []string{made}}, env.LocalOptions{})
		b.succeeds(t, "cp "+made+"/.git/*index* .git/")
		cmd := exec.Command("git", "checkout", "--", ".") // which fails without an index
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		for _, name := range []string{"work/.git/hooks/pre-commit", "out"} {
			if _, err := os.Lstat(filepath.Join(top, name)); err == nil {
				t.Errorf("%q: git has written %s: %s", form, name, out)
			}
		}
	}
}

// indexOutside has the index in a directory, which may be split, name files in .git and outside of
// the work tree.
func indexOutside(t *testing.T, gitDir string) {
	index := read(t, filepath.Join(gitDir, "index"))
	signed := func(text string) string {
		text = text[:len(text)-sha1.Size]
		sum := sha1.Sum([]byte(text))
		return text + string(sum[:])
	}
	changed := func(text string) string {
		return signed(strings.NewReplacer("-git/hooks", ".git/hooks", "-./out", "../out").Replace(text))
	}
	index = changed(index)
	shared, err := filepath.Glob(filepath.Join(gitDir, "sharedindex.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range shared {
		old, err := hex.DecodeString(strings.TrimPrefix(filepath.Ext(name), "."))
		if err != nil {
			t.Fatal(err)
		}
		text := changed(read(t, name))
		id := text[len(text)-sha1.Size:]
		write(t, filepath.Join(gitDir, "sharedindex."+hex.EncodeToString([]byte(id))), text)
		index = signed(strings.ReplaceAll(index, string(old), id))
	}
	write(t, filepath.Join(gitDir, "index"), index)
}

// A command makes no repository at the place of a submodule that is not there yet, in which git
// would run with that of the work tree.
func TestL4_SubmodulesThatAreNotThere(t *testing.T) {
	super, lib := t.TempDir(), t.TempDir()
	repository(t, super)
	repository(t, lib)
	for _, at := range []string{"lib", "deep/lib", "gone/lib"} {
		git(t, super, "submodule", "--quiet", "add", lib, at)
	}
	git(t, super, "commit", "-qm", "submodules")
	clone, linked := filepath.Join(t.TempDir(), "clone"), filepath.Join(t.TempDir(), "linked")
	git(t, super, "clone", "-q", super, clone)
	git(t, super, "worktree", "add", "-q", linked)
	for _, dir := range []string{clone, linked} {
		if err := os.RemoveAll(filepath.Join(dir, "gone")); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "update-index", "--assume-unchanged", "gone/lib")
		b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
		if out := b.succeeds(t, "git status --porcelain"); out != "" {
			t.Errorf("git status: %s", out)
		}
		for _, script := range []string{"git init -q lib", "git init -q deep/lib", "echo 'gitdir: ../x' >lib/.git",
			"mv lib x", "mv deep x", "rmdir lib", "git init -q gone/lib"} {
			b.fails(t, script)
		}
		b.succeeds(t, "git init -q other")
		b.end(t)
		if _, err := os.Lstat(filepath.Join(dir, "gone")); err == nil {
			t.Error("a placeholder is left")
		}
	}
}

// A .git file that names a directory which does not name the work tree in turn opens nothing.
func TestL4_GitFileIsNotTrusted(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	repository(t, other)
	write(t, filepath.Join(dir, ".git"), "gitdir: "+other+"/.git\n")
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.fails(t, "ls "+other)
	b.fails(t, "git status")
}

// Repositories in the work tree that exist when the sandbox is made are protected as well. New ones
// can be made and used.
func TestL4_NestedRepositories(t *testing.T) {
	dir := t.TempDir()
	nested := filepath.Join(dir, "a/b")
	write(t, filepath.Join(nested, "f"), "one\n")
	repository(t, nested)
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "cd a/b && echo two >>f && git commit -qam second && cd ../.. && mkdir c && cd c && git init -q && "+
		"git status")
	for _, script := range []string{"echo x >a/b/.git/hooks/pre-commit", "mv a c/a", "mv a/b a/c",
		"echo x >>a/b/.git/config", "rm -rf a/b/.git"} {
		b.fails(t, script)
	}
}

// Programs that a session, or the repository around its directory, has in a directory of PATH are
// not run outside of the sandbox, and files that never end do not hold a session up.
func TestL4_ProgramsAndPipesOfCommands(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir)
	bin, canary := filepath.Join(dir, ".venv/bin"), filepath.Join(t.TempDir(), "canary")
	for _, name := range []string{"git", "bwrap", "attractor-env"} {
		write(t, filepath.Join(bin, name), "#!/bin/sh\n>"+canary+"\nexit 1\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	nested := filepath.Join(dir, "nested")
	if err := os.Mkdir(filepath.Join(dir, "linked"), 0o755); err != nil {
		t.Fatal(err)
	}
	repository(t, filepath.Join(dir, "linked"))
	if err := errors.Join(os.Mkdir(nested, 0o755), unix.Mkfifo(filepath.Join(nested, ".git"), 0o600),
		unix.Mkfifo(filepath.Join(dir, "linked/.git/commondir"), 0o600)); err != nil {
		t.Fatal(err)
	}
	environ := append(user(t), "PATH="+bin+":"+os.Getenv("PATH"))
	below, link := filepath.Join(dir, "below"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(below, 0o755), os.Symlink(below, link)); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, dir, "worktree", "add", "-q", tree)
	for _, at := range []string{dir, below, link, tree} {
		b := newBox(t, at, sandbox.Options{Environ: environ}, env.LocalOptions{})
		b.succeeds(t, "true")
		if _, err := os.Stat(canary); err == nil {
			t.Errorf("a program of the repository has run outside of the sandbox in %s", at)
		}
	}
}
