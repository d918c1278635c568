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
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".zlogin",
		".zlogout", ".envrc", ".gitconfig",
	} {
		all = append(all, Delicate{name, true})
	}
	for _, name := range []string{
		".git", ".idea", ".github", ".gitlab-ci.yml", ".devcontainer", ".pre-commit-config.yaml", "agents.md",
		"agents.override.md",
		"claude.md", "claude.local.md", "gemini.md", ".cursorrules", ".cursor", ".gitmodules", ".yarnrc.yml",
		".pnpmfile.cjs",
		".cargo", ".circleci", ".devcontainer.json", ".zed", ".exrc", ".nvim.lua", ".gdbinit", ".lldbinit", "mise.toml",
		".mise.toml", "lefthook.yml", "opencode.json", ".opencode", ".windsurf", ".windsurfrules", ".clinerules",
		".roo", ".kiro",
		".aider.conf.yml",
		".hg", ".hgrc", ".jj", ".svn", ".bzr", ".repo", ".arcconfig", "_mtn", // other version controls
		// editors
		".vim", ".vimrc", ".nvimrc", ".dir-locals.el", ".emacs.d", ".helix", ".vs", ".fleet", ".nova", ".nova.json",
		".amazonq", ".amp", ".augment", ".augment-guidelines", ".continue", ".continuerc.json", ".crush", ".crush.json",
		"crush.json", "crush.md",
		".factory", ".goose", ".goosehints", ".iflow", "iflow.md", ".junie", ".kilocode", ".kilocoderules",
		".openhands", ".openhands_instructions",
		".qwen", "qwen.md", ".rovodev", ".rules", ".tabnine", ".trae", "agent.md", "warp.md", // agents
		".lefthook.yml", ".lefthook.yaml", "lefthook.yaml", "lefthook-local.yml", ".overcommit.yml", ".mise", ".asdfrc",
		".tool-versions", ".direnv", // hooks and task runners
		".travis.yml", ".drone.yml", ".woodpecker", ".woodpecker.yml", ".buildkite", ".gitea", ".forgejo",
		"jenkinsfile", "azure-pipelines.yml",
		// services that run on each push
		"bitbucket-pipelines.yml",
		// started by interpreters, debuggers and tools of languages in the directory
		".irbrc", ".pryrc", ".pdbrc", ".rprofile", ".ghci", ".rspec", ".pylintrc", "ansible.cfg", ".lazy.lua",
		".ocamlinit", ".octaverc", ".iex.exs", ".renviron", ".rdata", ".byebugrc", ".user.ini",
		".lite_project.lua", ".luarc.json", ".luarc.jsonc", ".bsp", ".project", ".externaltoolbuilders",
		".dir-locals-2.el", "mise.local.toml", ".mise.local.toml", ".pnpmfile.mjs",
		".prototools", "rust-toolchain", "rust-toolchain.toml", ".miserc.toml", ".python-version", ".pdm-python",
		".rvmrc", ".rbenv-vars", // choose the programs that tools start
		".bundle", ".mvn", ".yarn", ".yarnrc", "bunfig.toml", "pip.conf", ".gemrc", ".condarc", // package managers
		"lefthook.json", "lefthook.toml", ".lefthook.json", ".lefthook.toml", "lefthook-local.yaml",
		"lefthook-local.json", "lefthook-local.toml", ".lefthook-local.yml", ".lefthook-local.yaml",
		".lefthook-local.json", ".lefthook-local.toml", ".local-overcommit.yml", "mise", // more of these
		".gitpod.yml", ".sl", "_darcs", ".roomodes", ".agent",
		// programs and modules that later commands find
		".venv", "venv", ".virtualenv", "virtualenv", ".tox", ".nox", ".conda", ".pixi", "__pypackages__",
		"site-packages", "dist-packages", "sitecustomize.py", "usercustomize.py", "sitecustomize", "usercustomize",
		"node_modules", ".pnp.cjs", ".pnp.loader.mjs",
		".envrc.local", ".envrc.private", ".jdbrc", ".proverc", ".sbtopts", ".jvmopts", ".bazelrc", // options of tools
		// what direnv and others run when a shell enters the directory, once they are allowed
		"flake.nix", "flake.lock", "shell.nix", "devenv.nix", "devenv.yaml", "devenv.lock", ".shadowenv.d",
		".autoenv", ".autoenv.zsh",
		".perldb", ".rdbgrc", ".rdbgrc.rb", ".lvimrc", ".ycm_extra_conf.py", // debuggers and editors
		".lefthook", ".lefthook-local", ".git-hooks", ".pre-commit-config.yml", "prek.toml", // hooks of git
		"opencode.jsonc", ".codebuddy", ".qoder", ".lingma", ".kilocodemodes", // agents
	} {
		all = append(all, Delicate{name, false})
	}
	return all
}
