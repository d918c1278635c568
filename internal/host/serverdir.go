package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/mcp"
)

// unplaced returns the directory in which a user's server without a cwd runs: that of the session. If the program that starts the server
// would take code or settings from there, and nobody has trusted the project, it is an empty directory.
func (r *serverReader) unplaced(s *mcp.Server) (string, error) {
	if r.project == nil || r.project.chosen {
		return r.dir, nil
	}
	program, found := launches(s, r.dir, r.project.Root)
	if found == "" {
		return r.dir, nil
	}
	r.Problems = append(r.Problems, &mcp.Problem{File: s.File, Server: s.Name, Err: fmt.Errorf("it starts in an empty directory, because %s would use %s of this "+
		"directory, which nobody has trusted. A server that needs the directory can have ${CLAUDE_PROJECT_DIR} in its args. To start it in the "+
		`directory of every session, write "cwd": "."`, program, found)})
	state, err := StateDir(r.getenv)
	if err != nil {
		return "", fmt.Errorf("there is no directory for it: %w", err)
	}
	dir := filepath.Join(state, "attractor", "mcp", "cwd")
	return dir, os.MkdirAll(dir, 0o700)
}

// launches returns a program in a server's command that chooses by a directory what it runs, and what it would use there. Both are empty if
// there is none, or nothing for it from the directory up to the root of the project.
func launches(s *mcp.Server, dir, root string) (program, found string) {
	if !filepath.IsAbs(s.Command) && strings.ContainsAny(s.Command, `/\`) {
		return "the shell", s.Command
	}
	words := []string{s.Command}
	for _, arg := range s.Args {
		words = append(words, strings.Fields(arg)...) // it may be a script
	}
	for _, word := range words {
		if isFile(dir, word) {
			return "its command", word
		}
		name := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(word), ".exe"), ".cmd"))
		if strings.HasPrefix(name, "python") && slices.Contains(words, "-m") {
			return name, "modules"
		}
		for _, file := range launchFiles(name) {
			if holds(dir, root, file) {
				return name, file
			}
		}
	}
	return "", ""
}

// isFile reports whether a word of a command, or the value of an option, is a file in a directory, by a name that begins there.
func isFile(dir, word string) bool {
	if option, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(option, "-") {
		word = value
	}
	if word == "" || filepath.IsAbs(word) {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, word))
	return err == nil && !info.IsDir()
}

// launchFiles returns the files by which a project chooses what a program runs.
func launchFiles(program string) []string {
	switch program {
	case "npx", "npm", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "deno", "corepack":
		return []string{"package.json", "node_modules", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml", "deno.json", "deno.jsonc"}
	case "uv", "uvx", "pipx", "poetry", "pdm", "hatch", "pipenv":
		return []string{"pyproject.toml", "uv.toml", ".python-version", ".venv", "setup.py", "setup.cfg", "pdm.toml", "Pipfile"}
	case "cargo":
		return []string{"Cargo.toml", ".cargo", "rust-toolchain", "rust-toolchain.toml"}
	case "make", "just", "docker-compose":
		return []string{"Makefile", "makefile", "GNUmakefile", "justfile", "compose.yaml", "docker-compose.yml"}
	}
	return nil
}

// holds reports whether a directory, or one above it up to the root, has a file. What cannot be looked at counts as there.
func holds(dir, root, name string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return true
		}
		parent := filepath.Dir(dir)
		if dir == root || parent == dir {
			return false
		}
		dir = parent
	}
}
