package shell_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/rules/shell"
)

// place is a directory with a real environment, and a home directory beside it.
type place struct {
	*testing.T
	dir, home string
	env       *env.Local
	vars      []string
	roots     []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t, dir: filepath.Join(top, "work"), home: filepath.Join(top, "home")}
	for _, dir := range []string{p.dir, p.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if p.env, err = env.NewLocal(p.dir, env.LocalOptions{Containment: env.ContainGroup}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.env.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// put writes a file; ~/ stands for the home directory.
func (p *place) put(name, text string) {
	p.Helper()
	file := filepath.Join(p.dir, name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		file = filepath.Join(p.home, rest)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
		p.Fatal(err)
	}
}

// git runs git in a directory of the place, with the configuration of the home directory only.
func (p *place) git(dir string, args ...string) {
	p.Helper()
	cmd := exec.Command(peer.Need(p, "git"), args...)
	cmd.Dir = filepath.Join(p.dir, dir)
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME="+p.home+"/.config", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *place) machine() shell.Machine {
	return shell.Machine{Env: p.env, Home: p.home, Vars: p.vars, Outside: func(_ context.Context, name string) ([]byte,
		error) {
		if strings.HasPrefix(name, "/etc/") {
			return nil, fs.ErrNotExist // the machine's own must not decide about a test
		}
		return os.ReadFile(name)
	}, Resolve: filepath.EvalSymlinks, Roots: p.roots}
}

// judge returns the files that a script reads, and why it may do more; "" if it may not.
func (p *place) judge(script string) (files []shell.File, why string) {
	s := shell.Parse(script, shell.Place{Dir: p.dir, Home: p.home, Vars: p.vars})
	if s.Unclear != "" {
		return nil, s.Unclear
	}
	for _, c := range s.Commands {
		read, why := shell.Reading(p.Context(), p.machine(), c)
		if why != "" {
			return nil, why
		}
		files = append(files, read...)
	}
	return files, ""
}

// TestL2_GitPrograms checks that git commands are taken for reading only if nothing that applies in
// their directory names a program. Each change is made to an ordinary repository, in which they
// are.
func TestL2_GitPrograms(t *testing.T) {
	t.Parallel()
	const status = "git status"
	for _, c := range []struct {
		name   string
		change func(p *place)
		script string
		asks   bool
	}{
		{"ordinary", func(*place) {},
			"git status && git diff && git log -p && git show HEAD:a && git blame a && git grep x", false},
		{"subdirectory", func(*place) {}, "cd sub && git status; git -C sub diff", false},
		{"aliases and pagers", func(p *place) {
			p.put(".git/config", "[core]\n\tpager = ./x\n[alias]\n\tl = !./x\n[user]\n\tname = x\n")
		}, status, false},
		{"alias for a command that later versions drop", func(p *place) { p.git(".", "config", "alias.blame", "!./x") },
			"git blame a", true},
		{"alias for another command", func(p *place) { p.git(".", "config", "alias.blame", "!./x") }, status, false},
		{"remerge in the configuration", func(p *place) { p.git(".", "config", "log.diffMerges", "remerge") },
			"git log -p", true},
		{"signatures in a format", func(p *place) { p.git(".", "config", "format.pretty", "%+G?") }, "git log", true},
		{"fsmonitor off", func(p *place) { p.git(".", "config", "core.fsmonitor", "false") }, status, false},
		{"fsmonitor", func(p *place) { p.git(".", "config", "core.fsmonitor", "./x") }, status, true},
		{"fsmonitor without a value", func(p *place) { p.put(".git/config", "[core]\n\tfsmonitor\n") }, status, true},
		{"fsmonitor in capitals on the line of the section",
			func(p *place) { p.put(".git/config", "[CORE]FSMonitor=\"./\\\nx\"") }, status, true},
		{"diff.external", func(p *place) { p.git(".", "config", "diff.external", "./x") }, "git diff", true},
		{"diff.driver.command", func(p *place) {
			p.put(".gitattributes", "* diff=d\n")
			p.git(".", "config", "diff.d.command", "./x")
		}, "git diff", true},
		{"textconv", func(p *place) {
			p.put(".gitattributes", "* diff=d\n")
			p.git(".", "config", "diff.d.textconv", "./x")
		}, "git log -p", true},
		{"filter", func(p *place) {
			p.put(".gitattributes", "* filter=f\n")
			p.git(".", "config", "filter.f.clean", "./x")
		}, status, true},
		{"filter process", func(p *place) {
			p.put(".gitattributes", "* filter=f\n")
			p.git(".", "config", "filter.f.process", "./x")
		}, "git diff", true},
		{"signatures", func(p *place) { p.git(".", "config", "log.showSignature", "true") }, "git log", true},
		{"pretty formats", func(p *place) { p.git(".", "config", "format.pretty", "%G?") }, "git log", true},
		{"promisor", func(p *place) { p.git(".", "config", "remote.o.promisor", "true") }, "git log -p", true},
		{"configured hooks", func(p *place) { p.git(".", "config", "hook.h.command", "./x") }, status, true},
		{"hook", func(p *place) { p.put(".git/hooks/post-index-change", "#!/bin/sh\n") }, status, true},
		{"other hook", func(p *place) { p.put(".git/hooks/pre-commit", "#!/bin/sh\n") }, status, false},
		{"hooksPath", func(p *place) {
			p.git(".", "config", "core.hooksPath", "my")
			p.put("my/post-index-change", "#!/bin/sh\n")
		}, status, true},
		{"harmless hooksPath", func(p *place) { p.git(".", "config", "core.hooksPath", "my") }, status, false},
		{"hooksPath outside", func(p *place) { p.git(".", "config", "core.hooksPath", p.home) }, status, true},
		{"include", func(p *place) {
			p.git(".", "config", "include.path", "../more")
			p.put("more", "[core]\nfsmonitor = ./x\n")
		}, status, true},
		{"include of nothing harmful", func(p *place) {
			p.git(".", "config", "include.path", "../more")
			p.put("more", "[user]\nname = x\n")
		}, status, true},
		{"conditional include", func(p *place) {
			p.git(".", "config", "includeIf.onbranch:x.path", "../more")
			p.put("more", "[core]\nfsmonitor = ./x\n")
		}, status, true},
		{"a filter of a partial clone", func(p *place) {
			p.git(".", "config", "remote.o.url", "ssh://x/y")
			p.git(".", "config", "remote.o.partialCloneFilter", "blob:none")
		}, "git log -p", true},
		{"hooks that the user's configuration has in the repository", func(p *place) {
			p.put("~/.gitconfig", "[core]\nhooksPath = my\n")
			p.put("my/post-index-change", "#!/bin/sh\n")
		}, status, true},
		{"hooks that the configuration of a work tree hides", func(p *place) {
			p.git(".", "config", "core.hooksPath", "my")
			p.put(".git/config.worktree", "[core]\nhooksPath = none\n")
			p.put("my/post-index-change", "#!/bin/sh\n")
		}, status, true},
		{"a name that ends before its end",
			func(p *place) { p.put(".git/config", "[diff \"external\x00\"]\nalgorithm = ./x\n") }, "git diff", true},
		{"a value that git trims", func(p *place) { p.put(".git/config", "[core]\nhooksPath = \rmy\n") }, status, true},
		{"include of itself", func(p *place) { p.git(".", "config", "include.path", "config") }, status, true},
		{"worktree configuration", func(p *place) {
			p.git(".", "config", "extensions.worktreeConfig", "true")
			p.put(".git/config.worktree", "[core]\nfsmonitor = ./x\n")
		}, status, true},
		{"other work tree", func(p *place) { p.git(".", "config", "core.worktree", "/etc") }, "git diff", true},
		{"global configuration", func(p *place) { p.put("~/.gitconfig", "[diff]\nexternal = ./x\n") }, "git diff",
			true},
		{"XDG configuration", func(p *place) { p.put("~/.config/git/config", "[diff]\nexternal = ./x\n") }, "git diff",
			true},
		{"harmless global configuration",
			func(p *place) { p.put("~/.gitconfig", "[user]\nname = x\n[init]\ndefaultBranch = x\n") }, "git diff",
			false},
		{"broken configuration", func(p *place) { p.put(".git/config", "[core\n") }, status, true},
		{"environment", func(p *place) { p.vars = []string{"GIT_EXTERNAL_DIFF=./x"} }, "git diff", true},
		{"directory of git in the environment", func(p *place) { p.vars = []string{"GIT_DIR=x"} }, status, true},
		{"configuration in the environment", func(p *place) { p.vars = []string{"GIT_CONFIG_COUNT=1"} }, status, true},
		{"programs of git in the environment", func(p *place) { p.vars = []string{"GIT_EXEC_PATH=x"} }, status, true},
		{"objects in the environment", func(p *place) { p.vars = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=/x"} },
			status, true},
		{"trace in a file", func(p *place) { p.vars = []string{"GIT_TRACE2_EVENT=/x"} }, status, true},
		{"harmless environment", func(p *place) {
			p.vars = []string{"GIT_PAGER=cat", "GIT_AUTHOR_NAME=x", "GIT_SSL_CAINFO=/etc/ssl/x",
				"GIT_SSL_CAPATH=/etc/ssl", "GIT_SSL_NO_VERIFY=1",
				"GIT_HTTP_USER_AGENT=x", "GIT_ASKPASS=/x", "GIT_OPTIONAL_LOCKS=0", "GIT_DIR="}
		}, "git diff", false},
		{"a variable that may be one of git", func(p *place) { p.vars = []string{"GIT_BRANCH=main"} }, "git diff",
			true},
		{"trace", func(p *place) { p.vars = []string{"GIT_TRACE=1"} }, "git diff", true},
		{"embedded repository", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "config", "core.fsmonitor", "./x")
		}, "cd in && git status", true},
		{"embedded repository by -C", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "config", "core.fsmonitor", "./x")
		}, "git -C in status", true},
		{"embedded repository behind a link", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "config", "core.fsmonitor", "./x")
			if err := os.Symlink("in", filepath.Join(p.dir, "link")); err != nil {
				p.Fatal(err)
			}
		}, "git -C link status", true},
		{"embedded repository beside", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "config", "core.fsmonitor", "./x")
		}, status, false},
		{"added repository", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "commit", "-q", "--allow-empty", "-m", "x")
			p.git(".", "-c", "advice.addEmbeddedRepo=false", "add", "in")
			p.git("in", "config", "core.fsmonitor", "./x")
		}, status, true},
		{"harmless added repository", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "commit", "-q", "--allow-empty", "-m", "x")
			p.git(".", "-c", "advice.addEmbeddedRepo=false", "add", "in")
		}, status, false},
		{"gitdir file with a space in front of the name", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "config", "core.fsmonitor", "./x")
			p.git(".", "init", "-q", "clean")
			p.put("file/.git", "gitdir:  x\n")
			if err := errors.Join(os.Rename(filepath.Join(p.dir, "in/.git"), filepath.Join(p.dir, "file/ x")),
				os.Rename(filepath.Join(p.dir, "clean/.git"), filepath.Join(p.dir, "file/x"))); err != nil {
				p.Fatal(err)
			}
		}, "git -C file status", true},
		{"bare repository", func(p *place) { p.git(".", "init", "-q", "--bare", "bare") }, "git -C bare log", true},
		{"linked work tree", func(p *place) { p.git(".", "worktree", "add", "-q", "linked") }, "git -C linked status",
			false},
		{"linked work tree of a dangerous repository", func(p *place) {
			p.git(".", "worktree", "add", "-q", "linked")
			p.git(".", "config", "core.fsmonitor", "./x")
		}, "git -C linked status", true},
		{"configuration of a linked work tree", func(p *place) {
			p.git(".", "worktree", "add", "-q", "linked")
			p.git(".", "config", "extensions.worktreeConfig", "true")
			p.git("linked", "config", "--worktree", "core.fsmonitor", "./x")
		}, "git -C linked status", true},
		{"gitdir file", func(p *place) {
			p.git(".", "init", "-q", "real")
			p.git("real", "config", "core.fsmonitor", "./x")
			p.put("fake/.git", "gitdir: ../real/.git\n")
		}, "git -C fake status", true},
		{"gitdir file to the outside", func(p *place) { p.put("fake/.git", "gitdir: "+p.home+"\n") },
			"git -C fake status", true},
		{"incomplete repository", func(p *place) { p.put("half/.git/config", "[core]\nfsmonitor = ./x\n") },
			"git -C half status", true},
		{"outside", func(*place) {}, "git -C / status", true},
		{"unknown directory", func(*place) {}, "cd $x; git status", true},
		{"remote with a password", func(p *place) { p.git(".", "config", "remote.o.url", "https://me:pw@host/x") },
			"git remote -v", true},
		{"header with a token", func(p *place) { p.git(".", "config", "http.extraHeader", "Authorization: x") },
			"git config --list", true},
		{"remotes", func(p *place) { p.git(".", "config", "remote.o.url", "https://host/x") },
			"git remote -v; git config --list; git config user.name", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.git(".", "init", "-q")
			p.put("a", "x\n")
			p.put("sub/b", "x\n")
			p.git(".", "add", ".")
			p.git(".", "commit", "-q", "-m", "x")
			c.change(p)
			switch _, why := p.judge(c.script); {
			case c.asks && why == "":
				t.Errorf("%q is taken for reading", c.script)
			case !c.asks && why != "":
				t.Errorf("%q asks: %s", c.script, why)
			}
		})
	}
}
