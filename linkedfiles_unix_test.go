//go:build unix

package attractor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// lead makes links, each from a name to what it leads to.
func lead(t *testing.T, links map[string]string) {
	t.Helper()
	for name, to := range links {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
}

// writes returns a session in which the model writes files, and nobody allows what asks. It returns
// which of them were written.
func (b *team) writes(t *testing.T, names ...string) (written []string) {
	t.Helper()
	var turns []fakellm.Turn
	for _, name := range names {
		turns = append(turns, calls(t, "read_file", object{"file_path": name}),
			calls(t, "write_file", object{"file_path": name, "content": "EVIL"}))
	}
	b.model(fakellm.Script(append(turns, fakellm.Turn{Text: "done"})...))
	b.config.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
		return permit.Answer{Reason: "no"}, nil
	}
	b.open(func(_ *Setup, session *agent.Session) {
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
	})
	for _, name := range names {
		if data, err := os.ReadFile(filepath.Join(b.config.Dir, name)); err == nil && string(data) == "EVIL" {
			written = append(written, name)
		}
	}
	return written
}

// The settings and decisions of attractor stay as they are if they are links into the session's
// directory, or if the home directory has another name.
func TestU23_OwnFilesThatAreLinks(t *testing.T) {
	for _, mode := range []permit.Mode{permit.ModeAcceptEdits, permit.ModeFull} {
		b, dir := newTeam(t, nil), realTemp(t)
		config := filepath.Join(b.home, ".config", "attractor")
		put(t, dir, "config.json", "{}")
		put(t, dir, "st/attractor/x", "")
		lead(t, map[string]string{filepath.Join(config, "config.json"): filepath.Join(dir, "config.json"),
			filepath.Join(config, "hooks.json"): filepath.Join(dir, "h.json"),
			filepath.Join(b.home, ".state"):     filepath.Join(dir, "st")})
		b.config.Dir, b.config.Mode = dir, mode
		want := []string{"plain.txt"}
		if mode == permit.ModeFull {
			want = []string{"h.json", "plain.txt"}
		}
		written := b.writes(t, "config.json", "st/attractor/rules.json", "h.json", "plain.txt")
		if !slices.Equal(written, want) {
			t.Errorf("%s: written were %q", mode, written)
		}
	}
	b, home := newTeam(t, nil), realTemp(t)
	put(t, home, ".config/attractor/config.json", "{}")
	put(t, home, ".state/attractor/x", "")
	b.home = filepath.Join(t.TempDir(), "home")
	lead(t, map[string]string{b.home: home})
	b.config.Dir, b.config.Mode = home, permit.ModeFull
	written := b.writes(t, ".config/attractor/config.json", ".state/attractor/rules.json", "plain.txt")
	if !slices.Equal(written, []string{"plain.txt"}) {
		t.Errorf("in a linked home directory %q were written", written)
	}
}

// The same holds for commands in a sandbox.
func TestU23_OwnFilesThatAreLinksInASandbox(t *testing.T) {
	peer.Need(t, "bwrap")
	b, dir := newTeam(t, nil), realTemp(t)
	names := []string{"config.json", "h.json", "bashrc", "nvim/init.lua"}
	for _, name := range append(names, "other", "st/attractor/more") {
		put(t, dir, name, "{}")
	}
	config := filepath.Join(b.home, ".config")
	lead(t, map[string]string{filepath.Join(config, "attractor", "config.json"): filepath.Join(dir, "config.json"),
		filepath.Join(config, "attractor", "hooks.json"): filepath.Join(dir, "h.json"),
		filepath.Join(b.home, ".state"):                  filepath.Join(dir, "st"),
		filepath.Join(b.home, ".bashrc"):                 filepath.Join(dir, "bashrc"),
		filepath.Join(config, "nvim"):                    filepath.Join(dir, "nvim")})
	b.model(fakellm.Script(calls(t, "shell", object{"command": "for f in config.json h.json bashrc nvim/init.lua " +
		"st/attractor/more other; do echo EVIL >$f; rm -f $f; mv $f $f.x; done; mv st s; mv nvim n"}),
		fakellm.Turn{Text: "done"}))
	b.config.Dir, b.config.Mode, b.config.Sandbox = dir, permit.ModeFull, sandbox.Options{Level: sandbox.Workspace,
		State: t.TempDir(), Cache: t.TempDir()}
	b.open(func(_ *Setup, session *agent.Session) {
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
	})
	for _, name := range append(names, "st/attractor/more") {
		if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != "{}" {
			t.Errorf("a command has changed %s: %q, %v; %v", name, data, err, b.results())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Errorf("the command did not run: %v", b.results())
	}
}

// What starts programs because a link of the home directory, of a hook or of PATH leads to it,
// asks.
func TestU23_StartingFilesThatAreLinks(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	put(t, b.home, ".claude/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "`+
		filepath.Join(b.home, "mine/check.sh")+`"}]}]}}`)
	asked := []string{"dot/bashrc", "dot/vimrc", "dot/nvim/init.lua", "claude.json", "skills/x/SKILL.md",
		"skill2/SKILL.md", "reviewer.md", "scripts/check.sh", "tool.sh", "made/later", "dot/ssh/config"}
	not := []string{"dot/other", "main.go"}
	for _, name := range append(slices.Clip(asked[:9]), not...) {
		put(t, dir, name, "x")
	}
	home := func(name string) string { return filepath.Join(b.home, name) }
	in := func(name string) string { return filepath.Join(dir, name) }
	lead(t, map[string]string{home(".bashrc"): in("dot/bashrc"), home(".vimrc"): in("dot/vimrc"),
		home(".config/nvim"): in("dot/nvim"), home(".claude/settings.local.json"): in("claude.json"),
		home(".claude/skills"): in("skills"), home(".agents/skills/y"): in("skill2"),
		home(".ssh/config"):         in("dot/ssh/config"),
		home(".claude/agents/r.md"): in("reviewer.md"), home("mine"): in("scripts"), home("go/bin/tool"): in("tool.sh"),
		home("go/bin/later"): in("made/later")})
	getenv := b.config.Getenv
	b.config.Getenv = func(name string) string {
		if name == "PATH" {
			return home("go/bin") + ":" + os.Getenv("PATH")
		}
		return getenv(name)
	}
	b.config.Dir, b.config.Mode, b.config.Allow = dir, permit.ModeAcceptEdits, []string{"Edit(./**)"}
	if written := b.writes(t, append(asked, not...)...); !slices.Equal(written, not) {
		t.Errorf("written were %q", written)
	}
}

// What variables of the user name, to be run or read as configuration, asks.
func TestU23_FilesThatVariablesName(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	vars := map[string]string{"GIT_CONFIG_GLOBAL": in("gitc"), "BASH_ENV": in("env.sh"), "PYTHONSTARTUP": in("py/" +
		"startup.py"), "KUBECONFIG": "/etc/k:" + in("kube"), "ZDOTDIR": in("zsh")}
	asked := []string{"gitc", "env.sh", "py/startup.py", "kube", "zsh/new"}
	not := []string{"lib/x.py", "main.go"}
	for _, name := range append(slices.Clip(asked), not...) {
		if name != "zsh/new" {
			put(t, dir, name, "[x]\n") // git can read it
		}
	}
	getenv := b.config.Getenv
	b.config.Getenv = func(name string) string {
		if value, ok := vars[name]; ok {
			return value
		}
		return getenv(name)
	}
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	if written := b.writes(t, append(asked, not...)...); !slices.Equal(written, not) {
		t.Errorf("written were %q", written)
	}
}

// ENV is the start-up file of a shell, and in many projects the name of a stage: a word counts only
// if a file has that name.
func TestU23_ENVThatIsAWord(t *testing.T) {
	for value, want := range map[string][]string{
		"dev": {"dev/x", "new/x", "startup", "rc/x"}, "new": {"dev/x", "new/x", "startup", "rc/x"},
		"startup": {"dev/x", "new/x", "rc/x"}, "./rc": {"dev/x", "new/x", "startup"}} {
		b, dir := newTeam(t, nil), realTemp(t)
		put(t, dir, "dev/x", "x")
		put(t, dir, "startup", "x")
		getenv := b.config.Getenv
		b.config.Getenv = func(name string) string {
			if name == "ENV" {
				return value
			}
			return getenv(name)
		}
		b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
		if written := b.writes(t, "dev/x", "new/x", "startup", "rc/x"); !slices.Equal(written, want) {
			t.Errorf("ENV=%s: written were %q", value, written)
		}
	}
}

// In a directory to which agents, skills or commands of the user are a link, everything asks.
func TestU23_TheSessionIsADirectoryOfAgents(t *testing.T) {
	for link, want := range map[string][]string{".claude/agents": nil, ".claude/skills/mine": nil,
		".config/attractor/commands": nil, ".agents/skills": nil, ".config/other": {"x.md"}, "src/link": {"x.md"}} {
		b, dir := newTeam(t, nil), realTemp(t)
		put(t, dir, "main.go", "x")
		lead(t, map[string]string{filepath.Join(b.home, link): dir})
		b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
		if written := b.writes(t, "x.md"); !slices.Equal(written, want) {
			t.Errorf("%s: written were %q", link, written)
		}
	}
}
