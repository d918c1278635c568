package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// The files that a hook runs are found as the shell would find them. What starts with - is known to
// count and must not; what cannot be told is said.
func TestU19_FilesThatHooksRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"scripts/check.sh": "#!/usr/bin/env bash\nset -e\ncd \"$(dirname \"$0\")\"\n. ./lib.sh\n\"$(dirname " +
			"\"$0\")\"/more.sh\ncat ../README.md\nnode ../tools/run.js\n",
		"home/tool.sh":   "#!/bin/sh\ncd \"$CLAUDE_PROJECT_DIR\" && . ./scripts/lib.sh\n",
		"scripts/lib.sh": "../bin/inner\n", "scripts/more.sh": "./check.sh\n", "README.md": "x",
		"tools/run.js": "require('./x')",
		"bin/inner":    "#!/usr/bin/python3\n", "rules/a.sh": "true", "rules/b.sh": "true",
		"Makefile": "lint:\n\t./x\n", "recipes/Makefile": "check:\n\t@sh a.sh\n", "recipes/a.sh": "",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text),
			0o755)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for command, c := range map[string]struct {
		runs  string // some of them; those with - in front must not be among them
		blind bool
	}{
		"scripts/check.sh": {"scripts/check.sh scripts/lib.sh " +
			"scripts/more.sh tools/run.js bin/inner README.md", true},
		"sh scripts/check.sh":                                         {"scripts/check.sh scripts/lib.sh", true},
		"sh -e -- scripts/more.sh":                                    {"scripts/more.sh", true},
		"bash -o pipefail rules/a.sh":                                 {"rules/a.sh", false},
		"cd scripts && ./check.sh":                                    {"scripts/check.sh scripts/lib.sh", true},
		"pushd scripts && ./check.sh":                                 {"scripts/check.sh", true},
		`cd "$(git rev-parse --show-toplevel)/scripts" && ./check.sh`: {"scripts/check.sh", true},
		`cd "${CLAUDE_PROJECT_DIR:-.}/scripts" && ./check.sh`:         {"scripts/check.sh", true},
		"(cd scripts; sh more.sh)":                                    {"scripts/more.sh scripts/check.sh", true},
		`D=scripts; "$D/check.sh"`:                                    {"scripts/check.sh scripts/lib.sh", true},
		`$CLAUDE_PROJECT_DIR/rules/a.sh`:                              {"rules/a.sh", false},
		`"${CLAUDE_PROJECT_DIR:-.}"/scripts/m.sh`:                     {"scripts/m.sh", true},
		"for f in rules/*.sh; do . \"$f\"; done":                      {"rules", true},
		"sh rules/*":                                                  {"rules", false},
		"cat rules/*.sh | sh":                                         {"", true},
		"find . -name x.sh | xargs -n1 sh":                            {"", true},
		"find rules -type f -exec {} ;":                               {"rules", true},
		"run-parts --regex '.*' rules":                                {"rules", true},
		"make -C recipes check":                                       {"recipes/Makefile -recipes/a.sh", true},
		"npm --prefix recipes run hk":                                 {"recipes/package.json -package.json", true},
		"sh <<E\nrules/a.sh\nE":                                       {"rules/a.sh", true},
		"PATH=./bin:$PATH lint":                                       {"", true},
		"if true; then ./new.sh; fi":                                  {"new.sh", false},
		"timeout 9 env A=b nice ./new.sh":                             {"new.sh", false},
		"bash -c 'cd scripts; exec ./check.sh'":                       {"scripts/check.sh", true},
		"echo \"$(./new.sh)\"":                                        {"new.sh", false},
		"make lint":                                                   {"Makefile GNUmakefile", true},
		"make -Cscripts lint":                                         {"scripts/Makefile", true},
		"npm run lint":                                                {"package.json", true},
		"bun run lint":                                                {"package.json", true},
		"cd web && just fmt":                                          {"web/justfile -web", true},
		"~/tool.sh":                                                   {"scripts/lib.sh", true},
		"$HOME/tool.sh":                                               {"scripts/lib.sh", true},
		"$TOOL --fix":                                                 {"", true},
		"python3 -m lint":                                             {"", true},
		"python3 -c 'import json'":                                    {"", true},
		"node --require=./tools/run.js -e 1":                          {"", true},
		"sh -c \"$SCRIPT\"":                                           {"", true},
		"gofmt -l main.go | head >log":                                {"-main.go -log", false},
		"cat README.md":                                               {"README.md", false},
		"test -f go.mod && ruff check src":                            {"-src -go.mod", false},
		"jq -r .tool_input.file_path":                                 {"", false},
		"/usr/bin/logger done":                                        {"", false},
	} {
		w := trust.Watched(dir, dir, command)
		for name := range strings.FieldsSeq(c.runs) {
			name, not := strings.CutPrefix(name, "-")
			if slices.Contains(w.Runs, filepath.Join(dir, name)) == not {
				t.Errorf("%s: %s: %q", command, name, w.Runs)
			}
		}
		if (len(w.Blind) > 0) != c.blind {
			t.Errorf("%s: %q", command, w.Blind)
		}
	}
	for _, args := range [][]string{{"tools/run.js"}, {"-x", "tools/run.js"}} {
		if w := trust.Watched(dir, dir, "node", args...); !slices.Contains(w.Runs, filepath.Join(dir, "tools/run.js")) {
			t.Errorf("a program with arguments: %+v", w)
		}
	}
	if w := trust.Watched(dir, dir, "env", "LC_ALL=C", "scripts/lib.sh"); !slices.Contains(w.Runs,
		filepath.Join(dir, "scripts/lib.sh")) {
		t.Errorf("a program behind env: %+v", w)
	}
	if w := trust.Watched(dir, filepath.Join(dir, "scripts"), "./check.sh"); !slices.Contains(w.Runs,
		filepath.Join(dir, "scripts/lib.sh")) {
		t.Errorf("below the root: %+v", w)
	}
}

// Hostile files of hooks cost little, however many patterns and scripts they have.
func TestU19_HostileHooks(t *testing.T) {
	dir := t.TempDir()
	var hooks []string
	for i := range 12 {
		if err := os.Symlink(".", filepath.Join(dir, fmt.Sprint("l", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		hooks = append(hooks, fmt.Sprintf(`{"type":"command","command":"for f in */*/*/*/*/*/*%d; do . $f; done; %s"}`,
			i, strings.Repeat("a=1 ", 4_000)))
	}
	p := newProject(t, ".claude/settings.json", `{"hooks":{"Stop":[{"hooks":[`+strings.Join(hooks, ",")+`]}]}}`)
	before := testing.AllocsPerRun(1, func() {
		if s := p.clean(); len(s.Unwatched) == 0 {
			t.Error("all of the hooks are said to be watched")
		}
	})
	if before > 3e6 {
		t.Errorf("%v allocations", before)
	}
}

// A script that the script of a hook starts is part of the snapshot, and a change of it is found
// right before the hook runs. What cannot be watched is said.
func TestU19_ScriptsOfScripts(t *testing.T) {
	p := newProject(t, ".claude/settings.json",
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"scripts/a.sh"},{"type":"command","command":"make lint"}]}]}}`,
		"scripts/a.sh", "#!/bin/sh\n\"${0%/*}\"/b.sh\n", "scripts/b.sh", "true\n", "Makefile", "lint:\n")
	s := p.clean()
	if got := names(s); got != ".claude/settings.json Makefile scripts/a.sh scripts/b.sh" {
		t.Errorf("got %s", got)
	}
	want := trust.Problem{Name: ".claude/settings.json", Reason: "make lint: make may run what its rules start"}
	if !slices.Contains(s.Unwatched, want) {
		t.Errorf("unwatched: %+v", s.Unwatched)
	}
	if err := s.UnchangedCommand("scripts/a.sh"); err != nil {
		t.Error(err)
	}
	p.put("scripts/b.sh", "rm -rf ~\n")
	if err := s.UnchangedCommand("scripts/a.sh"); !errors.Is(err, trust.ErrChanged) {
		t.Error(err)
	}
	if err := s.UnchangedCommand("make lint"); err != nil {
		t.Error(err)
	}
	p.put("GNUmakefile", "lint: ; rm -rf ~\n") // which make reads instead
	if err := s.UnchangedCommand("make lint"); !errors.Is(err, trust.ErrChanged) {
		t.Error(err)
	}
}

// Options and their values differ between programs: each file that a word of a command names, and
// each module that python may load by its name, counts as run, and what cannot be told is said.
func TestU19_AnyWordMayBeRun(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"scripts/f.py", "scripts/f.js", "tools/a.mjs", "lib/x.rb", "lint.ps1", "src/main.go",
		"scripts/g.sh"} {
		if err := write(name)(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"hook.sh": "uv run scripts/f.py\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for command, runs := range map[string]string{
		"python3 -X utf8 scripts/f.py":                "scripts/f.py",
		"python3 -X utf8 scripts/new.py":              "scripts/new.py",
		"python3 -m black src":                        "black.py black -src",
		"python3 -Im tools.lint":                      "tools/lint.py tools",
		"uv run -m lint":                              "lint.py lint",
		"node --import ./tools/a.mjs scripts/f.js":    "tools/a.mjs scripts/f.js",
		"node --loader ./tools/a.mjs x.js":            "tools/a.mjs x.js",
		"node -r./scripts/f src/x.js":                 "scripts/f.js src/x.js",
		"uv run scripts/f.py":                         "scripts/f.py",
		"poetry run python scripts/f.py":              "scripts/f.py",
		"npx tsx scripts/f.js":                        "scripts/f.js",
		"npx lint-staged":                             ".lintstagedrc.json",
		"npx --yes lint-staged@16 --quiet":            ".lintstagedrc.json",
		"pwsh -ExecutionPolicy Bypass -File lint.ps1": "lint.ps1",
		"ruby -I lib lib/x.rb":                        "lib/x.rb",
		"ruby -Ilib -rx lib/y.rb":                     "lib/y.rb",
		"go run src/main.go":                          "src/main.go",
		"go run ./src":                                "src",
		"make -f lint.ps1":                            "lint.ps1",
		"curl -d @scripts/f.py localhost":             "scripts/f.py",
		filepath.Join(home, "hook.sh"):                "scripts/f.py",
	} {
		w := trust.Watched(dir, dir, command)
		if len(w.Blind) == 0 && !strings.HasPrefix(command, "curl") {
			t.Errorf("%s is not said to be blind", command)
		}
		for name := range strings.FieldsSeq(runs) {
			name, not := strings.CutPrefix(name, "-")
			if slices.Contains(w.Runs, filepath.Join(dir, name)) == not {
				t.Errorf("%s: %s: %q", command, name, w.Runs)
			}
		}
	}
	for _, command := range []string{"bash <scripts/g.sh", "env -S 'bash -x scripts/g.sh'"} {
		if w := trust.Watched(dir, dir, command); !slices.Contains(w.Runs, filepath.Join(dir, "scripts/g.sh")) {
			t.Errorf("%s: %q", command, w.Runs)
		}
	}
	for _, args := range [][]string{{"-X", "utf8", "scripts/f.py"}, {"-m", "lint"}} {
		if w := trust.Watched(dir, dir, "python3", args...); !slices.ContainsFunc(w.Runs, func(name string) bool {
			return name == filepath.Join(dir, "scripts/f.py") || name == filepath.Join(dir, "lint.py")
		}) {
			t.Errorf("%q: %q", args, w.Runs)
		}
	}
}
