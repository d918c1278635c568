package trust

import (
	"path"
	"slices"
	"strings"
)

// isShellProgram reports whether a program is a shell.
func isShellProgram(program string) bool {
	switch program {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish":
		return true
	}
	return false
}

// interpreted reports whether a program runs the file that is its first argument.
func interpreted(program string) bool {
	switch program {
	case "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php",
		"lua", "Rscript", "osascript", "pwsh", "python", "python2", "python3", "pypy3", "tclsh", "babashka", "bb",
		"java":
		return true
	}
	return isShellProgram(program) || strings.HasPrefix(program, "python3.")
}

// shellOptions are the characters of the options of shells that have no value, and of -o and -O,
// which have one.
const shellOptions = "-abefhlmnpuvxBCETPoO"

// runsFiles reports whether a program runs files that its arguments name.
func runsFiles(program string) bool {
	_, _, runner := runnerOf(program)
	return runner || interpreted(program)
}

// module returns the path of the module of python that a word of a command names, without .py.
func module(words []string, i int) (name string, ok bool) {
	python := func(word string) bool {
		base := path.Base(word)
		return strings.HasPrefix(base, "python") || strings.HasPrefix(base, "pypy") || base == "py" || base == "uv"
	}
	if i == 0 || !slices.ContainsFunc(words[:i], python) {
		return "", false
	}
	name = words[i]
	if rest, joined := strings.CutPrefix(name, "-m"); joined {
		name = rest
	} else if before := words[i-1]; !strings.HasPrefix(before, "-") || !strings.HasSuffix(before, "m") {
		return "", false
	}
	return strings.ReplaceAll(name, ".", "/"), name != "" && !strings.ContainsAny(name, "/$")
}

// launched returns the name of the task runner that a command has another one start, such as
// lint-staged of npx lint-staged@16, or "".
func launched(words []string) string {
	switch path.Base(words[0]) {
	case "npx", "pnpx", "bunx", "uvx":
	case "npm", "yarn", "pnpm", "bun", "uv", "poetry", "pdm", "hatch", "pipenv", "bundle", "mise":
	default:
		return ""
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || slices.Contains([]string{"exec", "run", "dlx", "x", "tool"}, word) {
			continue
		}
		name, _, _ := strings.Cut(path.Base(word), "@") // a version may follow
		if _, _, ok := runnerOf(name); ok {
			return name
		}
		return ""
	}
	return ""
}

// runnerOf returns the files of a task runner, in the directory in which it starts, and what else
// it runs.
func runnerOf(program string) (files []string, more string, ok bool) {
	const rules, packages, code = "what its rules start", "programs of packages", "code of the project"
	switch program {
	case "make", "gmake":
		return []string{"GNUmakefile", "makefile", "Makefile"}, rules, true
	case "just":
		return []string{"justfile", "Justfile", ".justfile"}, rules, true
	case "task":
		return []string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"}, rules, true
	case "rake":
		return []string{"Rakefile", "rakefile", "Rakefile.rb"}, rules, true
	case "mise", "ninja", "bazel":
		return []string{"mise.toml", ".mise.toml", "build.ninja"}, rules, true
	case "pre-commit", "prek":
		return []string{".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml"}, rules, true
	case "lefthook":
		for _, name := range []string{"lefthook", "lefthook-local"} {
			for _, ext := range []string{".yml", ".yaml", ".toml", ".json"} {
				files = append(files, name+ext, "."+name+ext, ".config/"+name+ext)
			}
		}
		return files, rules, true
	case "npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "deno":
		return []string{"package.json", ".npmrc", "deno.json", "deno.jsonc"}, packages, true
	case "npm-run-all", "run-s", "run-p", "concurrently":
		return []string{"package.json"}, rules, true
	case "turbo", "nx", "lerna":
		return []string{"package.json", "turbo.json", "nx.json", "lerna.json"}, packages, true
	case "lint-staged":
		return []string{"package.json", ".lintstagedrc", ".lintstagedrc.json", ".lintstagedrc.yaml",
				".lintstagedrc.yml", ".lintstagedrc.js", ".lintstagedrc.cjs", ".lintstagedrc.mjs", ".lintstagedrc.ts",
				"lint-staged.config.js", "lint-staged.config.cjs", "lint-staged.config.mjs", "lint-staged.config.ts"},
			rules, true
	case "nix", "nix-shell", "devenv", "devbox":
		return []string{"shell.nix", "default.nix", "flake.nix", "devenv.nix", "devbox.json"}, rules, true
	case "composer":
		return []string{"composer.json"}, packages, true
	case "bundle":
		return []string{"Gemfile"}, packages, true
	case "cargo", "rust-analyzer":
		return []string{"Cargo.toml", "build.rs", ".cargo/config.toml"}, code, true
	case "go", "mage", "dotnet":
		return nil, code + ", unless it only formats or checks", true
	case "gradle", "gradlew":
		return []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, code, true
	case "mvn", "mvnw":
		return []string{"pom.xml"}, code, true
	case "tox", "nox", "pytest", "uv", "uvx", "poetry", "pdm", "hatch", "pipenv":
		return []string{"pyproject.toml", "tox.ini", "noxfile.py", "conftest.py"}, code, true
	case "eslint", "prettier", "vitest", "jest", "rubocop", "stylelint":
		return nil, "its configuration, which may be code", true
	}
	return nil, "", false
}
