//go:build unix

package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/rules/shell"
)

// trap puts a program that leaves a mark and what git needs to take a directory for a repository of
// its own, whose configuration names it.
func (p *place) trap(dir, top string) {
	p.Helper()
	p.put("canary", "#!/bin/sh\n: >'"+p.home+"/mark'\n")
	p.put(dir+"/HEAD", "ref: refs/heads/main\n")
	p.put(dir+"/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\t"+
		"worktree = "+filepath.Join(p.dir, top)+
		"\n\tfsmonitor = "+p.dir+"/canary\n")
	p.dirs(dir+"/objects", dir+"/refs")
}

func (p *place) dirs(names ...string) {
	p.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(p.dir, name), 0o755); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *place) link(target, name string) {
	p.Helper()
	if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) drop(names ...string) {
	p.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			p.Fatal(err)
		}
	}
}

// marked runs a script with the real git and reports whether it has run the program of a trap.
func (p *place) marked(script string) (marked bool, out string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, peer.Need(p, "bash"), "-c", script)
	cmd.Dir = p.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1"}, p.vars...)
	text, _ := cmd.CombinedOutput() // many of these repositories are broken
	return os.Remove(filepath.Join(p.home, "mark")) == nil, string(text)
}

// Git looks for a repository by rules of its own. Where these find another one than it looks, whose
// configuration runs a program, git asks.
func TestL2_RepositoryThatGitFinds(t *testing.T) {
	const status = "git status"
	for _, c := range []struct {
		name   string
		change func(p *place)
		script string
		runs   bool // the real git runs the program
		asks   string
	}{
		{"no HEAD", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/HEAD")
		}, status, true, "HEAD beside .git"},
		{"an empty HEAD", func(p *place) {
			p.trap(".", ".")
			p.put(".git/HEAD", "")
		}, status, true, "HEAD beside .git"},
		{"HEAD that is nothing", func(p *place) {
			p.trap(".", ".")
			p.put(".git/HEAD", "x\n")
		}, status, true, "HEAD beside .git"},
		{"HEAD elsewhere", func(p *place) {
			p.trap(".", ".")
			p.put(".git/HEAD", "ref: heads/main\n")
		}, status, true, "HEAD beside .git"},
		{"HEAD as a directory", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/HEAD")
			p.dirs(".git/HEAD")
		}, status, true, "HEAD beside .git"},
		{"HEAD as a link", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/HEAD")
			p.link("../HEAD", ".git/HEAD")
		}, status, true, "HEAD beside .git"},
		{"no objects", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/objects")
		}, status, true, "HEAD beside .git"},
		{"objects as a file", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/objects")
			p.put(".git/objects", "")
			if err := os.Chmod(filepath.Join(p.dir, ".git/objects"), 0o644); err != nil {
				p.Fatal(err)
			}
		}, status, true, "HEAD beside .git"},
		{"no refs", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/refs")
		}, status, true, "HEAD beside .git"},
		{"a common directory that is none", func(p *place) {
			p.trap(".", ".")
			p.put(".git/commondir", "../sub\n")
		}, status, true, "HEAD beside .git"},
		{"an empty .git", func(p *place) {
			p.trap("in", "in")
			p.dirs("in/.git")
		}, "git -C in status", true, "HEAD beside .git"},
		{".git as a link to nothing", func(p *place) {
			p.trap("in", "in")
			p.link("x", "in/.git")
		}, "git -C in status", true, "without a work tree"},
		{".git as a pipe", func(p *place) {
			p.trap("in", "in")
			if err := syscall.Mkfifo(filepath.Join(p.dir, "in/.git"), 0o600); err != nil {
				p.Fatal(err)
			}
		}, "git -C in status", true, "HEAD beside .git"},
		{"objects as a link to nothing", func(p *place) {
			p.trap(".", ".")
			p.drop(".git/objects")
			p.link("x", ".git/objects")
		}, status, true, "HEAD beside .git"},
		{"a broken .git above a trap", func(p *place) {
			p.trap("in", "in")
			p.dirs("in/a/.git/refs", "in/a/.git/objects")
			p.put("in/a/.git/HEAD", "x")
		}, "git -C in/a status", true, "HEAD is neither a branch nor a commit"},
		{"HEAD as a link to nothing", func(p *place) {
			p.trap("in", "in")
			p.drop("in/HEAD")
			p.link("refs/heads/main", "in/HEAD")
		}, "git -C in status", true, "without a work tree"},
		{"the same by cd", func(p *place) {
			p.trap("in", "in")
			p.drop("in/HEAD")
			p.link("refs/heads/main", "in/HEAD")
		}, "cd in && git status", true, "without a work tree"},
		{"the same above", func(p *place) {
			p.trap("in", "in")
			p.drop("in/HEAD")
			p.link("refs/heads/main", "in/HEAD")
			p.dirs("in/a/b/.git")
		}, "git -C in/a/b status", true, ""},
		{"a valid repository beside one", func(p *place) { p.trap(".", ".") }, status, false, "HEAD beside .git"},
		{"above a valid repository", func(p *place) {
			p.trap("in", "in")
			p.dirs("in/a/b")
			p.git("in/a/b", "init", "-q")
		}, "git -C in/a/b status", false, "-"},
		{"HEAD is a commit", func(p *place) { p.git(".", "checkout", "-q", "--detach") }, status, false, "-"},
		{"directories objects and refs", func(p *place) { p.dirs("objects", "refs") }, status, false, "-"},
		{"a common directory through a link", func(p *place) { // git goes to the link's target and up from there
			p.dirs("far/deep")
			p.git("far", "init", "-q")
			p.trap("far", "in")
			p.dirs("in")
			p.git("in", "init", "-q")
			p.put("in/.git/commondir", "../link/..\n")
			p.link("../far/deep", "in/link")
			p.put("in/HEAD", "ref: refs/heads/main\n")
			p.dirs("in/objects", "in/refs")
		}, "git -C in status", true, ""},
		{"a .git file through a link", func(p *place) {
			p.trap("far", "in")
			p.dirs("far/deep", "in")
			p.git(".", "init", "-q", "ok")
			p.link("../far/deep", "ok/link")
			if err := os.Rename(filepath.Join(p.dir, "ok/.git"), filepath.Join(p.dir, "ok/real")); err != nil {
				p.Fatal(err)
			}
			if err := os.Rename(filepath.Join(p.dir, "far"), filepath.Join(p.dir, "real")); err != nil {
				p.Fatal(err)
			}
			p.drop("ok/link")
			p.link("../real/deep", "ok/link")
			p.put("ok/.git", "gitdir: link/../../real\n")
			p.dirs("real/deep")
		}, "git -C ok status", true, ""},
		{"a .git as a link, with a common directory", func(p *place) {
			p.git(".", "init", "-q", "far")
			p.trap("far/evil", "in")
			p.dirs("in", "far/.git/w")
			p.put("far/.git/w/HEAD", "ref: refs/heads/main\n")
			p.put("far/.git/w/commondir", "../../evil\n")
			p.link("../far/.git/w", "in/.git")
			p.git(".", "init", "-q", "evil")
			p.put("far/.git/w/config.worktree", "")
		}, "git -C in status", true, ""},
		{"hooks through a link", func(p *place) {
			p.dirs("far/deep", "in")
			p.git("in", "init", "-q")
			p.put("far/hooks/post-index-change", "#!/bin/sh\n: >'"+p.home+"/mark'\n")
			p.link("../far/deep", "in/link")
			p.git("in", "config", "core.hooksPath", "link/../hooks")
			p.put("in/f", "x\n")
			p.git("in", "add", "f")
			p.put("in/f", "x\n")
		}, "git -C in status", true, "hook"},
		{"an include through a link", func(p *place) {
			p.dirs("far/deep", "in")
			p.git("in", "init", "-q")
			p.trap("far/x", "in")
			p.put("far/a", "[include]\n\tpath = b\n")
			p.put("far/b", "[core]\n\tfsmonitor = "+p.dir+"/canary\n")
			p.link("../far/deep", "in/link")
			p.git("in", "config", "include.path", "../link/../a")
		}, "git -C in status", true, ""},
		{"-C through a link", func(p *place) {
			p.dirs("in/deep")
			p.git("in", "init", "-q")
			p.put("canary", "#!/bin/sh\n: >'"+p.home+"/mark'\n")
			p.git("in", "config", "core.fsmonitor", p.dir+"/canary")
			p.link("in/deep", "link")
		}, "git -C link/.. status", true, ""},
		{"-C up from a link", func(p *place) {
			p.dirs("in/deep")
			p.git("in", "init", "-q")
			p.put("canary", "#!/bin/sh\n: >'"+p.home+"/mark'\n")
			p.git("in", "config", "core.fsmonitor", p.dir+"/canary")
			p.link("in/deep", "link")
		}, "cd link && git -C .. status", true, ""},
		{"GIT_DIR of the script", func(p *place) { p.trap("in", ".") }, "GIT_DIR=in git status", true, ""},
		{"GIT_DIR exported", func(p *place) { p.trap("in", ".") }, "export GIT_DIR=in; git status", true, ""},
		{"GIT_DIR of the environment", func(p *place) {
			p.trap("in", ".")
			p.vars = []string{"GIT_DIR=in"}
		}, status, true, ""},
		{"--git-dir", func(p *place) { p.trap("in", ".") }, "git --git-dir=in status", true, ""},
		{"-C up from below", func(p *place) {
			p.dirs("a/b")
		}, "cd a/b && git -C ../.. status && git -C a/b/.. status", false, ""},
		{"-C down and up", func(p *place) { p.dirs("a/b") }, "git -C a/b/.. status", false, "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.git(".", "init", "-q")
			p.put("a/x", "x\n")
			p.dirs("sub")
			p.git(".", "add", ".")
			p.git(".", "commit", "-q", "-m", "x")
			c.change(p)
			_, why := p.judge(c.script)
			if marked, out := p.marked(c.script); marked != c.runs {
				t.Errorf("%q runs the program: %v\n%s", c.script, marked, out)
			} else if marked && why == "" {
				t.Errorf("%q runs the program of a trap and is taken for reading", c.script)
			}
			switch {
			case c.asks == "-" && why != "":
				t.Errorf("%q asks: %s", c.script, why)
			case c.asks != "-" && c.asks != "" && !strings.Contains(why, c.asks):
				t.Errorf("%q asks %q, want %q", c.script, why, c.asks)
			}
		})
	}
}

// HEAD as a link is also seen in an environment that shows links only in lists.
func TestL2_LinkedHeadInAnyEnvironment(t *testing.T) {
	p := newPlace(t)
	p.git(".", "init", "-q")
	p.trap("in", "in")
	p.drop("in/HEAD")
	m := p.machine()
	m.Env = struct{ env.Environment }{p.env}
	c := shell.Parse("git -C in status", shell.Place{Dir: p.dir, Home: p.home}).Commands[0]
	if _, why := shell.Reading(t.Context(), m, c); why != "" {
		t.Errorf("without HEAD it asks: %s", why)
	}
	p.link("refs/heads/main", "in/HEAD")
	if _, why := shell.Reading(t.Context(), m, c); !strings.Contains(why, "without a work tree") {
		t.Errorf("it asks: %q", why)
	}
}
