package rules_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Edits is set for ordinary files only: those in a directory that somebody works in, not those
// around it or those that configure programs.
func TestN8_ModesOrdinaryFiles(t *testing.T) {
	for _, c := range []struct {
		work, home, also, file string
		want                   bool
	}{
		{"/home/me/p", "/home/me", "", "/home/me/p/x/y", true},
		{"/home/me/p", "/home/me", "", "/home/me/x", false},
		{"/home/me", "/home/me", "", "/home/me/x", true},
		{"/home/me", "/home/me/", "", "/home/me/.x", false},
		{"/home/me", "/home/me", "", "/home/me/p/.x", false},
		{"/home/me", "/home/me", "", "/home/me/p/.ESLintRC.json", true},
		{"/home/me", "/home/me", "", "/home/me/Library/LaunchAgents/x", false},
		{"/home/me", "/home/me", "/home/me/.x", "/home/me/.x/y", true},
		{"/home", "/home/me", "", "/home/you/x", false},
		{"/home/me/p", "/home/me", "/", "/home/me/p/x", true},
		{"/home/me/p", "/home/me", "/", "/etc/cron.d/x", false},
		{"/home/me/p", "/link", "/home/me", "/home/me/.x", false},
		{"/", "", "", "/etc/x", false},
		{"/", "/", "", "/etc/x", false},
		{"/app", "/", "", "/app/.x", false},
		{"/app", "", "", "/app/x", true},
	} {
		e := envtest.NewMemory(nil)
		roots := []string{c.work}
		if c.also != "" {
			roots = append(roots, c.also)
		}
		set, err := rules.Load(rules.Dirs{Work: c.work, Home: c.home, Roots: roots, Resolve: func(name string) (string,
			error) {
			if name == "/link" {
				name = "/home/me"
			}
			return name, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		d := set.Decide(t.Context(), e, tool.Request{Dir: c.work, Call: llm.ToolCall{Name: "write_file", Args: "{}"},
			Access: tool.Access{Effect: tool.Writes, Paths: []string{c.file}}})
		if d.Edits != c.want || d.Verdict != tool.Ask {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// A hidden file is ordinary only by a name that is known to start nothing: programs of all kinds
// read hidden files of their own where they run.
func TestU17_HiddenFiles(t *testing.T) {
	set, err := rules.Load(rules.Dirs{Work: "/p/.w", Roots: []string{"/p/.w"},
		Resolve: func(name string) (string, error) { return name, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"a.go": true, "a/b.c": true, "a./b": true, ".gitignore": true, "a/.gitkeep": true, ".prettierrc.json": true,
		".golangci.yml": true, ".changeset/x.md": true, ".Storybook/main.js": true, ".npmignore": true,
		".x": false, "a/.nexttoolrc": false, ".nexttool/a.go": false, "a/.changeset/.x": false, "...": false,
		".eslintrcx": false, ".readthedocs.yaml": false, ".pylintrc.toml": false,
	} {
		d := set.Decide(t.Context(), envtest.NewMemory(nil),
			tool.Request{Dir: "/p/.w", Call: llm.ToolCall{Name: "write_file",
				Args: "{}"}, Access: tool.Access{Effect: tool.Writes, Paths: []string{"/p/.w/" + name}}})
		if d.Edits != want || d.Verdict != tool.Ask ||
			strings.Contains(d.Reason, "hidden files may start programs") == want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// The name of a library asks, because programs load it where LD_LIBRARY_PATH leads, and so does one
// that has an option behind a blank, because programs that get it from xargs take it for one.
func TestU17_NamesOfLibrariesAndOptions(t *testing.T) {
	set, err := rules.Load(rules.Dirs{Work: "/p", Roots: []string{"/p"},
		Resolve: func(name string) (string, error) { return name, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"a - b.md": true, "a b-c.md": true, "-a": true, "a.social.md": true, "so": true,
		"libz.so.1": false, "build/libz.so": false, "libz.1.DYLIB": false, "src/msvcrt.pyd": false, "a.node": false,
		"a --output-file=x/y": false, "a\n-o": false, " -o": false, `a "'-o'`: false, "d/a\t\\-o x": false,
	} {
		d := set.Decide(t.Context(), envtest.NewMemory(nil),
			tool.Request{Dir: "/p", Call: llm.ToolCall{Name: "write_file",
				Args: "{}"}, Access: tool.Access{Effect: tool.Writes, Paths: []string{"/p/" + name}}})
		if d.Edits != want || d.Verdict != tool.Ask {
			t.Errorf("%q: %+v", name, d)
		}
	}
}
