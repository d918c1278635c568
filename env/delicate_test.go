package env_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// The table has the files by which public tools start programs, allow them or are instructed, as
// their documentation names them.
func TestU17_FilesThatStartSomething(t *testing.T) {
	var table []string
	for _, d := range env.DelicateFiles() {
		if d.Name != strings.ToLower(d.Name) || slices.Contains(table, d.Name) {
			t.Errorf("%s is not in lower case, or there twice", d.Name)
		}
		table = append(table, d.Name)
	}
	for tool, files := range map[string]string{
		"git":              ".git .gitmodules .gitconfig .githooks",
		"Mercurial":        ".hg .hgrc",
		"Jujutsu":          ".jj",
		"Sapling, Darcs":   ".sl _darcs",
		"Gitpod":           ".gitpod.yml",
		"Antigravity":      ".agent",
		"Subversion":       ".svn",
		"pre-commit, prek": ".pre-commit-config.yaml .pre-commit-config.yml prek.toml",
		"husky":            ".husky",
		"lefthook": ".lefthook .lefthook-local lefthook.yml .lefthook.yml lefthook.yaml lefthook-local.yml " +
			"lefthook-local.yaml lefthook-local.json lefthook-local.toml .lefthook-local.yml .lefthook-local.yaml " +
			".lefthook-local.json .lefthook-local.toml lefthook.json lefthook.toml .lefthook.json .lefthook.toml",
		"overcommit":       ".overcommit.yml .local-overcommit.yml .git-hooks",
		"VS Code":          ".vscode .devcontainer .devcontainer.json",
		"JetBrains":        ".idea .fleet .junie",
		"Vim and Neovim":   ".exrc .vimrc .nvimrc .nvim.lua .lazy.lua .vim",
		"Emacs":            ".dir-locals.el .dir-locals-2.el .emacs.d",
		"Helix, Zed, Nova": ".helix .zed .rules .nova",
		"Visual Studio":    ".vs",
		"gdb and lldb":     ".gdbinit .lldbinit",
		"interpreters": ".irbrc .pryrc .pdbrc .Rprofile .Renviron .RData .ghci .ocamlinit .octaverc .iex.exs " +
			".byebugrc",
		"PHP":            ".user.ini",
		"Lite XL, LuaLS": ".lite_project.lua .luarc.json .luarc.jsonc",
		"Eclipse":        ".project .externalToolBuilders",
		"build servers":  ".bsp",
		"proto, rustup":  ".prototools rust-toolchain rust-toolchain.toml",
		"uv, PDM":        ".python-version .pdm-python",
		"rvm, rbenv":     ".rvmrc .rbenv-vars",
		"SDKMAN, jenv":   ".sdkmanrc .java-version .jenv-version",
		"repo, arc, mtn": ".repo .arcconfig _MTN",
		"other tools":    ".rspec .pylintrc ansible.cfg",
		"direnv":         ".envrc .direnv flake.nix flake.lock shell.nix devbox.json",
		"opam, phpbrew":  "_opam .phpbrewrc",
		"Poetry":         "poetry.toml",
		"nvi, vile":      ".nexrc .vilerc",
		"husky 4": ".huskyrc .huskyrc.json .huskyrc.yaml .huskyrc.yml .huskyrc.js husky.config.js " +
			"husky.config.cjs",
		"lint-staged":    "lint-staged.config.js lint-staged.config.cjs lint-staged.config.mjs lint-staged.config.ts",
		"devenv":         "devenv.nix devenv.yaml devenv.lock",
		"other prompts":  ".shadowenv.d .autoenv .autoenv.zsh",
		"perl, ruby":     ".perldb .rdbgrc .rdbgrc.rb",
		"plugins of Vim": ".lvimrc .ycm_extra_conf.py",
		"further agents": "opencode.jsonc .codebuddy .qoder .lingma .kilocodemodes",
		"mise and asdf": "mise.toml .mise.toml mise.local.toml .mise.local.toml .mise mise .miserc.toml " +
			".tool-versions .asdfrc",
		"shells":         ".bashrc .bash_profile .profile .zshrc .zshenv",
		"python":         ".venv venv site-packages dist-packages sitecustomize.py usercustomize.py",
		"npm and yarn":   "node_modules .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnpmfile.mjs bunfig.toml",
		"cargo":          ".cargo",
		"Maven, bundler": ".mvn .bundle .gemrc",
		"pip and conda":  "pip.conf .condarc",
		"GitHub, GitLab": ".github .gitlab-ci.yml",
		"other CI": ".circleci .travis.yml .drone.yml .woodpecker.yml .buildkite Jenkinsfile " +
			"azure-pipelines.yml bitbucket-pipelines.yml .gitea .forgejo",
		"MCP":              ".mcp.json",
		"Claude Code":      ".claude CLAUDE.md CLAUDE.local.md",
		"codex":            ".codex AGENTS.md AGENTS.override.md .agents",
		"Gemini CLI":       ".gemini GEMINI.md",
		"Cursor":           ".cursor .cursorrules",
		"Windsurf":         ".windsurf .windsurfrules",
		"Cline, Roo, Kilo": ".clinerules .roo .roomodes .kilocode .kilocoderules",
		"opencode, Crush":  "opencode.json .opencode crush.json .crush.json CRUSH.md .crush",
		"Goose, Amp, Kiro": ".goosehints .goose .amp AGENT.md .kiro",
		"Qwen, iFlow":      ".qwen QWEN.md .iflow IFLOW.md",
		"others": ".aider.conf.yml .continue .augment .amazonq .openhands .trae .tabnine .factory WARP.md " +
			".rovodev",
	} {
		for name := range strings.FieldsSeq(files) {
			if !slices.Contains(table, strings.ToLower(name)) {
				t.Errorf("%s: %s is not in the table", tool, name)
			}
		}
	}
}
