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
		"a script of the project": {"node --no-warnings server.js", "sub/server.js", "server.js"},
		"a loaded one":            {"node --import=./hook.mjs /opt/server.js", "sub/hook.mjs", "--import=./hook.mjs"},
		"a directory":             {"/usr/bin/server src", "sub/src/x", ""},
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

// If it is not known which servers are the user's, none of the project takes a name of theirs.
func TestM12_UnreadServersKeepTheirNames(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home, "HOME": home}[name] }
	if err := os.Mkdir(filepath.Join(home, "attractor"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".mcp.json"), []byte(`{"mcpServers":{"lab":{"command":"/bin/true"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	project, err := OpenProject(root, getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	for mine, want := range map[string]int{`{"mcpServers":{}}`: 1, `{"mcpServers":{"lab":`: 0} {
		if err := os.WriteFile(filepath.Join(home, "attractor", "mcp.json"), []byte(mine), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := OpenServers(root, project, nil, nil, getenv); err != nil || len(s.List) != want || len(s.Problems) != 2*(1-want) {
			t.Errorf("with %s there are %+v, %v, %v", mine, s.List, s.Problems, err)
		}
	}
}
