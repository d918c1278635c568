//go:build unix

package attractor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// withVars puts variables in front of those of the session.
func (b *team) withVars(vars map[string]string) {
	getenv := b.config.Getenv
	b.config.Getenv = func(name string) string {
		if value, ok := vars[name]; ok {
			return value
		}
		return getenv(name)
	}
}

// Files are found in the values of variables as the programs find them: by other variables, by ~,
// in lists and in URLs. Of unknown variables, programs count.
func TestU23_ValuesOfVariables(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	t.Setenv("SOME_WRAPPER", "of the session")
	lead(t, map[string]string{filepath.Join(b.home, "proj"): dir})
	in := func(name string) string { return filepath.Join(dir, name) }
	b.withVars(map[string]string{"DOT": dir, "BASH_ENV": "$HOME/proj/env.sh", "ENV": "${DOT:-/x}/rc", "GOENV": "~/" +
		"proj/goenv",
		"MAKEFILES": "/a.mk " + in("b.mk"), "LESSKEYIN": "file://" + in("keys"),
		"SOME_WRAPPER": "nice " + in("wrap") + " " + in("data.txt"), "DATABASE": in("data.txt"), "EDITOR": "vi -c x",
		"SHELL":    "/bin/bash",
		"LESSOPEN": "||/usr/bin/lesspipe %s", "GIT_SSH_COMMAND": "ssh -F/etc/x --y=/etc/y",
		"MANPAGER": "sh -c 'col -bx | bat -l man -p'", "BROWSER": "xdg-open",
		"GOFLAGS": "-mod=vendor", "PERL5LIB": "/usr/share/perl5:/usr/lib/perl5", "PERL5OPT": "-I/usr/lib/x -w",
		"NODE_OPTIONS": "--max-old-space-size=1.5"})
	asked := []string{"env.sh", "rc", "goenv", "b.mk", "keys", "wrap"}
	not := []string{"data.txt", "main.go", "vendor/x"}
	for _, name := range append(slices.Clip(asked), not...) {
		put(t, dir, name, "x")
	}
	if err := os.Chmod(in("wrap"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	if written := b.writes(t, append(asked, not...)...); !slices.Equal(written, not) {
		t.Errorf("written were %q", written)
	}
}

// Where a variable with a command, or with options, names something in the directory, any file
// there may be loaded, so that an edit of any asks.
func TestU23_CommandsInVariables(t *testing.T) {
	for name, value := range map[string]string{"EDITOR": "$DOT/ed.sh", "VISUAL": "${NONE:-$DOT/vis.sh} -w",
		"GIT_PAGER": "tools/p", "NODE_OPTIONS": "--max-old-space-size=1 --import=file://$DOT/hook.mjs",
		"PERL5OPT": "-I. -MTest::Run", "GOFLAGS": "-toolexec=$DOT/tool", "LESSOPEN": "|-$DOT/open.sh %s",
		"PERL5LIB": "/usr/share/perl5:lib", "RUBYLIB": "lib", "MAKEFLAGS": "-Imk", "PYTHONPATH": ":/opt/lib",
		"NODE_PATH": "$DOT/lib",
		"RUBYOPT":   "-r$DOT/start.rb", "FCEDIT": "sh -c '~/proj/ed'"} {
		t.Run(name, func(t *testing.T) {
			b := newGitEdits(t, []string{"main.go"}, nil)
			lead(t, map[string]string{filepath.Join(b.home, "proj"): b.dir})
			value = strings.ReplaceAll(value, "$DOT", b.dir)
			b.withVars(map[string]string{name: value})
			b.edits()
			if want := "and the variable " + name + " may run it: it names something"; !hasLine(b.reasons, want) {
				t.Errorf("%q", b.reasons)
			}
		})
	}
}

// So does one where a variable has a command that may run any file, also where that names none.
func TestU23_CommandsInVariablesThatMayRunFiles(t *testing.T) {
	for name, command := range map[string]string{"GIT_EDITOR": "make -s", "PAGER": "python3 -m pages",
		"GIT_EXTERNAL_DIFF": "npx x", "PROMPT_COMMAND": "make -s", "EDITOR": "cd tools; sh $(cat name)"} {
		b := newGitEdits(t, []string{"main.go"}, nil)
		b.withVars(map[string]string{name: command})
		b.edits()
		if !hasLine(b.reasons, "and the variable "+name+" may run it: ") {
			t.Errorf("%s: %q", command, b.reasons)
		}
	}
	b := newGitEdits(t, nil, []string{"main.go", "tools/x"})
	b.withVars(map[string]string{"PAGER": "less -R", "VISUAL": "emacsclient -t", "EDITOR": "code --wait",
		"GIT_SSH_COMMAND": "ssh -i ~/.ssh/id", "BROWSER": "firefox"})
	b.edits()
}

// Git's configuration counts where variables have it, or name its files or the repository, and so
// do templates of repositories and home directories of others.
func TestU17_ConfigurationOfGitByVariables(t *testing.T) {
	peer.Need(t, "git")
	b, dir := newTeam(t, nil), realTemp(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	put(t, b.home, "outside/global", "[core]\n\thooksPath = "+in("global")+
		"\n[init]\n\ttemplateDir = "+in("template")+"\n")
	put(t, b.home, "outside/system", "[core]\n\tfsmonitor = "+in("system.sh")+"\n")
	inGit(t, b.home, "init", "-q", "--bare", "store")
	inGit(t, b.home, "--git-dir=store", "config", "core.hooksPath", in("store"))
	b.withVars(map[string]string{"GIT_CONFIG_GLOBAL": filepath.Join(b.home, "outside/global"),
		"GIT_CONFIG_SYSTEM": filepath.Join(b.home, "outside/system"), "GIT_DIR": filepath.Join(b.home, "store"),
		"GIT_CONFIG_COUNT": " 2", "GIT_CONFIG_KEY_0": "CORE.sshCommand", "GIT_CONFIG_VALUE_0": "./ssh.sh -v",
		"GIT_CONFIG_KEY_1": "core.hooksPath", "GIT_CONFIG_VALUE_1": "~root/.." + in("roots"),
		"GIT_CONFIG_PARAMETERS": "'core.editor=./ed one.sh' 'alias.Ci'='!./ci.sh'"})
	asked := []string{"global/pre-commit", "template/hooks/post-checkout", "system.sh", "store/pre-commit", "ssh.sh",
		"ci.sh"}
	if home, err := os.Stat("/root"); err == nil && home.IsDir() {
		asked = append(asked, "roots/pre-commit")
	}
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	if written := b.writes(t, append(asked, "main.go")...); !slices.Equal(written, []string{"main.go"}) {
		t.Errorf("written were %q", written)
	}
}

// Where the .envrc of the directory, or of one around it in its repository, or a configuration of
// mise may run files, an edit of any file asks: direnv and mise ask their user again only if their
// own files change.
func TestU17_WhatRunsByEntering(t *testing.T) {
	peer.Need(t, "git")
	const line1 = "line 1 does more than export a plain variable"
	for name, files := range map[string][]string{
		"plain": {"", ".envrc", "# the stage\nexport STAGE=dev\n\texport URL=\"http://$HOST/x y\"\n" +
			"export T='$(x)' \n"},
		"around":              {line1, "../.envrc", "PATH_add bin\n"},
		"a command":           {line1, ".envrc", "export URL=\"$(tools/p)\"\n"},
		"a command behind":    {line1, ".envrc", "export A=b; tools/p\n"},
		"a quote inside":      {line1, ".envrc", "export A='b'$(tools/p)''\n"},
		"a second variable":   {line1, ".envrc", "export A=b PATH=tools\n"},
		"an index":            {line1, ".envrc", "export A=${x[$(tools/p)]}\n"},
		"a line that goes on": {line1, ".envrc", "export A=b\\\n;tools/p\n"},
		"a carriage return":   {line1, ".envrc", "export A=b\r\n"},
		"a long file":         {"more than", ".envrc", strings.Repeat("# x\n", 16<<10) + "tools/p\n"},
		"a file":              {line1, ".envrc", "source_env_if_exists conf/local.rc\n"},
		"a shell":             {line1, ".envrc", "use flake\n"},
		"a pager":             {line1, ".envrc", "export GIT_PAGER=\"$(pwd)/tools/p\"\n"},
		"a path":              {line1, ".envrc", "export PATH=$PWD/bin:$PATH\n"},
		"a loop":              {line1, ".envrc", "for n in a b; do source tools/$n; done\n"},
		"tools": {"", "mise.toml", "min_version = \"1\"\n[tools]\nnode = \"22\"\ngo = [\"1.26\", " +
			"\"1.25\"]\n[env]\nSTAGE = \"dev\"\n[tasks.x]\nrun = \"sh x\"\n"},
		"a path of mise": {"more than versions", "mise.toml", "[env]\n_.path = [\"./bin\"]\n"},
		"an editor":      {"more than versions", ".mise.dev.toml", "[env]\nEDITOR = \"./ed\"\n"},
		"a template": {"more than versions", "mise/config.toml",
			"[env]\nA = \"{{ exec(command='sh x') }}\"\n"},
		"a hook of mise":     {"more than versions", "mise.toml", "[hooks]\nenter = \"sh tools/e\"\n"},
		"a tool in the tree": {"more than versions", "mise.toml", "[tools]\nnode = \"path:./node\"\n"},
		"a prompt":           {line1, ".envrc", "export PS0='$(tools/p)'\n"},
		"a home":             {line1, ".envrc", "export HOME=$PWD/dev\n"},
		"tables of mise":     {"more than versions", "mise.toml", "[[env]]\n_.source = \"tools/e\"\n"},
		"a tool of asdf":     {"more than versions", ".tool-versions", "nodejs path:./node\n"},
		"versions":           {"", ".tool-versions", "nodejs 22.1.0\n"},
		"an old name":        {"more than versions", ".rtx.toml", "[env]\nEDITOR = \"./ed\"\n"},
		"one of many":        {"more than versions", "mise/conf.d/x.toml", "[env]\nEDITOR = \"./ed\"\n"},
		"another name":       {"more than versions", ".config/mise/mise.local.toml", "[env]\nEDITOR = \"./ed\"\n"},
		"options of a tool": {"more than versions", "mise.toml", "[tools]\nnode = [\"22\", {version = \"20\", " +
			"postinstall = \"./x\"}]\n"},
		"no TOML":     {"more than versions", "mise.toml", "[tools\n"},
		"below":       {line1, "deep/er/.envrc", "PATH_add bin\n"},
		"mise below":  {"more than versions", "deep/er/.config/mise.toml", "[env]\n_.path = [\"./bin\"]\n"},
		"plain below": {"", "deep/er/.envrc", "export STAGE=dev\n"},
		"a pipe":      {"not a regular file", ".envrc"},
	} {
		b, top := newTeam(t, nil), filepath.Join(realTemp(t), "a [b]")
		put(t, top, "sub/main.go", "")
		inGit(t, top, "init", "-q")
		b.config.Dir, b.config.Mode = filepath.Join(top, "sub"), permit.ModeAcceptEdits
		if len(files) > 2 {
			put(t, b.config.Dir, files[1], files[2])
		} else if err := syscall.Mkfifo(filepath.Join(b.config.Dir, files[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		edits := &gitEdits{team: b}
		b.model(fakellm.Script(calls(t, "read_file", object{"file_path": "main.go"}),
			calls(t, "write_file", object{"file_path": "main.go", "content": "x"}), fakellm.Turn{Text: "done"}))
		b.config.Ask = edits.no
		if edits.not = []string{"main.go"}; files[0] != "" {
			edits.asked, edits.not = edits.not, nil
		}
		edits.edits()
		if files[0] != "" && !hasLine(edits.reasons, files[0]) {
			t.Errorf("%s: %q", name, edits.reasons)
		}
	}
}

// What the model reads about files that a repository brings has nothing of their content: they may
// be links to a file with secrets.
func TestU17_LinkedSecretsAreNotTold(t *testing.T) {
	for link, c := range map[string]struct {
		call fakellm.Turn
		told string
	}{
		".envrc": {calls(t, "write_file", object{"file_path": "main.go", "content": "x"}),
			".envrc may run it: line 1"},
		".git/commondir": {calls(t, "shell", object{"command": "git config -l"}),
			"/.git is not a repository: it, or what its commondir names, has no directory objects"},
	} {
		b, secrets := newBench(t, c.call, fakellm.Turn{Text: "done"}), t.TempDir()
		inGit(t, b.dir, "init", "-q")
		put(t, secrets, ".vault-token", "hidden-from-the-model\n")
		if err := os.Symlink(filepath.Join(secrets, ".vault-token"), filepath.Join(b.dir, link)); err != nil {
			t.Fatal(err)
		}
		config := b.config()
		config.Mode = permit.ModeAcceptEdits
		config.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url, "HOME", secrets)
		b.submit(config, "look")
		if text := b.lastResults(); !strings.Contains(text, c.told) || strings.Contains(text, "hidden-from-the-model") {
			t.Errorf("%s: the model reads\n%s", link, text)
		}
	}
}

// The start-up files of mise ask, also those of an environment that are not there yet.
func TestU17_FilesOfMise(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	if written := b.writes(t, "mise.dev.toml", "sub/mise.dev.local.toml", "main.go"); !slices.Equal(written,
		[]string{"main.go"}) {
		t.Errorf("written were %q", written)
	}
}
