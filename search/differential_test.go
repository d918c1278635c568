package search

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
)

var whole = flag.Bool("whole", false, "compare searches of all of Go's own sources, not of a part")

// run returns what a program prints in a directory. Ripgrep's exit code for no match is not a
// failure.
func run(t testing.TB, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"XDG_CONFIG_HOME=/nonexistent")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && command[0] == "rg" && exit.ExitCode() == 1 {
		return ""
	}
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out)
}

// ripgrep runs ripgrep with the flags that make it search the same files as this package.
func ripgrep(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return run(t, dir, append([]string{"rg", "--no-config", "--hidden", "--no-require-git", "--no-ignore-global",
		"--no-ignore-dot", "--glob", "!.git", "--color", "never"}, args...)...)
}

// sorted returns the sorted lines that a program printed.
func sorted(out, sep string) []string {
	if out == "" {
		return []string{}
	}
	all := strings.Split(strings.TrimSuffix(out, sep), sep)
	slices.Sort(all)
	return all
}

// place holds a directory in which searches are compared.
type place struct {
	dir, under string
	git        []string // the command that knows it as a work tree
}

// goPlaces returns parts of Go's own sources, or all of them. The repository that git needs is
// elsewhere, so nothing is written there.
func goPlaces(t *testing.T) []place {
	peer.Need(t, "git")
	src := goSources(t)
	git := []string{"git", "--git-dir", filepath.Join(t.TempDir(), "git"), "--work-tree", src}
	run(t, src, append(git[:3:3], "init", "-q")...)
	if *whole {
		return []place{{src, ".", git}}
	}
	return []place{{src, "net", git}, {src, "cmd/internal", git}}
}

// forestPlace returns the forest as a git repository.
func forestPlace(t *testing.T) place {
	peer.Need(t, "git")
	dir := forest(t).WorkDir()
	run(t, dir, "git", "init", "-q")
	must(t, os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte("excluded\n"), 0o644))
	return place{dir, ".", []string{"git"}}
}

// inPlaces runs a comparison in the forest and in Go's sources.
func inPlaces(t *testing.T, compare func(t *testing.T, p place)) {
	t.Run("forest", func(t *testing.T) { compare(t, forestPlace(t)) })
	t.Run("go", func(t *testing.T) {
		for _, p := range goPlaces(t) {
			t.Run(p.under, func(t *testing.T) { compare(t, p) })
		}
	})
}

// TestC8_TheTreeIsGits compares the files that are searched with those that git does not ignore.
func TestC8_TheTreeIsGits(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		e := local(t, p.dir)
		ours := walked(t, e, p.under)
		for i, name := range ours {
			ours[i] = path.Join(p.under, name)
		}
		slices.Sort(ours)
		theirs := sorted(run(t, p.dir, append(p.git, "ls-files", "-z", "--others", "--exclude-standard", p.under)...),
			"\x00")
		if diff := cmp.Diff(theirs, ours); diff != "" || len(ours) < 100 {
			t.Errorf("%d files, -git +ours\n%.2000s", len(ours), diff)
		}
	})
}

// TestC9_GlobIsGits compares patterns with git's. They mean the same without braces and without **
// at the end, which matches no element too for us, as in bash.
func TestC9_GlobIsGits(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		e := local(t, p.dir)
		for _, pattern := range []string{"**", "*", "**/*.txt", "**/*_test.go", "*/*", "**/[a-c]*/**/*",
			"**/?[!a-m]*.go", "*/**/*s*/*.go", "gen/[0-3]/*", `**/\**`, "**/-e"} {
			l, err := Glob(context.Background(), e, pattern, p.under)
			must(t, err)
			ours := paths(l)
			slices.Sort(ours)
			spec := strings.TrimPrefix(p.under+"/"+pattern, "./")
			theirs := sorted(run(t, p.dir, append(p.git, "ls-files", "-z", "--others", "--exclude-standard",
				":(glob)"+spec)...), "\x00")
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("%s: -git +ours\n%.1500s", pattern, diff)
			}
		}
	})
}

// TestC9_GlobIsRipgreps compares the files that patterns with braces find. Ripgrep's patterns
// override ignore rules, so it searches where those make no difference.
func TestC9_GlobIsRipgreps(t *testing.T) {
	peer.Need(t, "rg")
	for _, p := range goPlaces(t) {
		e := local(t, p.dir)
		for _, pattern := range []string{"**", "**/*.{go,txt}", "**/*_{test,unix,[a-d]*}.{go,md}"} {
			l, err := Glob(context.Background(), e, pattern, p.under)
			must(t, err)
			ours := paths(l)
			slices.Sort(ours)
			theirs := sorted(ripgrep(t, p.dir, "--files", "--null", "--glob", strings.TrimPrefix(pattern, "**/"),
				p.under), "\x00")
			for i := range theirs {
				theirs[i] = strings.TrimPrefix(theirs[i], "./")
			}
			slices.Sort(theirs)
			if diff := cmp.Diff(theirs, ours); diff != "" || len(ours) < 40 {
				t.Errorf("%s in %s: %d files, -rg +ours\n%.1500s", pattern, p.under, len(ours), diff)
			}
		}
	}
}

// TestC8_IgnoreRulesAreGits compares random trees and rules.
func TestC8_IgnoreRulesAreGits(t *testing.T) {
	peer.Need(t, "git")
	// A slash in a class is no separator. It anchors the pattern.
	compareRules(t, map[string]string{
		".gitignore": "[/?[!a]/\nx[a/b]y\n[c/\n", "a/x": "", "d/a/x": "", "xay": "", "d/xby": "", "c": "", "[c": "",
	})
	rnd := seed.New(t)
	names := []string{"a", "b", "ab", "a.b", "c d", "-", "[", "!x", "#x", "ä", `b\`, ".h", "a*"}
	pieces := []string{"a", "b", "ab", "*", "?", "**", "/", "/", "**/", "/**", "[ab]", "[!a]", "[^b-]", "[[:alpha:]]",
		"[", "!", "#", " ", `\`, `\ `, "ä", ".", "c d", "-", "]"}
	for range 60 {
		files := map[string]string{}
		for range 25 {
			var elems []string
			for range 1 + rnd.IntN(4) {
				elems = append(elems, names[rnd.IntN(len(names))])
			}
			files[strings.Join(elems, "/")] = ""
		}
		for range 1 + rnd.IntN(3) {
			dir := []string{"", "a/", "b/", "ab/", "a/b/"}[rnd.IntN(5)]
			var rules strings.Builder
			for range 1 + rnd.IntN(5) {
				for range rnd.IntN(6) {
					rules.WriteString(pieces[rnd.IntN(len(pieces))])
				}
				rules.WriteString([]string{"\n", "\n", "\n", "/\n", "\r\n", " \n"}[rnd.IntN(6)])
			}
			files[dir+".gitignore"] = rules.String()
		}
		compareRules(t, files)
	}
}

// compareRules compares the files that git and the walk see. It leaves out names that are also
// directories of other names.
func compareRules(t *testing.T, files map[string]string) {
	t.Helper()
	for name := range files {
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			delete(files, dir)
		}
	}
	e := plant(t, files)
	run(t, e.WorkDir(), "git", "init", "-q")
	theirs := sorted(run(t, e.WorkDir(), "git", "ls-files", "-z", "--others", "--exclude-standard"), "\x00")
	ours := walked(t, e, "")
	slices.Sort(ours)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		rules := map[string]string{}
		for name, text := range files {
			if filepath.Base(name) == ".gitignore" {
				rules[name] = text
			}
		}
		t.Errorf("rules %q: -git +ours\n%.1000s", rules, diff)
	}
}

// TestC8_LinesAreRipgreps compares results with ripgrep's, for patterns that mean the same to both.
func TestC8_LinesAreRipgreps(t *testing.T) {
	peer.Need(t, "rg")
	inPlaces(t, func(t *testing.T, p place) {
		e := local(t, p.dir)
		for _, c := range []struct {
			Query
			rg []string
		}{
			{Query{Pattern: `foo`}, nil},
			{Query{Pattern: `[A-Z]{5}[0-9]{3}`}, nil},
			{Query{Pattern: `^foo|^func [a-z]+Reader\(`}, nil},
			{Query{Pattern: `foo$|\{$|^x12$|^one$`}, nil},
			{Query{Pattern: `errunexpectedeof|x12`, IgnoreCase: true}, []string{"-i"}},
			{Query{Pattern: `kelvin|stop|ΣΑΣ`, IgnoreCase: true}, []string{"-i"}},
			{Query{Pattern: `no_such_text_anywhere`}, nil},
			{Query{Pattern: `TODO|FIXME|XXX|foo B|x12|panic\(|err != nil|Σ|ä`}, nil},
			{Query{Pattern: `\([ -~]*[xX][0-9]`}, nil},
			{Query{Pattern: `ErrUnexpectedEOF|^foo|X12`, Before: 2, After: 1}, []string{"-B2", "-A1"}},
			{Query{Pattern: `return err|foo`, Mode: Counts}, []string{"--count"}},
			{Query{Pattern: `return err|foo`, Mode: Files}, []string{"--files-with-matches"}},
			{Query{Pattern: `err|x12`, Glob: "*_test.{go,txt}"}, []string{"--glob", "*_test.{go,txt}"}},
			{Query{Pattern: `err|foo`, Glob: "!*.go"}, []string{"--glob", "!*.go"}},
		} {
			c.Path = p.under
			c.rg = append(c.rg, "--regexp", c.Pattern, p.under)
			if diff := cmp.Diff(ripgrepHits(t, p, c.Mode, c.rg), hits(t, e, c.Query)); diff != "" {
				t.Errorf("%+v: -rg +ours\n%.1500s", c.Query, diff)
			}
		}
	})
}

// ripgrepHits returns ripgrep's results in the form of hits. Ripgrep takes any file with a NUL byte
// for binary, we only one that has it near the front, so ripgrep searches all files.
func ripgrepHits(t *testing.T, p place, mode Mode, args []string) []string {
	t.Helper()
	args = append([]string{"--text", "--crlf", "--null", "--line-number", "--no-heading", "--with-filename",
		"--no-context-separator", "--sort", "path"}, args...)
	found := []string{}
	binary := map[string]bool{}
	for rest := ripgrep(t, p.dir, args...); rest != ""; {
		var name, line string
		name, rest, _ = strings.Cut(rest, "\x00")
		name = strings.TrimPrefix(name, "./")
		switch mode {
		case Lines:
			line, rest, _ = strings.Cut(rest, "\n")
			line = strings.TrimSuffix(line, "\r")
			number := len(line) - len(strings.TrimLeft(line, "0123456789"))
			if line = line[number:number+1] + line[:number] + line[number:]; len(line) > maxLine+number+2 {
				line = line[:number+2] + longLine
			}
		case Counts:
			line, rest, _ = strings.Cut(rest, "\n")
			line = ":" + strings.TrimSuffix(line, "\r")
		case Files:
			line = ":1"
		}
		if _, known := binary[name]; !known {
			binary[name] = isBinary(t, filepath.Join(p.dir, name))
		}
		if !binary[name] {
			found = append(found, name+line)
		}
	}
	return found
}

// isBinary reports whether this package takes a file for binary.
func isBinary(t *testing.T, name string) bool {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	head, err := io.ReadAll(io.LimitReader(f, binaryPeek))
	must(t, errors.Join(err, f.Close()))
	return bytes.IndexByte(head, 0) >= 0
}

// TestC8_NoCommandIsNeeded checks that searches start no command.
func TestC8_NoCommandIsNeeded(t *testing.T) {
	e := commandless{forest(t), t}
	for _, pattern := range operators() {
		hits(t, e, Query{Pattern: pattern})
	}
	_, err := Glob(context.Background(), e, "**", "")
	must(t, err)
}

// commandless fails a test that starts a command.
type commandless struct {
	*env.Local
	t *testing.T
}

func (c commandless) Start(context.Context, env.Command) (env.Process, error) {
	c.t.Error("a command was started")
	return nil, fmt.Errorf("no commands here")
}
