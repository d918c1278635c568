//go:build unix

package attractor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
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

// Files are found in the values of variables as the programs find them: by other variables, by ~, in
// lists, in options, in URLs, and by modules. Of unknown variables, programs count.
func TestU23_ValuesOfVariables(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	t.Setenv("SOME_WRAPPER", "of the session")
	lead(t, map[string]string{filepath.Join(b.home, "proj"): dir})
	in := func(name string) string { return filepath.Join(dir, name) }
	b.withVars(map[string]string{"DOT": dir, "BASH_ENV": "$HOME/proj/env.sh",
		"ENV": "${DOT:-/x}/rc", "GOENV": "~/proj/goenv",
		"EDITOR": "$DOT/ed.sh", "VISUAL": "${NONE:-" + in("vis.sh") + "} -w", "MAKEFILES": "/a.mk " + in("b.mk"),
		"NODE_OPTIONS": "--max-old-space-size=1 --import=file://" + in("hook.mjs"), "PERL5OPT": "-I. -MTest::Run",
		"GOFLAGS": "-toolexec=" + in("tool"), "SOME_WRAPPER": "nice " + in("wrap") + " " + in("data.txt"),
		"LESSOPEN": "|-" + in("open.sh") + " %s",
		"RUBYOPT":  "-r" + in("start.rb"), "DATABASE": in("data.txt")})
	asked := []string{"env.sh", "rc", "goenv", "ed.sh", "vis.sh", "b.mk", "hook.mjs", "Test/Run.pm", "tool", "wrap",
		"open.sh", "start.rb"}
	not := []string{"data.txt", "main.go", "Test/More.pm"}
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

// Git's configuration counts where variables have it, or name its files or the repository, and so do
// templates of repositories and home directories of others.
func TestU17_ConfigurationOfGitByVariables(t *testing.T) {
	peer.Need(t, "git")
	b, dir := newTeam(t, nil), realTemp(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	put(t, b.home, "outside/global", "[core]\n\thooksPath = "+in("global")+
		"\n[init]\n\ttemplateDir = "+in("template")+"\n")
	put(t, b.home, "outside/system", "[core]\n\tfsmonitor = "+in("system.sh")+"\n")
	inGit(t, b.home, "init", "-q", "--bare", "store")
	inGit(t, b.home, "--git-dir=store", "config", "core.hooksPath", in("store"))
	put(t, b.home, "store/hooks/pre-push", "#!/bin/sh\nsh push.sh\n")
	b.withVars(map[string]string{"GIT_CONFIG_GLOBAL": filepath.Join(b.home, "outside/global"),
		"GIT_CONFIG_SYSTEM": filepath.Join(b.home, "outside/system"), "GIT_DIR": filepath.Join(b.home, "store"),
		"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "CORE.sshCommand", "GIT_CONFIG_VALUE_0": "./ssh.sh -v",
		"GIT_CONFIG_KEY_1": "core.hooksPath", "GIT_CONFIG_VALUE_1": "~root/.." + in("roots"),
		"GIT_CONFIG_PARAMETERS": "'core.editor=./ed one.sh' 'alias.Ci'='!./ci.sh'"})
	asked := []string{"global/pre-commit", "template/hooks/post-checkout", "system.sh", "store/pre-commit", "push.sh",
		"ssh.sh", "ci.sh"}
	if home, err := os.Stat("/root"); err == nil && home.IsDir() {
		asked = append(asked, "roots/pre-commit")
	}
	for _, name := range append(slices.Clip(asked), "main.go") {
		put(t, dir, name, "x")
	}
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	if written := b.writes(t, append(asked, "main.go")...); !slices.Equal(written, []string{"main.go"}) {
		t.Errorf("written were %q", written)
	}
}

// What the .envrc of the directory, or of one around it, names and runs asks, also files that are not
// there yet: direnv runs it at the next prompt once its user has allowed the .envrc.
func TestU17_FilesThatDirenvRuns(t *testing.T) {
	peer.Need(t, "git")
	b, top := newTeam(t, nil), realTemp(t)
	inGit(t, top, "init", "-q")
	dir := filepath.Join(top, "sub")
	put(t, top, ".envrc", "source sub/top.sh\nexport PYTHONPATH=$PWD/sub/src\n")
	put(t, dir, ".envrc", "use flake\n. ./scripts/env.sh\n[ -f local.sh ] && . ./local.sh\nPATH_add bin\n"+
		"export PATH=\"$PWD/tools/bin:$PATH\"\n")
	put(t, dir, "flake.nix", "{\n  outputs = _: {\n    shell = import ./nix/shell.nix;\n  };\n}\n")
	put(t, dir, "nix/shell.nix", "{}\n")
	put(t, dir, "scripts/env.sh", ". ./scripts/inner.sh\n")
	for _, name := range []string{"top.sh", "scripts/inner.sh", "src/main.py", "scripts/other.sh"} {
		put(t, dir, name, "x")
	}
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	not := []string{"src/main.py", "src/new.py", "nix/other.nix", "tools/x.py"}
	if written := b.writes(t, append([]string{"top.sh", "scripts/env.sh", "scripts/inner.sh", "local.sh", "flake.nix",
		"nix/shell.nix", "default.nix", "bin/git", "tools/bin/git", "scripts/other.sh", "new.sh", "tools/x"}, not...)...); !slices.Equal(written, not) {
		t.Errorf("written were %q", written)
	}
}

// Programs and scripts ask in the directories that a .envrc names, and in all of the repository if it
// is not known what it runs; so do files that it takes variables from.
func TestU17_ScriptsThatDirenvMayRun(t *testing.T) {
	peer.Need(t, "git")
	for text, c := range map[string]struct{ asked, not []string }{
		"export A=1\nexport B=$PWD/src\n":        {nil, []string{"tools/git", "a.sh"}},
		"layout php\n":                           {[]string{"vendor/bin/git"}, []string{"tools/git", "a.sh"}},
		"load_prefix tools\n":                    {[]string{"tools/bin/git"}, []string{"git", "tools/x.py", "a.sh"}},
		"path_add PATH tools; true\n":            {[]string{"tools/git"}, []string{"other/git"}},
		"D=$(pwd)/tools\nPATH_add $D\n":          {[]string{"tools/git"}, []string{"tools/x.txt", "other/git"}},
		"PATH_add \"${D:-$PWD}/tools\"\n":        {[]string{"tools/git"}, []string{"other/git"}},
		"export GIT_PAGER=\"$(pwd)/tools/p\"\n":  {[]string{"tools/p"}, []string{"tools/q"}},
		"source_env_if_exists conf/local.rc\n":   {[]string{"conf/local.rc"}, []string{"conf/x.rc", "a.sh"}},
		"dotenv_if_exists conf/local.conf\n":     {[]string{"conf/local.conf"}, []string{"conf/x.conf", "a.sh"}},
		"for n in a b; do source tools/$n; done": {[]string{"tools/a", "a.sh", "other/new"}, []string{"main.go", "src/x.py"}},
	} {
		b, dir := newTeam(t, nil), realTemp(t)
		inGit(t, dir, "init", "-q")
		put(t, dir, ".envrc", text)
		b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
		if written := b.writes(t, append(c.asked, c.not...)...); !slices.Equal(written, c.not) {
			t.Errorf("%s: written were %q", text, written)
		}
	}
}

// So do the files that the configuration of mise names, and scripts in the directories that it adds
// to PATH. A file of an environment is one of its configuration.
func TestU17_ScriptsThatMiseMayRun(t *testing.T) {
	peer.Need(t, "git")
	b, dir := newTeam(t, nil), filepath.Join(realTemp(t), "a [b]")
	put(t, dir, "mise.toml", "[env]\n_.path = [\"./bin\"]\n_.source = \"./tools/env.sh\"\n_.file = \"conf/x.json\"\n"+
		"[hooks]\nenter = \"sh tools/e\"\n")
	put(t, dir, "conf/x.json", "{}\n")
	inGit(t, dir, "init", "-q")
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	not := []string{"main.go", "tools/other.sh", "conf/y.json"}
	if written := b.writes(t, append([]string{"bin/git", "tools/env.sh", "tools/e", "conf/x.json", "mise.dev.toml",
		"sub/mise.dev.local.toml"}, not...)...); !slices.Equal(written, not) {
		t.Errorf("written were %q", written)
	}
}

// Where the configurations of mise have too many words to look all of them up, all scripts ask.
func TestU17_ManyWordsOfMise(t *testing.T) {
	peer.Need(t, "git")
	b, dir := newTeam(t, nil), realTemp(t)
	for i := range 50 {
		var text strings.Builder
		for j := range 1_000 {
			fmt.Fprintf(&text, "w%d-%d\n", i, j)
		}
		put(t, dir, fmt.Sprintf("mise.%d.toml", i), text.String())
	}
	inGit(t, dir, "init", "-q")
	b.config.Dir, b.config.Mode = dir, permit.ModeAcceptEdits
	if written := b.writes(t, "other/x.sh", "main.go"); !slices.Equal(written, []string{"main.go"}) {
		t.Errorf("written were %q", written)
	}
	if _, scripts := namedByEntering([]string{dir}); len(scripts) > 2*maxNamed {
		t.Errorf("%d paths", len(scripts))
	}
}
