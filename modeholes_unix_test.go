//go:build unix

package attractor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// A further directory that was named by a symbolic link stays the directory it was, wherever the
// link leads when the session is resumed.
func TestN8_ModesAddDirOfALink(t *testing.T) {
	other, elsewhere := realTemp(t), realTemp(t)
	put(t, other, "a.txt", "one\n")
	put(t, elsewhere, "a.txt", "two\n")
	read := calls(t, "read_file", object{"file_path": "data/a.txt"})
	b := newTeam(t, nil, read, fakellm.Turn{Text: "done"}, read, fakellm.Turn{Text: "done"})
	b.link(other, "data")
	b.config.Mode, b.config.AddDirs = permit.ModeAsk, []string{filepath.Join(b.dir, "data")}
	var asked int
	b.config.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
		asked++
		return permit.Answer{Reason: "no"}, nil
	}
	var id string
	submit := func(_ *Setup, session *agent.Session) {
		id = session.ID()
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
	}
	b.open(submit)
	if got := b.results()["call_0_0"]; got.IsError || asked > 0 {
		t.Errorf("through the link: %q, asked %d times", got.Content.Text(), asked)
	}
	b.link(elsewhere, "data")
	b.config.Resume, b.config.AddDirs = id, nil
	b.open(submit)
	for id, r := range b.results() {
		if id != "call_0_0" && !r.IsError {
			t.Errorf("%s read another directory: %q", id, r.Content.Text())
		}
	}
	if err := os.Rename(other, other+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, other); err != nil {
		t.Fatal(err)
	}
	b.open(func(*Setup, *agent.Session) {})
	if len(b.told) != 1 || !strings.Contains(b.told[0], "goes on without the directory "+other+": it leads to "+
		elsewhere+" now") {
		t.Errorf("told %q", b.told)
	}
}

// The mode accept-edits lets nobody change, without a question, what later sessions may do or what
// starts programs: the files of attractor, and in a session that works in the home directory or
// above it the hidden files there and all files outside of it.
func TestN8_ModesEditsOfOwnFiles(t *testing.T) {
	for name, c := range map[string]struct {
		dir, add   string // below the home directory
		asked, not []string
	}{
		"in the home directory": {".", "", []string{".config/attractor/config.json",
			".config/attractor/skills/x/SKILL.md", ".vimrc", ".config/autostart/x.desktop", ".local/bin/git", "bin/git",
			"out/.vimrc"},
			[]string{"notes.txt", "work/.eslintrc"}},
		"above it": {"..", "", []string{"home/.vimrc", "other/notes.txt", "home/.config/attractor/hooks.json"},
			[]string{"home/notes.txt"}},
		"in a directory of it": {"work", "", []string{"CLAUDE.MD", ".GitHub/workflows/x.yml", ".Husky/pre-commit",
			".cargo/config.toml", ".ENV", "Key.PEM", "sub/.vscode/tasks.json", "sub/.BashRC"},
			[]string{"notes.txt", ".eslintrc", "bin/x"}},
		"in its configuration": {".config", "",
			[]string{"attractor/hooks.json", "Attractor/mcp.json", "nvim/init.lua"}, nil},
		"in an editor's":                  {".vim/plugin", "", []string{"x.vim"}, nil},
		"with an editor's added":          {"work", ".vim", []string{"../.vim/plugin/x.vim"}, nil},
		"in a worktree that a tool keeps": {".state/worktrees/x", "", []string{".vimrc"}, []string{"notes.txt"}},
		"with it added": {"work", ".", []string{"../.vimrc", "../.config/attractor/config.json"},
			[]string{"../notes.txt", ".eslintrc"}},
		"with the state added": {"work", ".state",
			[]string{"../.state/attractor/rules.json", "../.state/attractor/trust.json"}, nil},
		"in what is above work": {"work", "..", []string{"../../other/notes.txt"},
			[]string{".eslintrc", "../notes.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTeam(t, nil)
			b.home = filepath.Join(b.home, "home")
			put(t, b.home, "work/a.txt", "x")
			for _, dir := range []string{".config", ".state/worktrees/x", ".vim/plugin", "../other"} {
				if err := os.MkdirAll(filepath.Join(b.home, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(".", filepath.Join(b.home, "out")); err != nil {
				t.Fatal(err)
			}
			var turns []fakellm.Turn
			for _, name := range slices.Concat(c.asked, c.not) {
				turns = append(turns, calls(t, "write_file", object{"file_path": name, "content": "x"}))
			}
			b.model(fakellm.Script(append(turns, fakellm.Turn{Text: "done"})...))
			b.config.Dir, b.config.Mode = filepath.Join(b.home, c.dir), permit.ModeAcceptEdits
			if c.add != "" {
				b.config.AddDirs = []string{filepath.Join(b.home, c.add)}
			}
			b.config.Ask = func(context.Context, permit.Question) (permit.Answer,
				error) {
				return permit.Answer{Reason: "no"}, nil
			}
			b.open(func(_ *Setup, session *agent.Session) {
				if _, err := session.Submit(t.Context(), "the task"); err != nil {
					t.Error(err)
				}
			})
			made := func(name string) bool {
				_, err := os.Lstat(filepath.Join(b.config.Dir, name))
				return err == nil
			}
			for _, name := range c.asked {
				if made(name) {
					t.Errorf("%s was made without a question", name)
				}
			}
			for _, name := range c.not {
				if !made(name) {
					t.Errorf("%s was not made: %v", name, b.results())
				}
			}
		})
	}
}

// What a person approves counts for the mode that the session has then: a call that changes
// something does not run when the session has begun to plan while the question was open.
func TestN8_ModesPlanWhileAQuestionIsOpen(t *testing.T) {
	b := newTeam(t, nil, calls(t, "write_file", object{"file_path": "one", "content": "x"}, "read_file",
		object{"file_path": "key.pem"}, "shell", object{"command": "touch two"}), fakellm.Turn{Text: "done"})
	put(t, b.dir, "key.pem", "the key")
	b.config.Mode, b.config.Interactive = permit.ModeAsk, true
	var setup *Setup
	var asked []string
	b.config.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		asked = append(asked, q.Call.Name)
		return permit.Answer{Verdict: tool.Allow, Remember: true}, setup.SetMode(context.Background(), permit.ModePlan)
	}
	b.open(func(s *Setup, session *agent.Session) {
		setup = s
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
		if err := s.SetMode(t.Context(), permit.ModeAsk); err != nil {
			t.Error(err)
		}
	})
	if b.read("one") != "-" || b.read("two") != "-" || !slices.Equal(asked, []string{"write_file", "read_file"}) {
		t.Errorf("asked about %v; %s", asked, b.lastResults())
	}
	if results := b.lastResults(); strings.Count(results, "the session is in plan mode") != 2 ||
		!strings.Contains(results, "the key") {
		t.Errorf("the results are %s", results)
	}
}

// A person who leaves plan mode otherwise, while the plan is shown, stays in the mode that they
// chose, whatever they say to the plan.
func TestN8_ModesLeftWhileAPlanIsShown(t *testing.T) {
	for name, answer := range map[string]permit.Answer{"yes": {Verdict: tool.Allow, Mode: permit.ModeFull},
		"no": {Reason: "no"}} {
		t.Run(name, func(t *testing.T) {
			b := newTeam(t, nil, calls(t, permit.ExitPlanMode, object{"plan": "1. Make it."}),
				fakellm.Turn{Text: "done"})
			b.config.Mode, b.config.Interactive = permit.ModePlan, true
			var setup *Setup
			b.config.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
				return answer, setup.SetMode(context.Background(), permit.ModeAcceptEdits)
			}
			var err error
			if setup, err = prepare(t.Context(), b.config); err != nil {
				t.Fatal(err)
			}
			setup.Options.Questions = answering
			session, err := setup.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = session.Submit(t.Context(), "the task")
			if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
				t.Error(err)
			}
			results := b.lastResults()
			if setup.Mode() != permit.ModeAcceptEdits || strings.Contains(results, "still in plan mode") {
				t.Errorf("the mode is %s; %s", setup.Mode(), results)
			}
			if answer.Verdict == tool.Allow &&
				!strings.Contains(results, "is not in plan mode, so there is nothing to leave") {
				t.Errorf("the model is told that its plan was approved: %s", results)
			}
		})
	}
}

// realTemp returns a new directory by the path that it really has.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The same holds for repositories in the session's directory, if that is none itself, or another.
func TestU17_WhatGitRunsInNestedRepositories(t *testing.T) {
	peer.Need(t, "git")
	for _, outer := range []bool{false, true} {
		asked := []string{"proj/githooks/pre-commit", "team.gitconfig", "deep/er/tools/fs.sh"}
		b := newGitEdits(t, asked, []string{"proj/main.go"})
		b.allowOthers()
		dir := b.config.Dir
		for _, name := range asked {
			put(t, dir, name, "#!/bin/sh\n")
		}
		if outer {
			inGit(t, dir, "init", "-q")
		}
		for _, name := range []string{"proj", "deep/er"} {
			inGit(t, dir, "init", "-q", name)
		}
		put(t, dir, "team.gitconfig", "")
		proj := filepath.Join(dir, "proj")
		inGit(t, proj, "config", "core.hooksPath", "githooks")
		inGit(t, proj, "config", "include.path", "../../team.gitconfig")
		inGit(t, filepath.Join(dir, "deep/er"), "config", "core.fsmonitor", "tools/fs.sh")
		b.edits()
	}
}

// In the mode accept-edits nobody changes, without a question, what programs of git's configuration
// run, whatever their commands look like, also if a rule allows the files around them.
func TestU17_WhatCommandsOfGitRun(t *testing.T) {
	peer.Need(t, "git")
	asked := []string{"fs.py", "textconv.py", "tools/clean.sh", "tools/ed.sh", "tools/cred.sh", "scripts/st.py",
		"tools/url.sh", "tools/push.sh", "tools/instead.sh", "tools/tar.sh", "tools/authors.sh"}
	b := newGitEdits(t, asked, []string{"main.go"})
	b.config.Allow = []string{"Edit(./**)"}
	dir := b.config.Dir
	for _, name := range asked {
		put(t, dir, name, "#!/bin/sh\n")
	}
	put(t, b.home, ".gitconfig", "[alias]\n\tst = !python3 -X utf8 scripts/st.py\n")
	inGit(t, dir, "init", "-q")
	for name, value := range map[string]string{"core.fsmonitor": "python3 fs.py", "core.editor": "./tools/ed.sh",
		"diff.x.textconv": "python3 textconv.py", "filter.x.clean": "sh -c 'tools/clean.sh'",
		"credential.helper": "!tools/cred.sh", "protocol.ext.allow": "always",
		"remote.o.url": "ext::tools/url.sh %S", "remote.o.pushurl": "ext::sh tools/push.sh",
		"url.ext::tools/instead.sh .insteadOf": "work:", "tar.x.command": "tools/tar.sh",
		"svn.authorsProg": "tools/authors.sh"} {
		inGit(t, dir, "config", name, value)
	}
	b.edits()
}

// Of git's configuration, also files count that do not exist yet, and those that variables of a
// command name. A file that may run others makes any edit ask, whatever program runs it.
func TestU17_WhatCommandsOfGitMayRun(t *testing.T) {
	peer.Need(t, "git")
	for command, c := range map[string]struct{ asked, not []string }{
		"vim -S tools/new.vim":                      {[]string{"tools/new.vim"}, []string{"main.go"}},
		"awk -f new.awk":                            {[]string{"new.awk"}, []string{"main.go"}},
		"BASH_ENV=tools/env bash -c true":           {[]string{"tools/env"}, []string{"main.go"}},
		"ssh -oProxyCommand=./tools/proxy":          {[]string{"tools/proxy"}, []string{"main.go"}},
		"gawk -f tools/old.awk":                     {[]string{"tools/old.awk", "main.go"}, nil},
		"perl5.36 tools/old.pl":                     {[]string{"tools/old.pl", "main.go"}, nil},
		"tools/old.sh":                              {[]string{"tools/old.sh", "main.go"}, nil},
		"code --wait":                               {nil, []string{"main.go", "code", "tools/x"}},
		"git-lfs filter-process":                    {nil, []string{"main.go", "filter-process"}},
		"nvim -d $LOCAL $REMOTE":                    {nil, []string{"main.go"}},
		"less --tabs=4 -RFX | delta --paging=never": {nil, []string{"main.go"}},
	} {
		b := newGitEdits(t, c.asked, c.not)
		inGit(t, b.config.Dir, "init", "-q")
		inGit(t, b.config.Dir, "config", "filter.x.clean", command)
		put(t, b.config.Dir, "tools/old.awk", "BEGIN { system(\"tools/more\") }\n")
		put(t, b.config.Dir, "tools/old.pl", "require './more.pl';\n")
		put(t, b.config.Dir, "tools/old.sh", "#!/bin/sh\necho \"${PWD:$(cat more)}\"\n")
		t.Log(command)
		b.edits()
	}
}

// What cannot be read of git's configuration may start anything.
func TestU17_ConfigurationOfGitThatIsNotKnown(t *testing.T) {
	peer.Need(t, "git")
	var include strings.Builder
	for i := range 40 {
		fmt.Fprintf(&include, "[includeIf \"gitdir:**\"]\n\tpath = ~/more/%d\n", i)
	}
	for name, text := range map[string]string{
		"a carriage return": "[x]\n\ty = a\rb\n[core]\n\thooksPath = ci/hooks\n",
		"a long file":       "[x]\n\ty = " + strings.Repeat("a", 1<<20) + "\n[core]\n\thooksPath = ci/hooks\n",
		"many includes":     include.String(),
	} {
		t.Run(name, func(t *testing.T) {
			b := newGitEdits(t, []string{"main.go", "ci/hooks/pre-commit"}, nil)
			put(t, b.home, ".gitconfig", text)
			for i := range 40 {
				put(t, b.home, fmt.Sprintf("more/%d", i), "[core]\n\thooksPath = ci/hooks\n")
			}
			inGit(t, b.config.Dir, "init", "-q")
			b.edits()
			cmd := exec.Command("git", "config", "core.hooksPath")
			cmd.Dir, cmd.Env = b.config.Dir, append(os.Environ(), "HOME="+b.home)
			if out, err := cmd.Output(); err != nil || string(out) != "ci/hooks\n" {
				t.Errorf("git takes its hooks from %q, %v", out, err)
			}
		})
	}
}

// What the configuration of users commonly has asks nothing.
func TestU17_PlainConfigurationOfUsers(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, nil, []string{"main.go", "tools/x"})
	put(t, b.home, ".gitconfig", `[core]
	editor = code --wait
	pager = delta
[interactive]
	diffFilter = delta --color-only
[delta]
	navigate = true
	hyperlinks-file-link-format = "vscode://file/{path}:{line}"
[delta "line-numbers"]
	line-numbers-left-format = "{nm:>4}┊"
[format]
	pretty = %C(yellow)%h%Creset %s %C(red)(%an, %cr)%Creset
[pretty]
	custom = "%C(magenta)%h%C(red)%d (%an)"
[credential]
	helper = cache --timeout=3600
[gpg "ssh"]
	program = /opt/1Password/op-ssh-sign
[merge "mergiraf"]
	driver = mergiraf merge --git %O %A %B -s %S -x %X -y %Y -p %P -l %L
[mergetool "nvim"]
	cmd = nvim -d $LOCAL $REMOTE $MERGED -c 'wincmd J'
[filter "lfs"]
	process = git-lfs filter-process
`)
	inGit(t, b.config.Dir, "init", "-q")
	inGit(t, b.config.Dir, "init", "-q", "moved")
	if err := os.RemoveAll(filepath.Join(b.config.Dir, "moved/.git")); err != nil {
		t.Fatal(err)
	}
	put(t, b.config.Dir, "moved/.git", "gitdir: /elsewhere/.git/worktrees/moved\n")
	b.withVars(map[string]string{"GIT_CONFIG_SYSTEM": "/dev/null"})
	b.edits()
}

// putHook makes a hook of git that is started.
func putHook(t *testing.T, dir, name, text string) {
	t.Helper()
	put(t, dir, name, text)
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Where git starts a hook, an edit of any file asks, whatever the hook does, but for those of
// git-lfs.
func TestU17_HooksThatMayRunFiles(t *testing.T) {
	peer.Need(t, "git")
	const sh, message = "#!/bin/sh\n", `"This repository is configured for Git LFS but 'git-lfs' was not found.\n"`
	const lfs = sh + "command -v git-lfs >/dev/null 2>&1 || { echo >&2 " + message + "; exit 2; }\n"
	for text, asks := range map[string]bool{
		"":                                true,
		sh + "scripts/check.sh\n":         true,
		sh + "exit 0\n":                   true,
		"#!/usr/bin/env python3\n":        true,
		"\x7fELF\x00":                     true,
		lfs + "git lfs pre-push \"$@\"\n": false,
		lfs + "git lfs post-merge \"$@\"": false,
		sh + "command -v git-lfs >/dev/null 2>&1 || { printf >&2 \"\\n%s\\n\\n\" " + message + "; exit 2; }\n" +
			"git lfs pre-push \"$@\"\n": false,
		sh + "git lfs push --stdin $*\n":                                                            false,
		sh + "git lfs pre-push \"$@\"\n":                                                            false,
		sh + "git lfs pre-push \"$@\"\nscripts/check.sh\n":                                          true,
		sh + "\n\ngit lfs pre-push \"$@\"\n":                                                        true,
		sh + "git lfs prune \"$@\"\n":                                                               true,
		"#!tools/sh\ngit lfs pre-push \"$@\"\n":                                                     true,
		lfs + "git lfs pre-push \"$@\"" + strings.Repeat("\n", 900) + "scripts/check.sh\n":          true,
		strings.Replace(lfs, "This", "$(scripts/check.sh)", 1) + "git lfs pre-push \"$@\"\n":        true,
		strings.Replace(lfs, "This", "\\\"; scripts/check.sh; : ", 1) + "git lfs pre-push \"$@\"\n": true,
	} {
		asked, not := []string{"main.go", "scripts/check.sh"}, []string(nil)
		if !asks {
			asked, not = not, asked
		}
		b := newGitEdits(t, asked, not)
		inGit(t, b.config.Dir, "init", "-q")
		put(t, b.config.Dir, ".git/hooks/pre-commit", sh+"not executable\n")
		putHook(t, b.config.Dir, ".git/hooks/pre-push", text)
		t.Logf("%q", text)
		b.edits()
		if want := "and the hook of git " + filepath.Join(b.config.Dir, ".git/hooks/pre-push") + " may run it"; asks &&
			!hasLine(b.reasons, want) {
			t.Errorf("%q", b.reasons)
		}
	}
}

// So do edits where the hook is that of a repository around the directory, or in it, or where it is
// not known what programs of git's configuration run, but for aliases.
func TestU17_WhereHooksMayRunFiles(t *testing.T) {
	peer.Need(t, "git")
	const script = "!for i in 1; do find . -name '*.sh' -exec sh {} +; done"
	for name, in := range map[string]func(b *gitEdits, dir string){
		"around": func(b *gitEdits, dir string) {
			inGit(t, dir, "init", "-q")
			putHook(t, b.config.Dir, ".git/hooks/pre-push", "sub/x\n")
			put(t, dir, "sub/y", "")
			b.config.Dir = filepath.Join(dir, "sub")
		},
		"inside": func(b *gitEdits, dir string) {
			inGit(t, dir, "init", "-q", "a/b")
			putHook(t, b.config.Dir, "a/b/.git/hooks/pre-push", "../../x\n")
		},
		"inside, without a work tree": func(b *gitEdits, dir string) {
			inGit(t, dir, "init", "-q", "--bare", "a/b")
			putHook(t, b.config.Dir, "a/b/hooks/post-receive", "sh ../../x\n")
		},
		"inside, among many": func(b *gitEdits, dir string) {
			for i := range git.MaxFound {
				put(t, dir, fmt.Sprintf("a/%d/.git/HEAD", i), "")
			}
			inGit(t, dir, "init", "-q", "b/c/d")
			putHook(t, b.config.Dir, "b/c/d/.git/hooks/pre-push", "sh ../../x\n")
		},
		"by entering one of many": func(b *gitEdits, dir string) {
			for i := range git.MaxFound {
				put(t, dir, fmt.Sprintf("a/%d/.envrc", i), "# none")
			}
			put(t, dir, "b/c/d/.envrc", ". ../x")
		},
		"of the user": func(b *gitEdits, dir string) {
			put(t, b.home, ".gitconfig", "[core]\n\thooksPath = ~/hooks\n")
			putHook(t, b.home, "hooks/pre-push", "exec scripts/push.sh\n")
		},
		"of a further directory": func(b *gitEdits, dir string) {
			more := realTemp(t)
			inGit(t, dir, "init", "-q", more)
			putHook(t, more, ".git/hooks/pre-push", "x\n")
			b.config.AddDirs = []string{more}
		},
		"of GIT_DIR": func(b *gitEdits, _ string) {
			inGit(t, b.home, "init", "-q", "--bare", "store")
			putHook(t, b.home, "store/hooks/pre-push", "x\n")
			b.withVars(map[string]string{"GIT_DIR": filepath.Join(b.home, "store")})
		},
		"of a work tree in GIT_DIR": func(b *gitEdits, _ string) {
			inGit(t, b.home, "init", "-q", "store")
			inGit(t, b.home, "-C", "store", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q",
				"--allow-empty", "-m", "x")
			inGit(t, b.home, "-C", "store", "worktree", "add", "-q", "../tree")
			putHook(t, b.home, "store/.git/hooks/pre-push", "x\n")
			b.withVars(map[string]string{"GIT_DIR": filepath.Join(b.home, "store/.git/worktrees/tree")})
		},
		"of GIT_COMMON_DIR": func(b *gitEdits, _ string) {
			inGit(t, b.home, "init", "-q", "--bare", "store")
			putHook(t, b.home, "store/hooks/pre-push", "x\n")
			b.withVars(map[string]string{"GIT_COMMON_DIR": filepath.Join(b.home, "store")})
		},
		"of GIT_WORK_TREE": func(b *gitEdits, dir string) {
			inGit(t, b.home, "init", "-q", "--bare", "store")
			inGit(t, b.home, "--git-dir=store", "config", "core.hooksPath", "hooks")
			putHook(t, dir, "sub/hooks/pre-push", "x\n")
			b.withVars(map[string]string{"GIT_DIR": filepath.Join(b.home, "store"), "GIT_WORK_TREE": "sub"})
		},
		"of a name with a blank at its end": func(b *gitEdits, dir string) {
			inGit(t, dir, "init", "-q", "--separate-git-dir", b.home+"/store ")
			putHook(t, b.home, "store /hooks/pre-push", "x\n")
		},
		"of a name with a NUL": func(b *gitEdits, dir string) {
			inGit(t, b.home, "init", "-q", "--bare", "store")
			put(t, dir, ".git", "gitdir: "+b.home+"/store\x00x")
			putHook(t, b.home, "store/hooks/pre-push", "x\n")
		},
		"of a prefix": func(b *gitEdits, dir string) {
			inGit(t, dir, "init", "-q")
			inGit(t, dir, "config", "core.hooksPath", "%(prefix)/"+strings.Repeat("../", 20)+dir+"/ci")
			putHook(t, dir, "ci/pre-push", ":\n")
		},
		"of another user": func(b *gitEdits, dir string) {
			inGit(t, dir, "init", "-q")
			putHook(t, dir, ".git/hooks/pre-push", "sub/x\n")
			put(t, dir, "sub/y", "")
			if err := os.Chown(filepath.Join(dir, ".git"), 12345, 12345); err != nil {
				t.Skipf("only root can give files to somebody else: %v", err)
			}
			b.config.Dir = filepath.Join(dir, "sub")
		},
		"core.fsmonitor":  func(_ *gitEdits, dir string) { inGit(t, dir, "config", "core.fsmonitor", script) },
		"filter.x.smudge": func(_ *gitEdits, dir string) { inGit(t, dir, "config", "filter.x.smudge", "sh %f") },
		"filter.x.clean":  func(_ *gitEdits, dir string) { inGit(t, dir, "config", "filter.x.clean", script) },
		"core.editor":     func(_ *gitEdits, dir string) { inGit(t, dir, "config", "core.editor", script) },
		"credential.helper": func(_ *gitEdits, dir string) {
			inGit(t, dir, "config", "credential.helper", "!f() { echo username=x; echo \"password=$TOKEN\"; }; f")
			inGit(t, dir, "config", "core.editor", "vim")
		},
		"alias.x": func(_ *gitEdits, dir string) { inGit(t, dir, "config", "alias.x", script) },
	} {
		t.Run(name, func(t *testing.T) {
			asked, not := []string{"main.go"}, []string(nil)
			if name == "alias.x" {
				asked, not = not, asked
			}
			b := newGitEdits(t, asked, not)
			if strings.Contains(name, ".") {
				inGit(t, b.config.Dir, "init", "-q")
			}
			in(b, b.config.Dir)
			b.edits()
		})
	}
}

// Such a question names the hook and is asked once: a person can allow edits for the session. What
// has a hook, or starts one, asks as before.
func TestU17_EditsThatHooksMayRunAskOnce(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, []string{"tools/hooks/pre-commit"}, []string{"main.go", "scripts/check.sh", "a/new.py"})
	inGit(t, b.config.Dir, "init", "-q")
	inGit(t, b.config.Dir, "config", "core.hooksPath", "tools/hooks")
	putHook(t, b.config.Dir, "tools/hooks/pre-push", "#!/bin/sh\nexec scripts/check.sh\n")
	put(t, b.config.Dir, "tools/hooks/pre-commit", "")
	b.allowOthers()
	b.edits()
	hook := filepath.Join(b.config.Dir, "tools/hooks/pre-push")
	want := []string{filepath.Dir(hook) + "/pre-commit: " + filepath.Dir(hook) + " can start programs or allow them",
		"it changes " + filepath.Join(b.config.Dir, "main.go") + ", and the hook of git " + hook + " may run it"}
	for _, reason := range want {
		if !slices.Contains(b.reasons, reason) {
			t.Errorf("%q does not say %q", b.reasons, reason)
		}
	}
	if len(b.reasons) > 3 { // both are about tools/hooks/pre-commit
		t.Errorf("%q", b.reasons)
	}
}

// In the mode accept-edits nobody changes, without a question, from what git takes the programs
// that it runs, whatever the names of these files are.
func TestU17_WhatGitRunsByOtherNames(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, []string{"store.git/config", "store.git/hooks/pre-commit", "team.gitconfig", "more.gitconfig",
		"build/hooks/pre-push", "fixtures/old/config", "tools/mon.sh", "scripts/ph"},
		[]string{"main.go", "build/x.go", "fixtures/new/config"})
	dir := b.config.Dir
	inGit(t, dir, "init", "-q", "--separate-git-dir", "store.git")
	inGit(t, dir, "config", "include.path", "../team.gitconfig")
	inGit(t, dir, "config", "core.hooksPath", "build/hooks")
	inGit(t, dir, "config", "core.fsmonitor", "tools/mon.sh")
	inGit(t, dir, "init", "-q", "--bare", "fixtures/old")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "store.git/hooks"), 0o755), os.Symlink("../../scripts/ph",
		filepath.Join(dir, "store.git/hooks/post-commit"))); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "HEAD", "notes\n") // which git does not take for a repository's
	put(t, dir, "team.gitconfig", "[includeIf \"onbranch:x\"]\n\tpath = more.gitconfig\n")
	b.edits()
}

// Where the directory of hooks is a link into the work tree, an edit of a hook there asks.
func TestU17_HooksBehindALink(t *testing.T) {
	peer.Need(t, "git")
	for name, hooks := range map[string]struct{ from, to, hook string }{
		"of the repository": {".git/hooks", "../tools/git", "tools/git/pre-commit"},
		"to a link":         {".git/hooks", "../a/link", "a/b/hooks/pre-commit"},
		"of a nested one":   {"sub/.git/hooks", "..", "sub/pre-commit"},
		"to the directory":  {".git/hooks", "..", "pre-commit"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newGitEdits(t, []string{hooks.hook}, []string{"main.go", "sub/main.go", "tools/x"})
			dir := b.config.Dir
			inGit(t, dir, "init", "-q", "--template=")
			inGit(t, dir, "init", "-q", "--template=", "sub")
			put(t, dir, "a/b/hooks/x", "")
			if err := errors.Join(os.Symlink("b/hooks", filepath.Join(dir, "a/link")),
				os.Symlink(hooks.to, filepath.Join(dir, hooks.from))); err != nil {
				t.Fatal(err)
			}
			putHook(t, dir, hooks.hook, "#!/bin/sh\n:\n")
			b.allowOthers()
			b.edits()
		})
	}
}

// In the mode accept-edits nobody plants, without a question, programs and modules that a later
// command of the user finds: in directories of PATH, and among the packages of the project.
func TestU17_ProgramsThatAreFound(t *testing.T) {
	asked := []string{"own/bin/git", "linked/new", ".venv/bin/activate",
		".venv/lib/python3.11/site-packages/a.pth", "env3/lib/python3/site-packages/a.py", "venv/bin/git",
		"node_modules/typescript/lib/tsserver.js", "web/node_modules/.bin/tsc", "sitecustomize.py",
		"src/usercustomize.py"}
	b := newGitEdits(t, asked, []string{"main.go", "own/x", "bin/x"})
	move := "*** Begin Patch\n*** Update File: .venv/bin/pip\n*** Move to: .venv/bin/git\n@@\n-pip\n+evil\n*** " +
		"End Patch"
	turns := []fakellm.Turn{calls(t, "apply_patch", object{"patch": move})}
	for _, name := range slices.Concat(asked, b.not) {
		turns = append(turns, calls(t, "write_file", object{"file_path": name, "content": "x"}))
	}
	b.model(fakellm.Script(append(turns, fakellm.Turn{Text: "done"})...))
	put(t, b.dir, ".venv/bin/pip", "pip\n")
	put(t, b.dir, "tools/x", "x")
	b.link("tools", "linked")
	b.config.Getenv = variables("OPENAI_API_KEY", "k", "OPENAI_BASE_URL", b.url+"/v1", "HOME", b.home,
		"PATH", strings.Join([]string{"/usr/bin", filepath.Join(b.dir, "own/bin"), "", ".", "linked/", b.dir}, ":"))
	b.config.chosen.provider, b.config.chosen.model = ptr("openai"), ptr("m") // whose models patch files
	b.allowOthers()
	b.edits()
	if b.read(".venv/bin/git") != "-" {
		t.Error("a program was moved to another name without a question")
	}
}

// Where PATH has the directory of the session itself, an edit of any file asks, because it may be
// one of the programs.
func TestU17_ProgramsInTheDirectory(t *testing.T) {
	for _, path := range []string{".", "", "bin", "DIR"} {
		b := newGitEdits(t, []string{"tool", "main.go"}, nil)
		b.withVars(map[string]string{"PATH": strings.ReplaceAll(path, "DIR", b.dir) + ":/usr/bin"})
		b.edits()
	}
}

// Where PATH finds programs of git's configuration in the session's directories, an edit of any
// file asks: an environment of Python loads code of the project.
func TestU17_ProgramsOfGitThatAreFoundInside(t *testing.T) {
	peer.Need(t, "git")
	for program, asks := range map[string]bool{"nbstripout": true, "black": false} {
		b := newGitEdits(t, []string{"main.go"}, nil)
		if !asks {
			b.asked, b.not = nil, b.asked
		}
		putHook(t, b.dir, ".venv/bin/"+program, "x")
		put(t, b.home, ".gitconfig", "[diff \"ipynb\"]\n\ttextconv = nbstripout -t\n")
		b.withVars(map[string]string{"PATH": filepath.Join(b.dir, ".venv/bin") + ":/usr/bin"})
		b.edits()
	}
}

// In the mode accept-edits nobody changes, without a question, what MCP servers run, which the next
// session starts.
func TestM1_EditsOfWhatServersRunAsk(t *testing.T) {
	asked := []string{"tools/server.py", "tools/loaded.js", "sub/given.py", "tools/trusted.sh"}
	b := newGitEdits(t, asked, []string{"main.go", "tools/x"})
	for _, name := range asked {
		put(t, b.dir, name, "exit(1)\n")
	}
	put(t, b.home, ".config/attractor/mcp.json", `{"mcpServers": {"mine": {"command": "python3", "cwd": ".",
		"args": ["-X", "utf8", "tools/server.py"], "env": {"NODE_OPTIONS": "--require=./tools/loaded"}},
		"away": {"command": "node", "args": ["`+b.dir+`/tools/loaded.js"]}}}`)
	put(t, b.dir, ".mcp.json", `{"mcpServers": {"theirs": {"command": "sh", "args": ["tools/trusted.sh"]}}}`)
	b.config.Servers = []mcp.Server{{Name: "given", Command: "python3", Args: []string{"-u", "given.py"},
		Dir: filepath.Join(b.dir, "sub")}}
	b.edits()
}

// In the mode accept-edits nobody changes, without a question, what language servers run, which the
// next edit starts.
func TestM11_EditsOfWhatServersRunAsk(t *testing.T) {
	asked := []string{"tools/language.js", "tools/plugin.js", "build.rs", "node_modules/typescript/lib/tsserver.js"}
	b := newGitEdits(t, asked, []string{"main.go", "tools/x"})
	put(t, b.dir, "tools/language.js", "exit(1)\n")
	put(t, b.dir, "tools/plugin.js", "exit(1)\n")
	put(t, b.home, ".config/attractor/lsp.json", `{"own": {"command": "node",
		"args": ["--stack-size=900", "tools/language.js"], "extensionToLanguage": {".own": "own"},
		"initializationOptions": {"plugins": [{"path": "tools/plugin.js"}]}}}`)
	b.config.LanguageServers = AllLanguageServers
	b.edits()
}

// inGit runs git in a directory.
func inGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// gitEdits is a session in accept-edits that writes files, about which nobody says yes.
type gitEdits struct {
	*team
	asked, not []string
	reasons    []string // of the questions
}

// no answers a question.
func (b *gitEdits) no(_ context.Context, q permit.Question) (permit.Answer, error) {
	b.reasons = append(b.reasons, q.Reasons...)
	return permit.Answer{Reason: "no"}, nil
}

// allowOthers lets edits of any file be allowed, once somebody is asked about one only because
// something may run it.
func (b *gitEdits) allowOthers() {
	b.config.Ask = func(ctx context.Context, q permit.Question) (permit.Answer, error) {
		answer, err := b.no(ctx, q)
		if slices.Contains(q.Allow, "Edit(./**)") {
			answer = permit.Answer{Verdict: tool.Allow, Remember: true}
		}
		return answer, err
	}
}

// In a directory that is hidden in the home directory an answer allows further edits.
func TestN8_ModesEditsInAHiddenDirectory(t *testing.T) {
	b := newGitEdits(t, nil, []string{"plugin/a.vim", "plugin/b.vim"})
	b.config.Dir = filepath.Join(b.home, ".vim")
	put(t, b.config.Dir, "plugin/c.vim", "")
	b.allowOthers()
	b.edits()
	want := []string{"it changes " + filepath.Join(b.config.Dir, "plugin/a.vim") +
		", and a program of yours may run it: " + b.config.Dir + " is hidden in your home directory"}
	if !slices.Equal(b.reasons, want) {
		t.Errorf("asked about %q, want %q", b.reasons, want)
	}
}

func newGitEdits(t *testing.T, asked, not []string) *gitEdits {
	var turns []fakellm.Turn
	for _, name := range slices.Concat(asked, not) {
		turns = append(turns, calls(t, "read_file", object{"file_path": name}),
			calls(t, "write_file", object{"file_path": name, "content": "x"}))
	}
	b := newTeam(t, nil, append(turns, fakellm.Turn{Text: "done"})...)
	b.config.Mode = permit.ModeAcceptEdits
	edits := &gitEdits{team: b, asked: asked, not: not}
	b.config.Ask = edits.no
	return edits
}

// edits checks which of the files are written.
func (b *gitEdits) edits() {
	b.Helper()
	b.open(func(_ *Setup, session *agent.Session) {
		if _, err := session.Submit(b.Context(), "the task"); err != nil {
			b.Error(err)
		}
	})
	written := func(name string) bool {
		data, err := os.ReadFile(filepath.Join(b.config.Dir, name))
		return err == nil && string(data) == "x"
	}
	for _, name := range b.asked {
		if written(name) {
			b.Errorf("%s was changed without a question", name)
		}
	}
	for _, name := range b.not {
		if !written(name) {
			b.Errorf("%s was not changed: %v", name, b.results())
		}
	}
}

// Many files that the configuration of the user includes do not hide that of the repository.
func TestU17_HooksBehindManyIncludes(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, []string{"ci/hooks/pre-commit"}, []string{"main.go"})
	var include strings.Builder
	for i := range 40 {
		fmt.Fprintf(&include, "[includeIf \"gitdir:~/work%d/\"]\n\tpath = ~/.git-work%d\n", i, i)
	}
	put(t, b.home, ".gitconfig", include.String())
	inGit(t, b.config.Dir, "init", "-q")
	inGit(t, b.config.Dir, "config", "core.hooksPath", "ci/hooks")
	b.edits()
}
