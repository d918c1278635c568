//go:build unix

package attractor

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// In the mode accept-edits nobody changes, without a question, what git runs by a repository that
// lies outside of the session's directories: that of a linked work tree or a submodule, one whose
// .git is elsewhere, and those around the one that git uses.
func TestU17_RepositoriesOutsideOfTheSession(t *testing.T) {
	peer.Need(t, "git")
	asked := []string{"t/pre-commit", "lib/y", "tools/alias.sh"}
	made := func(t *testing.T, dir string) {
		for _, name := range append(asked, "main.go") {
			put(t, dir, name, "#!/bin/sh\n")
		}
	}
	configure := func(t *testing.T, dir, repository string) {
		for name, value := range map[string]string{"core.hooksPath": "t", "alias.ci": "!./tools/alias.sh",
			"core.fsmonitor": "lib/y"} {
			inGit(t, dir, "--git-dir="+repository, "config", name, value)
		}
	}
	commit := []string{"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"}
	for name, in := range map[string]func(t *testing.T, base string) string{
		"linked work tree": func(t *testing.T, base string) string {
			inGit(t, base, "init", "-q", "main")
			inGit(t, filepath.Join(base, "main"), commit...)
			inGit(t, filepath.Join(base, "main"), "worktree", "add", "-q", "../tree")
			configure(t, base, "main/.git")
			return "tree"
		},
		"separate": func(t *testing.T, base string) string {
			inGit(t, base, "init", "-q", "--separate-git-dir", "store", "tree")
			configure(t, base, "store")
			return "tree"
		},
		"submodule": func(t *testing.T, base string) string {
			inGit(t, base, "init", "-q", "from")
			inGit(t, filepath.Join(base, "from"), commit...)
			inGit(t, base, "init", "-q", "main")
			inGit(t, filepath.Join(base, "main"), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
				filepath.Join(base, "from"), "sub")
			configure(t, base, "main/.git/modules/sub")
			return "main/sub"
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newGitEdits(t, asked, []string{"main.go"})
			b.allowOthers()
			base := realTemp(t)
			b.config.Dir = filepath.Join(base, in(t, base))
			made(t, b.config.Dir)
			b.edits()
		})
	}
	t.Run("around", func(t *testing.T) {
		b := newGitEdits(t, []string{"t/pre-commit", "lib/y"}, []string{"main.go"})
		b.allowOthers()
		base := realTemp(t)
		inGit(t, base, "init", "-q", "tree")
		inGit(t, base, "init", "-q")
		inGit(t, base, "config", "core.hooksPath", "tree/t")
		inGit(t, base, "config", "core.pager", "tree/lib/y")
		b.config.Dir = filepath.Join(base, "tree")
		made(t, b.config.Dir)
		b.edits()
	})
	t.Run("nested with another directory", func(t *testing.T) {
		b := newGitEdits(t, []string{"n/t/pre-commit", "n/lib/y"}, []string{"n/main.go"})
		b.allowOthers()
		base := realTemp(t)
		inGit(t, base, "init", "-q", "--separate-git-dir", "store", "tree/n")
		configure(t, base, "store")
		b.config.Dir = filepath.Join(base, "tree")
		made(t, filepath.Join(b.config.Dir, "n"))
		b.edits()
	})
	t.Run("in the directory of hooks", func(t *testing.T) {
		b := newGitEdits(t, []string{"pre-commit", "post-commit"}, []string{"main.go"})
		base := realTemp(t)
		inGit(t, base, "init", "-q")
		inGit(t, base, "config", "core.hooksPath", "t")
		b.config.Dir = filepath.Join(base, "t")
		if err := os.Mkdir(b.config.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		b.edits()
	})
	t.Run("a further directory", func(t *testing.T) {
		b := newGitEdits(t, []string{"../more/y"}, []string{"../more/main.go"})
		base := realTemp(t)
		inGit(t, base, "init", "-q", "tree")
		inGit(t, filepath.Join(base, "tree"), "config", "core.pager", filepath.Join(base, "more/y"))
		put(t, base, "more/y", "#!/bin/sh\n")
		b.config.Dir, b.config.AddDirs = filepath.Join(base, "tree"), []string{filepath.Join(base, "more")}
		b.edits()
	})
}

// What a command configures counts for the edits after it, also if there were edits before.
func TestU17_HooksThatACommandConfigures(t *testing.T) {
	peer.Need(t, "git")
	b, dir := newTeam(t, nil), realTemp(t)
	inGit(t, dir, "init", "-q")
	write := func(name string) fakellm.Turn {
		return calls(t, "write_file", object{"file_path": name, "content": "x"})
	}
	b.model(fakellm.Script(write("a.txt"),
		calls(t, "shell", object{"command": "mkdir nested && git init -q nested && " +
			"git -C nested config core.hooksPath ../more && git config core.hooksPath tools/hooks"}),
		write("tools/hooks/pre-commit"), write("more/pre-commit"), write("tools/b.txt"), fakellm.Turn{Text: "done"}))
	b.config.Dir, b.config.Mode, b.config.Allow = dir, permit.ModeAcceptEdits, []string{"Bash"}
	b.config.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
		return permit.Answer{Reason: "no"}, nil
	}
	b.open(func(_ *Setup, session *agent.Session) {
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
	})
	inGit(t, dir, "config", "--get", "core.hooksPath", "^tools/hooks$")
	inGit(t, filepath.Join(dir, "nested"), "config", "--get", "core.hooksPath", "^../more$")
	for name, want := range map[string]bool{"a.txt": true, "tools/b.txt": true, "tools/hooks/pre-commit": false,
		"more/pre-commit": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v; %v", name, err, b.results())
		}
	}
}
