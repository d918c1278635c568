package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/trust"
)

// The programs that choose by a directory what they run do not choose by that of a project that nobody has trusted.
func TestM12_WhatLaunchersUse(t *testing.T) {
	for name, c := range map[string]struct {
		command string // and its arguments
		file    string // in the project
		want    string // what would be used
	}{
		"npx, nothing there":      {"npx -y pkg .", "README.md", ""},
		"npx, a package":          {"npx -y pkg .", "package.json", "package.json"},
		"npx, installed packages": {"npx -y pkg .", "node_modules/.bin/pkg", "node_modules"},
		"npx, another registry":   {"npx -y pkg .", ".npmrc", ".npmrc"},
		"npx by its path":         {"/usr/bin/npx -y pkg", "package.json", "package.json"},
		"npx on Windows":          {"npx.cmd -y pkg", "package.json", "package.json"},
		"npx in a script":         {"sh -c exec|npx|pkg", "package.json", "package.json"},
		"npx, of Python":          {"npx -y pkg", "pyproject.toml", ""},
		"uvx":                     {"uvx pkg", "uv.toml", "uv.toml"},
		"a module":                {"python3 -m pkg", "README.md", "modules"},
		"a Python script":         {"python3 /opt/pkg.py", "pyproject.toml", ""},
		"another program":         {"/usr/bin/server .", "package.json", ""},
		"one of the project":      {"./server", "server", "./server"},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "sub")
		for _, made := range []string{dir, filepath.Dir(filepath.Join(root, c.file))} {
			if err := os.MkdirAll(made, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, c.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(c.command)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "|", " ")
		}
		s := &mcp.Server{Name: "s", Command: words[0], Args: words[1:]}
		if _, got := launches(s, dir, root); got != c.want {
			t.Errorf("%s: it would use %q, want %q", name, got, c.want)
		}
		getenv := func(name string) string {
			return map[string]string{"XDG_STATE_HOME": filepath.Join(root, "state")}[name]
		}
		for _, chosen := range []bool{false, true} {
			r := &serverReader{Servers: &Servers{}, dir: dir, project: &Project{Snapshot: &trust.Snapshot{Root: root}, chosen: chosen}, getenv: getenv}
			got, err := r.placeOf(s)
			if away := c.want != "" && !chosen; err != nil || (got != dir) != away || (len(r.Problems) > 0) != away {
				t.Errorf("%s, trusted %v: it starts in %s, %v, %v", name, chosen, got, r.Problems, err)
			}
			s.Dir = "."
			if got, err := r.placeOf(s); got != dir || err != nil {
				t.Errorf("%s with a cwd starts in %s, %v", name, got, err)
			}
			s.Dir = ""
		}
	}
}
