package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// What a repository's configuration names as hooks, or includes, is read-only, whether it exists or
// not.
func TestL4_ConfiguredHooksAndIncludes(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	git(t, dir, "init", "-q", "nested")
	write(t, filepath.Join(dir, "shared.cfg"), "[user]\n\tname = x\n[include]\n\tpath = sub/second.cfg\n")
	write(t, filepath.Join(dir, "sub", "second.cfg"), "[core]\n\thooksPath = there ; a comment\n")
	write(t, filepath.Join(dir, "there", "pre-commit"), "")
	git(t, dir, "config", "include.path", "../shared.cfg")
	git(t, dir, "config", "includeIf.onbranch:other.path", "../missing.cfg")
	git(t, dir+"/nested", "config", "core.hooksPath", "not/there")
	git(t, dir, "config", "init.templateDir", dir+"/template")
	write(t, filepath.Join(dir, "template/hooks/post-checkout"), "")
	before := list(t, dir)
	b := newBox(t, dir, sandbox.Options{}, env.LocalOptions{})
	for _, script := range []string{"echo x >>shared.cfg", "mv shared.cfg s", "echo x >>sub/second.cfg", "mv sub s",
		"echo x >there/pre-push", "mv there t",
		"echo x >missing.cfg", "mkdir -p nested/not/there", "mv nested n", "echo x >template/hooks/post-checkout"} {
		b.fails(t, script)
	}
	b.succeeds(t, "git status --short >/dev/null && echo x >sub/file && git -C nested log -1 2>/dev/null; git -C "+
		"nested status")
	b.end(t)
	if after := list(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// A command cannot use the files that bubblewrap has open, such as the lock of the sandboxes, which
// is in the user's state directory.
func TestL4_FilesOfBubblewrap(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	b := newBox(t, dir, sandbox.Options{State: state}, env.LocalOptions{})
	b.fails(t, "for fd in /proc/1/fd/* /proc/1/task/*/fd/*; do echo attack >>$fd; done 2>/dev/null; ls -d /proc/1/fd/*")
	if text := read(t, filepath.Join(state, "lock")); text != "" {
		t.Errorf("the lock has been written: %q", text)
	}
}

// A directory in /var/tmp can be the working directory, although commands otherwise see /tmp there.
func TestL4_RootInVarTmp(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "attractor-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	newBox(t, dir, sandbox.Options{}, env.LocalOptions{}).succeeds(t, "echo x >file && cat "+dir+"/file")
	if got := read(t, filepath.Join(dir, "file")); got != "x\n" {
		t.Errorf("the file is %q", got)
	}
	newBox(t, t.TempDir(), sandbox.Options{}, env.LocalOptions{}).succeeds(t, "echo x >/tmp/a && cat /var/tmp/a")
}

// A file to which a link in a directory of hooks leads is read-only, whether it exists or not.
func TestU17_TargetsOfHooks(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	git(t, dir, "init", "-q", "nested")
	write(t, filepath.Join(dir, "scripts/pre-commit"), "#!/bin/sh\n")
	write(t, filepath.Join(dir, "scripts/pre-push"), "#!/bin/sh\n")
	for link, to := range map[string]string{".git/hooks/pre-commit": "../../scripts/pre-commit",
		".git/hooks/post-commit": filepath.Join(dir, "new/post-commit"),
		"there/pre-push":         "../scripts/pre-push"} {
		link = filepath.Join(dir, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir+"/nested", "config", "core.hooksPath", dir+"/there")
	b := newBox(t, dir, sandbox.Options{}, env.LocalOptions{})
	for _, script := range []string{"echo x >scripts/pre-commit", "echo x >scripts/pre-push",
		"rm scripts/pre-commit", "mv scripts s", "mkdir -p new && echo x >new/post-commit"} {
		b.fails(t, script)
	}
	b.succeeds(t, "echo x >scripts/other")
}

// Scripts that hooks and settings of git start are read-only, in nested repositories too; other
// files that their commands name are not.
func TestU17_ScriptsThatGitStarts(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	git(t, dir, "init", "-q", "nested")
	git(t, dir, "config", "filter.f.clean", "./tools/clean")
	git(t, dir, "config", "alias.x", "!python3 tools/x.py")
	git(t, dir+"/nested", "config", "core.fsmonitor", "./fsm")
	for name, text := range map[string]string{".git/hooks/pre-commit": "#!/bin/sh\n", ".git/hooks/pre-push.sample": "",
		"tools/clean": "#!/bin/sh\n", "tools/x.py": "", "nested/fsm": "#!/bin/sh\n", "scripts/lint.sh": "",
		"go.mod":     "",
		".husky/_/h": "#!/bin/sh\n", "out.sh": ""} {
		write(t, filepath.Join(dir, name), text)
	}
	git(t, dir+"/nested", "config", "core.hooksPath", ".husky/_")
	write(t, filepath.Join(dir, "nested/.husky/pre-push"), "sh scripts/check.sh\n") // husky reads it with sh
	write(t, filepath.Join(dir, "nested/.husky/_/h"), "")
	if err := os.Symlink(filepath.Join(dir, "out.sh"), filepath.Join(dir, "link.sh")); err != nil {
		t.Fatal(err)
	}
	asked := map[string][]string{}
	runs := func(root, at string, commands []string) []string {
		if root != dir {
			t.Errorf("%s is looked through from %s", at, root)
		}
		asked[at] = append(asked[at], commands...)
		if at != dir {
			return []string{filepath.Join(at, "fsm"), filepath.Join(at, "missing.sh")}
		}
		var list []string
		for _, name := range []string{"tools/clean", "tools/x.py", "scripts/lint.sh", "go.mod", "scripts", ".husky/_/h",
			"link.sh", "missing.sh", "/bin/sh"} {
			list = append(list, filepath.Join(dir, name))
		}
		return list
	}
	b := newBox(t, dir, sandbox.Options{Runs: runs}, env.LocalOptions{})
	for _, script := range []string{"echo x >tools/clean", "echo x >>tools/x.py", "rm scripts/lint.sh", "mv tools t",
		"mv nested n", "echo x >nested/fsm", "echo x >.husky/_/h", "echo x >.husky/_/new", "mv .husky/_ .husky/x",
		"echo x >out.sh", "cp go.mod m && mv -f m tools/clean"} {
		b.fails(t, script)
	}
	b.succeeds(t, "echo x >go.mod && echo x >scripts/new && echo x >tools/new && echo x >missing.sh")
	b.succeeds(t, "git status")
	for at, want := range map[string][]string{dir: {"'" + filepath.Join(dir, ".git/hooks/pre-commit") + "'",
		"./tools/clean",
		"python3 tools/x.py"}, filepath.Join(dir, "nested"): {"./fsm",
		"'" + filepath.Join(dir, "nested/.husky/pre-push") + "'"}} {
		for _, command := range want {
			if !slices.Contains(asked[at], command) {
				t.Errorf("%s: asked was about %q, not %q", at, asked[at], command)
			}
		}
	}
}

// What git runs by repositories that commands cannot write to is read-only as well: those around
// the root, and those of nested work trees whose .git leads out of the root.
func TestU17_RepositoriesOutsideOfTheRoot(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "tree")
	git(t, base, "init", "-q")
	git(t, base, "init", "-q", "tree")
	git(t, base, "init", "-q", "--separate-git-dir", "store", "tree/nested")
	git(t, base, "config", "core.hooksPath", "tree/hooks")
	write(t, filepath.Join(base, ".git/hooks/pre-push"), "#!/bin/sh\n")
	git(t, base, "--git-dir=store", "config", "core.hooksPath", "t")
	git(t, base, "--git-dir=store", "config", "core.fsmonitor", "./fsm")
	for _, name := range []string{"hooks/pre-commit", "lib/y", "nested/t/pre-commit", "nested/fsm", "shared"} {
		write(t, filepath.Join(dir, name), "#!/bin/sh\n")
	}
	runs := func(root, at string, commands []string) (files []string) {
		if slices.Contains(commands, "'"+filepath.Join(base, ".git/hooks/pre-push")+"'") {
			files = append(files, filepath.Join(dir, "lib/y"))
		}
		if slices.Contains(commands, "./fsm") {
			files = append(files, filepath.Join(at, "fsm"), filepath.Join(root, "shared"))
		}
		return files
	}
	b := newBox(t, dir, sandbox.Options{Runs: runs}, env.LocalOptions{})
	for _, name := range []string{"hooks/pre-commit", "hooks/new", "lib/y", "nested/t/pre-commit", "nested/t/new",
		"nested/fsm", "shared"} {
		b.fails(t, "echo x >"+name)
	}
	b.succeeds(t, "echo x >lib/new && echo x >nested/new")
}
