package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// What files of rules and scripts of packages start counts wherever they name it: in variables,
// functions, targets, options, several lines. What starts with - must not count.
func TestU19_ProgramsThatTextsName(t *testing.T) {
	bin := t.TempDir()
	for name, text := range map[string]string{"mycheck": "exec python3 tools/l.py\n", "git-mine": "exec node web/t.js\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := errors.Join(os.WriteFile(linked, []byte("#!/bin/sh\nexec python3 tools/l.py\n"), 0o755),
		os.Symlink(linked, filepath.Join(bin, "linked"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, c := range map[string]struct{ file, text, command, runs string }{
		"a function":               {"Makefile", "V := $(shell python3 tools/l.py)\nSRC = src/main.c\nlint:\n", "make lint", "tools/l.py -src/main.c"},
		"one line":                 {"Makefile", "lint: ; @python3 tools/new.py\n", "make lint", "tools/new.py"},
		"a directory":              {"Makefile", "T ?= tools\nlint:\n\t@python3 $(T)/new.py\n", "make lint", "tools/new.py"},
		"a command":                {"Makefile", "export L = python3 tools/l.py\nlint:\n\t$(L)\n", "make lint", "tools/l.py"},
		"a target":                 {"Makefile", "lint: tools/l.py\n\tpython3 $<\n", "make lint", "tools/l.py"},
		"a definition":             {"Makefile", "define L\npython3 tools/l.py\nendef\nlint:\n\t$(L)\n", "make lint", "tools/l.py"},
		"an include":               {"Makefile", "T = tools\ninclude $(T)/common.in\n-include $(wildcard conf/*.in)\n", "make", "tools/common.in conf"},
		"make in make":             {"Makefile", "lint:\n\t$(MAKE) -C web\n", "make lint", "web/Makefile web/t.js"},
		"endless values":           {"Makefile", "A = $(A)$(A) tools/l.py\nlint:\n\t$(A)\n", "make lint", "tools/l.py"},
		"a test of npm":            {"package.json", `{"scripts": {"test": "node web/t.js"}}`, "npm t --silent", "web/t.js"},
		"computed":                 {"package.json", `{"scripts": {"l": "npm run l:$s", "l:b": "node web/t.js", "x": "node web/x.js"}}`, "npm run l", "web/t.js -web/x.js"},
		"a variable":               {"package.json", `{"scripts": {"l": "NODE_OPTIONS='--require ./web/t.js' node x"}}`, "npm run l", "web/t.js"},
		"quoted commands":          {".pre-commit-config.yaml", "  entry: sh -c 'for f in tools/*.py; do python3 $f; done'\n", "pre-commit run", "tools"},
		"a block":                  {"lefthook.yml", "  run: |-\n    for f in tools/*.py; do\n      python3 $f\n    done\n  x: y\n", "lefthook run x", "tools"},
		"a block of TOML":          {"lefthook.toml", "run = '''\ncd tools\npython3 new.py\n'''\n", "lefthook run x", "tools/new.py"},
		"npm-run-all":              {"package.json", `{"scripts": {"l": "run-s l:*", "l:b": "node web/t.js", "x": "node web/x.js"}}`, "npm run l", "web/t.js -web/x.js"},
		"two changes of directory": {"hook", "#!/bin/sh\ncd \"$(git rev-parse --show-toplevel)\" || exit\n(cd tools && exec python3 l.py)\n", "./hook", "tools/l.py"},
		"a path of modules":        {"hook", "#!/bin/sh\nPYTHONPATH=lib python3 -m pk.m\n", "./hook", "lib/pk/m.py"},
		"a list":                   {"steps", "python3 tools/l.py\n", "while read -r c; do $c; done <steps", "tools/l.py steps"},
		"joined names":             {"hook", "#!/usr/bin/env python3\nrun(['python3', join('tools', 'l.py')])\n", "./hook", "tools/l.py"},
		"a program of the user's":  {"hook", "#!/bin/sh\nmycheck\ngit mine\n", "./hook", "tools/l.py web/t.js"},
		"a linked program":         {"hook", "#!/bin/sh\nlinked\n", "./hook", "tools/l.py"},
		"several lines":            {".pre-commit-config.yaml", "  args: [\"-u\",\n    \"tools/l.py\"]\n", "pre-commit run", "tools/l.py"},
		"a computed name":          {"hook", "#!/bin/sh\npython3 \"$(git rev-parse --show-toplevel)/tools/$(basename \"$0\").py\"\n", "./hook", "tools"},
		"a loop":                   {"hook", "#!/bin/sh\nfor n in a b; do . ./tools/$n; done\n", "./hook", "tools"},
		"a later file":             {"hook", "#!/usr/bin/env python3\nn = 'tools/new.py'\nif exists(n): run(n)\n", "./hook", "tools/new.py"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"tools/l.py": "", "tools/common.in": "", "conf/a.in": "", "src/main.c": "",
			"lib/pk/m.py": "", "web/Makefile": "all: ; node t.js\n", "web/t.js": "", "web/x.js": "", c.file: c.text} {
			name = filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		w := trust.Watched(dir, dir, c.command)
		for file := range strings.FieldsSeq(c.runs) {
			file, not := strings.CutPrefix(file, "-")
			if slices.Contains(w.Runs, filepath.Join(dir, file)) == not {
				t.Errorf("%s: %s: %q", name, file, w.Runs)
			}
		}
	}
}
