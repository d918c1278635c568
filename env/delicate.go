package env

// Delicate names files and directories that start programs or allow them, or that tell a later
// session what to do.
type Delicate struct {
	Name string // in lower case
	// Guarded says that no build and no program of a project's changes them, so that each change
	// needs an approval, and commands in a sandbox make none. Of .git, file tools change nothing at
	// all.
	Guarded bool
}

// DelicateFiles returns the one table of delicate files: [DefaultProtection], sandboxes and
// permission rules use it, and what a project may start once it is trusted (package trust) is among
// its guarded entries. Files with secrets are not in it.
func DelicateFiles() (all []Delicate) {
	for _, name := range []string{
		".mcp.json", ".claude", ".codex", ".agents", ".attractor", ".gemini", ".githooks", ".husky", ".vscode",
		// what shells and git read at their start
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".zlogin", ".zlogout", ".envrc", ".gitconfig",
	} {
		all = append(all, Delicate{name, true})
	}
	for _, name := range []string{
		// version controls
		".git", ".gitmodules", ".hg", ".hgrc", ".jj", ".svn", ".bzr", ".sl", ".repo", ".arcconfig", "_darcs",
		"_mtn",
		// agents
		"agents.md", "agents.override.md", "agent.md", ".agent", "claude.md", "claude.local.md", "gemini.md",
		".cursorrules", ".cursor", "opencode.json", "opencode.jsonc", ".opencode", ".windsurf",
		".windsurfrules", ".clinerules", ".roo", ".roomodes", ".kiro", ".aider.conf.yml", ".amazonq", ".amp",
		".augment", ".augment-guidelines", ".codebuddy", ".continue", ".continuerc.json", ".crush",
		".crush.json", "crush.json", "crush.md", ".factory", ".goose", ".goosehints", ".iflow", "iflow.md",
		".junie", ".kilocode", ".kilocoderules", ".kilocodemodes", ".lingma", ".openhands",
		".openhands_instructions", ".qoder", ".qwen", "qwen.md", ".rovodev", ".rules", ".tabnine", ".trae",
		"warp.md",
		// editors and their language servers
		".idea", ".zed", ".exrc", ".nvim.lua", ".nvimrc", ".lazy.lua", ".vim", ".vimrc", ".lvimrc",
		".nexrc", ".vilerc", ".ycm_extra_conf.py", ".dir-locals.el", ".dir-locals-2.el", ".emacs.d", ".helix", ".vs",
		".fleet", ".nova", ".nova.json", ".lite_project.lua", ".luarc.json", ".luarc.jsonc", ".bsp", ".project",
		".externaltoolbuilders",
		// services that run on each push, and containers to work in
		".github", ".gitlab-ci.yml", ".circleci", ".travis.yml", ".drone.yml", ".woodpecker", ".woodpecker.yml",
		".buildkite", ".gitea", ".forgejo", "jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml",
		".gitpod.yml", ".devcontainer", ".devcontainer.json",
		// hooks of git
		".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", "lefthook.json", "lefthook.toml",
		".lefthook.yml", ".lefthook.yaml", ".lefthook.json", ".lefthook.toml", "lefthook-local.yml",
		"lefthook-local.yaml", "lefthook-local.json", "lefthook-local.toml", ".lefthook-local.yml",
		".lefthook-local.yaml", ".lefthook-local.json", ".lefthook-local.toml", ".overcommit.yml",
		".local-overcommit.yml", ".lefthook", ".lefthook-local", ".git-hooks", ".pre-commit-config.yml", "prek.toml",
		"lint-staged.config.js", "lint-staged.config.cjs", "lint-staged.config.mjs", "lint-staged.config.ts",
		"lint-staged.config.cts", "lint-staged.config.mts",
		".huskyrc", ".huskyrc.json", ".huskyrc.yaml", ".huskyrc.yml", ".huskyrc.js", "husky.config.js",
		"husky.config.cjs",
		// what runs when a shell enters the directory
		".direnv", ".envrc.local", ".envrc.private", "flake.nix", "flake.lock", "shell.nix", "devenv.nix",
		"devenv.yaml", "devenv.lock", "devbox.json", ".shadowenv.d", ".autoenv", ".autoenv.zsh",
		"_opam", ".phpbrewrc",
		// what chooses the programs that tools start
		"mise", "mise.toml", "mise.local.toml", ".mise", ".mise.toml", ".mise.local.toml", ".miserc.toml",
		".asdfrc", ".tool-versions", ".prototools", "rust-toolchain", "rust-toolchain.toml", ".python-version",
		".pdm-python", ".rvmrc", ".rbenv-vars", ".sdkmanrc", ".java-version", ".jenv-version", "poetry.toml",
		// package managers and build tools
		".yarnrc", ".yarnrc.yml", ".yarn", ".pnpmfile.cjs", ".pnpmfile.mjs", ".cargo", ".bundle", ".mvn",
		"bunfig.toml", "pip.conf", ".gemrc", ".condarc", ".sbtopts", ".jvmopts", ".bazelrc",
		// debuggers, interpreters and other tools that are started in the directory
		".gdbinit", ".lldbinit", ".irbrc", ".pryrc", ".pdbrc", ".perldb", ".rdbgrc", ".rdbgrc.rb", ".jdbrc",
		".byebugrc", ".rprofile", ".renviron", ".rdata", ".ghci", ".rspec", ".proverc", ".pylintrc",
		"ansible.cfg", ".ocamlinit", ".octaverc", ".iex.exs", ".user.ini",
		// programs and modules that later commands find
		".venv", "venv", ".virtualenv", "virtualenv", ".tox", ".nox", ".conda", ".pixi", "__pypackages__",
		"site-packages", "dist-packages", "sitecustomize.py", "usercustomize.py", "sitecustomize",
		"usercustomize", "node_modules", ".pnp.cjs", ".pnp.loader.mjs",
	} {
		all = append(all, Delicate{name, false})
	}
	return all
}
