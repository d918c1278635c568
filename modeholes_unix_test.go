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
		"in its configuration": {".config", "", []string{"attractor/hooks.json", "Attractor/mcp.json"},
			[]string{"nvim/init.lua"}},
		"with it added": {"work", ".", []string{"../.vimrc", "../.config/attractor/config.json"},
			[]string{"../notes.txt", ".eslintrc"}},
		"with the state added": {"work", ".state", []string{"../.state/attractor/rules.json",
			"../.state/attractor/trust.json"}, nil},
		"in what is above work": {"work", "..", []string{"../../other/notes.txt"},
			[]string{".eslintrc", "../notes.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTeam(t, nil)
			b.home = filepath.Join(b.home, "home")
			put(t, b.home, "work/a.txt", "x")
			for _, dir := range []string{".config", ".state", "../other"} {
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
		asked := []string{"proj/githooks/pre-commit", "team.gitconfig", "deep/er/tools/fs.sh", "shared/check.sh"}
		b := newGitEdits(t, asked, []string{"proj/main.go"})
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
		put(t, dir, "proj/githooks/pre-commit", "#!/bin/sh\nsh ../shared/check.sh\n")
		put(t, dir, "team.gitconfig", "")
		proj := filepath.Join(dir, "proj")
		inGit(t, proj, "config", "core.hooksPath", "githooks")
		inGit(t, proj, "config", "include.path", "../../team.gitconfig")
		inGit(t, filepath.Join(dir, "deep/er"), "config", "core.fsmonitor", "tools/fs.sh")
		b.edits()
	}
}

// In the mode accept-edits nobody changes, without a question, what hooks of git and programs of
// its configuration run, whatever their commands look like.
func TestU17_WhatCommandsOfGitRun(t *testing.T) {
	peer.Need(t, "git")
	asked := []string{"scripts/check.sh", "scripts/more.py", "fs.py", "textconv.py", "tools/clean.sh", "tools/ed.sh",
		"tools/cred.sh", "scripts/st.py", "scripts/push.sh", "tools/url.sh", "tools/push.sh", "tools/instead.sh",
		"tools/tar.sh", "tools/authors.sh"}
	b := newGitEdits(t, asked, []string{"main.go"})
	dir := b.config.Dir
	for _, name := range asked {
		put(t, dir, name, "#!/bin/sh\n")
	}
	put(t, dir, "scripts/check.sh", "#!/bin/sh\npython3 -u scripts/more.py\n")
	put(t, b.home, "hooks/pre-push", "#!/bin/sh\nexec scripts/push.sh\n")
	put(t, b.home, ".gitconfig", "[alias]\n\tst = !python3 -X utf8 scripts/st.py\n[core]\n\thooksPath = ~/hooks\n")
	inGit(t, dir, "init", "-q")
	put(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\nset -e\nscripts/check.sh\n")
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

// The same holds for hooks that husky's run, and for programs that these find in packages.
func TestU17_WhatHooksOfHuskyRun(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, []string{"scripts/check.sh", "package.json", ".lintstagedrc.json", ".husky/commit-msg",
		"scripts/other.sh"}, []string{"main.go"})
	dir := b.config.Dir
	put(t, dir, "scripts/check.sh", "true\n")
	put(t, dir, "package.json", "{}\n")
	put(t, dir, ".husky/_/pre-commit", "#!/usr/bin/env sh\n. \"${0%/*}/h\"\n")
	put(t, dir, ".husky/_/h", "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\nsh -e \"$s\" \"$@\"\n")
	put(t, dir, ".husky/pre-commit", "sh scripts/check.sh\nnpx lint-staged\n")
	inGit(t, dir, "init", "-q")
	inGit(t, dir, "config", "core.hooksPath", ".husky/_")
	b.edits()
}

// The same holds for what the configurations of pre-commit, lefthook and lint-staged start, and for
// scripts of packages that one hook starts after others.
func TestU17_WhatRunnersOfHooksRun(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, []string{"Makefile", "scripts/made.sh", "scripts/lib.sh", "flow.sh", "tools/c.sh", "staged.sh", "t.js",
		"lint.js", "web/package.json", "web/w.js", "hooks.d/pre-commit/x", "packages/a/package.json", "packages/a/a.js",
		"scripts/other.sh"}, []string{"main.go", "web/x.js"})
	dir := b.config.Dir
	for name, text := range map[string]string{
		".pre-commit-config.yaml": "repos:\n- repo: local\n  hooks:\n  - id: a\n    entry: make check\n" +
			"  - {id: b, entry: ./flow.sh, language: system}\n  - id: c\n    entry: scripts/all.sh --fix\n",
		"lefthook.yaml": "pre-commit:\n  commands:\n    a:\n      root: \"web/\"\n      run: npm run w\n" +
			"    b:\n      run: \"bash -c 'sh tools/c.sh && npm run lint'\"\nsource_dir: hooks.d\n",
		"package.json": `{"scripts": {"test": "node t.js", "lint": "node lint.js"},
			"workspaces": ["packages/*"], "lint-staged": {"*.c": ["sh staged.sh"]}}`,
		"packages/a/package.json": `{"scripts": {"lint": "node a.js"}}`,
		"Makefile":                "check:\n\tsh scripts/made.sh\n", "web/package.json": `{"scripts": {"w": "node w.js"}}`,
		"scripts/all.sh": ". scripts/lib.sh\n", "hooks.d/pre-commit/x": "",
		".githooks/pre-commit": "pre-commit run\nlefthook run pre-commit\nnpx lint-staged\nnpm test\nnpx turbo run lint\n",
	} {
		put(t, dir, name, text)
	}
	for _, name := range []string{"scripts/made.sh", "scripts/lib.sh", "flow.sh", "tools/c.sh", "staged.sh", "t.js", "lint.js",
		"web/w.js", "packages/a/a.js"} {
		put(t, dir, name, "1\n")
	}
	inGit(t, dir, "init", "-q")
	inGit(t, dir, "config", "core.hooksPath", ".githooks")
	b.edits()
}

// The same holds for modules that Python would load instead of those of its library: beside a script,
// and, for a module as which pre-commit starts, in the directory of the repository.
func TestU17_ModulesOfPythonThatHooksLoad(t *testing.T) {
	peer.Need(t, "git")
	b := newGitEdits(t, []string{"argparse.py", "yaml.py", "json/__init__.py", "ci/logging.py", "tools/re.py"},
		[]string{"main.py", "app/__init__.py", "src/logging.py", "json/x.go"})
	dir := b.config.Dir
	inGit(t, dir, "init", "-q")
	put(t, dir, ".git/hooks/pre-commit", "#!/usr/bin/env bash\nINSTALL_PYTHON=/usr/bin/python3\n"+
		"ARGS=(hook-impl --config=.pre-commit-config.yaml)\nif [ -x \"$INSTALL_PYTHON\" ]; then\n"+
		"    exec \"$INSTALL_PYTHON\" -mpre_commit \"${ARGS[@]}\"\nfi\n")
	put(t, dir, ".git/hooks/pre-push", "#!/bin/sh\npython3 ci/check.py\ntools/run\n")
	put(t, dir, "ci/check.py", "import logging\n")
	put(t, dir, "tools/run", "#!/usr/bin/env python3\nimport re\n")
	b.edits()
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

// In the mode accept-edits nobody plants, without a question, programs and modules that a later
// command of the user finds: in directories of PATH, and among the packages of the project.
func TestU17_ProgramsThatAreFound(t *testing.T) {
	asked := []string{"own/bin/git", "linked/new", ".venv/bin/activate",
		".venv/lib/python3.11/site-packages/a.pth", "env3/lib/python3/site-packages/a.py", "venv/bin/git",
		"node_modules/typescript/lib/tsserver.js", "web/node_modules/.bin/tsc", "sitecustomize.py",
		"src/usercustomize.py"}
	b := newGitEdits(t, asked, []string{"main.go", "own/x", "bin/x"})
	move := "*** Begin Patch\n*** Update File: .venv/bin/pip\n*** Move to: .venv/bin/git\n@@\n-pip\n+evil\n*** End Patch"
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
	b.edits()
	if b.read(".venv/bin/git") != "-" {
		t.Error("a program was moved to another name without a question")
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
}

func newGitEdits(t *testing.T, asked, not []string) *gitEdits {
	var turns []fakellm.Turn
	for _, name := range slices.Concat(asked, not) {
		turns = append(turns, calls(t, "read_file", object{"file_path": name}),
			calls(t, "write_file", object{"file_path": name, "content": "x"}))
	}
	b := newTeam(t, nil, append(turns, fakellm.Turn{Text: "done"})...)
	b.config.Mode = permit.ModeAcceptEdits
	b.config.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
		return permit.Answer{Reason: "no"}, nil
	}
	return &gitEdits{b, asked, not}
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

// Where it is not known what a hook of git runs, edits of all scripts of the work tree ask.
func TestU17_ScriptsThatHooksMayRun(t *testing.T) {
	peer.Need(t, "git")
	scripts := []string{"scripts/new.sh", "mk/common.mk", "sub/Makefile", "mk/Makefile.common", "tools/check.py", "tools/program",
		"hooks/new", "hooks/10", "scripts/new.csh", "web/package.json", "JUSTFILE"}
	hooks := map[string]bool{
		"find scripts -name '*.sh' -exec sh {} \\;":                                true,
		"sh \"tools/$(basename \"$0\").sh\"":                                       true,
		"PATH=$PWD/tools:$PATH\nprogram":                                           true,
		"command -v git-lfs >/dev/null 2>&1 || exit 2\ngit lfs pre-push \"$@\"":    false,
		"grep -q '^Signed-off-by: ' \"$1\" || { echo 'sign it off' >&2; exit 1; }": false,
	}
	for hook, asks := range hooks {
		asked, not := scripts, []string{"main.go", "notes.txt", "tools/module.py", "LICENSE"}
		if !asks {
			asked, not = nil, append(not, scripts...)
		}
		b := newGitEdits(t, asked, not)
		inGit(t, b.config.Dir, "init", "-q")
		put(t, b.config.Dir, ".git/hooks/pre-push", "#!/bin/sh\n"+hook+"\n")
		put(t, b.config.Dir, "tools/check.py", "#!/usr/bin/env python3\n")
		put(t, b.config.Dir, "tools/program", "true\n")
		if err := os.Chmod(filepath.Join(b.config.Dir, "tools/program"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.edits()
	}
}

// The same holds where it is not known what programs of git's configuration run, but for aliases.
func TestU17_ScriptsThatCommandsOfGitMayRun(t *testing.T) {
	peer.Need(t, "git")
	for name, asks := range map[string]bool{"core.fsmonitor": true, "filter.x.clean": true, "core.editor": true,
		"alias.x": false} {
		asked, not := []string{"tools/new.sh", "bin/new"}, []string{"main.go", "notes.txt"}
		if !asks {
			asked, not = nil, append(not, asked...)
		}
		b := newGitEdits(t, asked, not)
		inGit(t, b.config.Dir, "init", "-q")
		inGit(t, b.config.Dir, "config", name, "!for i in 1; do find . -name '*.sh' -exec sh {} +; done")
		b.edits()
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
