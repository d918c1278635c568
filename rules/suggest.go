package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/rules/shell"
)

// maxExact is the length of a script up to which a rule for that very script is suggested.
const maxExact = 300

// exactly returns the rule that allows the very script, or nil if it cannot be written or read
// well.
func (c *call) exactly() []string {
	pattern := exactPattern(c.script)
	if pattern == "" || len(pattern) > maxExact || strings.ContainsAny(pattern, "\n\t") {
		return nil
	}
	words, err := parseWords(pattern)
	if err != nil {
		return nil
	}
	if _, ok := words.literal(); !ok {
		return nil
	}
	return []string{"Bash(" + pattern + ")"}
}

// exactPattern returns the pattern that matches a script alone, or "" if there is none.
func exactPattern(script string) string {
	if strings.Contains(script, `\*`) {
		return ""
	}
	return strings.ReplaceAll(script, "*", `\*`)
}

// verbs holds the subcommands of programs after which any further words may be allowed. They do
// what they do to the project, which may run the project's own programs, but their options do not
// name others.
const verbs = `
go: build, test, vet, fmt, list, mod tidy, mod verify, mod download, mod vendor, tool, clean
git: add, commit, checkout, switch, restore, stash, branch, tag, merge, reset, mv, rm, cherry-pick, revert
npm pnpm yarn: test, ci, run, lint, build
cargo: build, test, check, clippy, fmt, run, doc, bench, clean
dotnet mvn ./mvnw gradle ./gradlew: build, test, check, compile, package, verify, clean
make just task: test, tests, build, check, lint, fmt, format, clean, all, vet
docker: ps, images, logs, compose ps, compose logs
kubectl: get, describe, logs
gh: pr view, pr list, pr diff, pr checks, issue view, issue list, run view, run list
bundle rails rake mix composer poetry swift zig deno bun: test, build, format, check, lint
`

// verbsOf returns the subcommands of a program.
func verbsOf(program string) []string {
	for row := range strings.Lines(verbs) {
		programs, list, _ := strings.Cut(strings.TrimSuffix(row, "\n"), ": ")
		if slices.Contains(strings.Fields(programs), program) {
			return strings.Split(list, ", ")
		}
	}
	return nil
}

// checkers lists programs that check, test or format a project, or make files without content.
func checkers() []string {
	return []string{"gofmt", "goimports", "staticcheck", "golangci-lint", "pytest", "tox", "ruff", "mypy", "pyright",
		"flake8", "pylint", "black", "isort",
		"jest", "vitest", "mocha", "tsc", "eslint", "prettier", "rubocop", "rspec", "rustfmt", "shellcheck", "hadolint",
		"mkdir", "touch", "cmake", "ninja", "ctest"}
}

// suggestCommand returns a rule that allows commands like this one, or nil if only a rule for the
// very script is safe.
func suggestCommand(cmd *shell.Command) []string {
	words := cmd.Words
	if slices.Contains(checkers(), words[0]) {
		return []string{"Bash(" + words[0] + ":*)"}
	}
	list := verbsOf(words[0])
	if list == nil || len(words) < 2 {
		return nil
	}
	two := ""
	if len(words) > 2 {
		two = words[1] + " " + words[2]
	}
	switch {
	case slices.Contains(list, two):
		return []string{"Bash(" + words[0] + " " + two + ":*)"}
	case words[1] == "run" && words[0] != "cargo":
		if len(words) > 2 && plainWord(words[2]) && slices.Contains(list, "run") {
			return []string{"Bash(" + words[0] + " run " + words[2] + ":*)"}
		}
		return nil
	case slices.Contains(list, words[1]):
		return []string{"Bash(" + words[0] + " " + words[1] + ":*)"}
	}
	return nil
}

// plainWord reports whether a word means itself in a pattern, and is no option.
func plainWord(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/", r)
	}) && !strings.HasSuffix(word, ":")
}

// suggestFile returns the rule that allows the use of a file and, unless the file needs a rule of
// its own, of those around it.
func (c *call) suggestFile(f file, alone bool) []string {
	name := f.place.name()
	if c.resolve(f.place) {
		name = f.place.real
	} else if c.env != nil {
		return nil // no rule allows a file if it is not known where its name leads
	}
	if strings.Count(name, "/") >= maxElems-2 { // no pattern could have so many elements
		return nil
	}
	if kernelFile(name) || strings.ContainsAny(name, "*?[\\\n()") || strings.TrimSpace(name) != name {
		return nil
	}
	tool := "Read"
	if f.writes {
		tool = "Edit"
	}
	work := c.realWork()
	rest, inWork := strings.CutPrefix(name, strings.TrimSuffix(work, "/")+"/")
	switch {
	case inWork && alone:
		return []string{tool + "(./" + rest + ")"}
	case inWork:
		return []string{tool + "(./**)"}
	case alone, f.writes && !c.insideRoots(name), !ordinaryDir(path.Dir(name), c.dirs.Home):
		return []string{tool + "(/" + name + ")"}
	}
	return []string{tool + "(/" + path.Dir(name) + "/**)"}
}

// realWork returns the working directory without links, if that is known.
func (c *call) realWork() string {
	p := place{named: c.dirs.Work}
	if c.resolve(&p) {
		return p.real
	}
	return p.named
}

// ordinaryDir reports whether everything in a directory may be allowed together with a file in it.
func ordinaryDir(dir, home string) bool {
	if dir == home || home != "" && inside(dir, home) || strings.Contains(dir, "/.") {
		return false
	}
	return strings.Count(dir, "/") >= 2 && !inside("/etc", dir) && !inside("/root", dir) && !inside("/var/run", dir) &&
		!inside("/run", dir)
}
