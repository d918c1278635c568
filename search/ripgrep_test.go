package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
)

// need skips a test where a program is missing.
func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: %v", program, err)
	}
}

// forest is a tree with everything that searches differ in: nested rules and negations, hidden and binary files, line ends, byte
// order marks, bytes that are no UTF-8, long lines, odd names.
func forest(t testing.TB) *env.Local {
	t.Helper()
	files := map[string]string{
		".gitignore": "*.log\n!keep.log\n/only-here\nbuild/\ndocs/**/gen\n", "a/.gitignore": "!*.log\nsecret*\n", "a/b/.gitignore": "*\n!.gitignore\n!yes.txt\n",
		".git/info/exclude": "excluded\n", ".ignore": "plain.txt\n", "a/.rgignore": "d2.txt\n",
		"keep.log": "foo\n", "x.log": "foo\n", "a/x.log": "foo BAR\n", "only-here": "foo\n", "a/only-here": "foo\n", "build/o": "foo\n",
		"src/build": "foo\n", "docs/1/2/gen/f": "foo\n", "docs/gen2": "foo\n", "a/secret1": "foo\n", "a/b/no.txt": "foo\n", "a/b/yes.txt": "foo\n",
		"excluded": "foo\n", "plain.txt": "foo\n", ".hidden/.f": "foo X12\n", ".env": "K=foo\n",
		"bin/early": "foo\x00bar\n", "bin/late": strings.Repeat("foo x12\n", 1100) + "\x00 XYZ99\n",
		"crlf": "one\r\nfoo\r\nx12\r\n\r\n", "bom": "\ufefffoo\nX12\n", "crs": "a\rb\r\n12\r", "nofinal": "one\nx12", "empty": "",
		"latin1": "caf\xe9 foo\nx\xff12\n\xe2\x82\n", "wide": "ſtop \u212aelvin ÄÖÜ äöü ΣΑΣ ς 日本語 \U0001F600 foo\n",
		"long":         strings.Repeat("y", 5000) + "foo X12" + strings.Repeat("z", 5000) + "\nshort\n",
		"süß/日本 語.txt": "foo x12\n", "odd/'quote' \"$x\" `y`;": "foo X12\n", "odd/-e": "foo x12\n", "odd/line\nbreak": "foo x12\n", "odd/*": "x12\n",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"foo", "Bar", "x12", "X12", "ABCDE123", "_", "ä", "Σ", "\u017f", " ", "\t", "\n", "\n", "\r\n", "(", "é", "\xff", "\x00"}
	for i := range 80 {
		var b strings.Builder
		for range rnd.IntN(60) {
			b.WriteString(words[min(rnd.IntN(len(words)+8), rnd.IntN(len(words)))])
		}
		files[fmt.Sprintf("gen/%d/%d.txt", i%7, i)] = b.String()
	}
	return plant(t, files)
}

// patterns have every operator, and what Go and Rust understand differently.
func patterns() []string {
	return []string{
		`foo`, `[A-Z]{5}\d{3}`, `\w\d+$`, `^\w+$`, `^[a-z]+\s`, `\d`, `\D\d\D`, `\s\S\s`, `^.{3}$`, `.{40,}`, `[^a-z\s]{2}`, `\bx`, `\Bx`, `x\b|\b_`, `\B_\B`, `[äöü]`,
		`(?i:ä)[öÖ]`, `(?i)[k]`, `(?i)[s]top`, `[ſK]`, `\p{Greek}`, `\pL\pN`, `[[:upper:]][[:digit:]]`, `[^\x00-\x7f]`, `.\x{FFFD}`, `[\x{FFFD}]`, `\x00`, `[\x00-\x08]`,
		`(a|b|\d)+?x`, `(?P<n>\d){2}`, `^$`, `x*`, `[\r]`, `\r`, `.\r$`, `$`, `^`, `\A\S`, `\S\z`, `^[^ ]$`, `[\n\d]`, `[^\n]{5}$`, `7$`, `^[q]+$`, `[()]`, `[\-\]\\^]`,
		`^(?:\d|)$`, `\Q[a]\E|\d_`, `(?s).{3}_`, `(?U)\d+`, `(?m)^\d$`, `\x{1F600}`, `[\x{1F000}-\x{1FFFF}]`, `[a-z&&[b]]`, `[a~~b]`, `#|\d `, `日.`,
	}
}

// TestC8_RipgrepFindsWhatTheEngineFinds runs every pattern with the engine alone and with ripgrep's help.
func TestC8_RipgrepFindsWhatTheEngineFinds(t *testing.T) {
	need(t, "rg")
	e := forest(t)
	ctx := context.Background()
	helped := 0
	for i, pattern := range patterns() {
		queries := []Query{
			{Pattern: pattern}, {Pattern: pattern, IgnoreCase: true, Mode: Counts}, {Pattern: pattern, Mode: Files, Max: 3, Glob: "*.txt"},
			{Pattern: pattern, Max: 7, Before: 1, After: 2, Path: "gen"},
		}
		for _, q := range []Query{queries[0], queries[1+i%3]} {
			run := func(help bool) (*grepper, int) {
				m, err := compile(q.Pattern, q.IgnoreCase)
				must(t, err)
				g := &grepper{env: e, query: &q, matcher: m, left: q.Max}
				files, err := g.files(ctx)
				must(t, err)
				if help {
					must(t, g.ripgrep(ctx, files))
				}
				must(t, g.search(ctx, files))
				return g, len(files)
			}
			alone, _ := run(false)
			with, files := run(true)
			if diff := cmp.Diff(alone.result, with.result); diff != "" {
				t.Errorf("%+v: -engine +ripgrep\n%.2000s", q, diff)
			}
			if len(with.candidates) < files/2 {
				helped++
			}
		}
	}
	if helped < 20 {
		t.Errorf("ripgrep left out half of the files in %d searches only: the test compares nothing", helped)
	}
}

// TestC8_PiecesOfALongLineAreFoundWithRipgrepToo: the engine cuts the line, so that a match may end where ripgrep sees no end.
func TestC8_PiecesOfALongLineAreFoundWithRipgrepToo(t *testing.T) {
	need(t, "rg")
	e := plant(t, map[string]string{"huge": strings.Repeat("q", maxChunk+100) + "7\n"})
	q := Query{Pattern: `^[q]+$`, Mode: Files}
	m, err := compile(q.Pattern, false)
	must(t, err)
	g := &grepper{env: e, query: &q, matcher: m}
	files, err := g.files(context.Background())
	must(t, err)
	must(t, g.ripgrep(context.Background(), files))
	must(t, g.search(context.Background(), files))
	if g.candidates["huge"] || len(g.result.Files) != len(hits(t, e, q)) || len(g.result.Files) != 1 {
		t.Errorf("%+v, candidates %v", g.result, g.candidates)
	}
}

// TestC8_TheTreeIsWhatGitAndRipgrepSee compares the files that are searched.
func TestC8_TheTreeIsWhatGitAndRipgrepSee(t *testing.T) {
	e := forest(t)
	entries, err := (&walker{env: e}).walk(context.Background(), e.WorkDir())
	must(t, err)
	var ours []string
	for _, f := range entries {
		ours = append(ours, f.rel)
	}
	slices.Sort(ours)
	for _, command := range [][]string{
		{"git", "ls-files", "-z", "--others", "--exclude-standard"},
		{"rg", "--no-config", "--files", "--hidden", "--no-ignore-global", "--no-ignore-dot", "--glob", "!.git", "--null"},
	} {
		t.Run(command[0], func(t *testing.T) {
			need(t, "git")
			need(t, command[0])
			runIn(t, e.WorkDir(), "git", "init", "-q")
			must(t, os.WriteFile(filepath.Join(e.WorkDir(), ".git/info/exclude"), []byte("excluded\n"), 0o644))
			theirs := strings.Split(strings.TrimSuffix(runIn(t, e.WorkDir(), command...), "\x00"), "\x00")
			slices.Sort(theirs)
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("-%s +ours\n%s", command[0], diff)
			}
		})
	}
}

// TestC8_LinesAreThoseOfRipgrep compares results with ripgrep's own, where both mean the same by the pattern and the file.
func TestC8_LinesAreThoseOfRipgrep(t *testing.T) {
	need(t, "rg")
	need(t, "git")
	e := forest(t)
	runIn(t, e.WorkDir(), "git", "init", "-q")
	must(t, os.Remove(filepath.Join(e.WorkDir(), "odd/line\nbreak"))) // its name would break the lines
	for _, pattern := range []string{`foo`, `[A-Z]{5}[0-9]{3}`, `^foo`, `foo$`, `(?i)x12\b`, `^[a-z]+ [xX]`, `\(.*[xX]`, `^one$|^x12$`, `[äΣ]x`} {
		ours := hits(t, e, Query{Pattern: pattern, Glob: "!{long,late,latin1,[0-9]*.txt}"})
		slices.Sort(ours)
		theirs := strings.Split(strings.TrimSuffix(runIn(t, e.WorkDir(), "rg", "--no-config", "--hidden", "--no-ignore-global", "--no-ignore-dot",
			"--line-number", "--no-heading", "--with-filename", "--color", "never", "--crlf", "--glob", "!.git", "--glob", "!{long,late,latin1,[0-9]*.txt}", "-e", pattern), "\n"), "\n")
		for i := range theirs {
			theirs[i] = strings.TrimSuffix(theirs[i], "\r")
		}
		theirs = slices.DeleteFunc(theirs, func(l string) bool { // of a file with a NUL byte it says so
			return l == "" || strings.HasPrefix(l, "bin/") || strings.Contains(l, ": binary file matches") || strings.Contains(l, "Binary file")
		})
		slices.Sort(theirs)
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("%s: -rg +ours\n%.1500s", pattern, diff)
		}
	}
}

func runIn(t testing.TB, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "XDG_CONFIG_HOME=/nonexistent")
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

// scripted is an environment whose commands are replaced by another script.
type scripted struct {
	*env.Local
	script  string
	started *int
}

func (s scripted) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	*s.started++
	if s.script == "" {
		return nil, errors.New("no commands here")
	}
	cmd.Script = s.script
	return s.Local.Start(ctx, cmd)
}

// TestC8_WithoutRipgrepTheResultIsTheSame: whatever goes wrong, the engine does it all.
func TestC8_WithoutRipgrepTheResultIsTheSame(t *testing.T) {
	e := plant(t, map[string]string{"a": strings.Repeat(strings.Repeat("x", 999)+"\n", ripgrepFrom/1000+1), "b": strings.Repeat(strings.Repeat("y", 999)+"\n", ripgrepFrom/1000+1), "c": "A1\n", "d": "z1\n", "e": "A2\n"})
	q := Query{Pattern: `[A-Z]\d`}
	want := []string{"c:1:A1", "e:1:A2"}
	for name, script := range map[string]string{
		"does not start": "", "is not there": "exit 3", "fails": "cat >/dev/null; exit 2", "complains": "cat >/dev/null; echo no >&2", "does not read": "exit 0",
		"fails half-way": `cat >/dev/null; printf '%s/c\0' "$PWD"; exit 1`, "is cut off": `cat >/dev/null; printf '%s/c\0' "$PWD"`, "is killed": "kill -9 $$",
	} {
		t.Run(name, func(t *testing.T) {
			started := 0
			if diff := cmp.Diff(want, hits(t, scripted{e, script, &started}, q)); diff != "" || started != 1 {
				t.Errorf("%d starts\n%s", started, diff)
			}
		})
	}
	t.Run("is believed", func(t *testing.T) { // so the others are not by chance
		started := 0
		s := scripted{e, `cat >/dev/null; printf '%s/e\0end\0' "$PWD"`, &started}
		if diff := cmp.Diff(want[1:], hits(t, s, q)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("is not asked", func(t *testing.T) {
		started := 0
		for _, q := range []Query{{Pattern: `A1`}, {Pattern: `x*`, Max: 5}, {Pattern: `[xy]`, Max: 5}, {Pattern: `[A]\d`, Path: "c"}, {Pattern: `A\d`}} {
			hits(t, scripted{e, "", &started}, q)
		}
		if started != 0 {
			t.Errorf("%d starts", started)
		}
	})
	t.Run("the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		started := 0
		s := waiting{scripted{e, "cat >/dev/null; sleep 600", &started}, cancel}
		if _, err := Grep(ctx, s, q); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// waiting ends a context as soon as a command runs.
type waiting struct {
	scripted
	cancel context.CancelFunc
}

func (w waiting) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	p, err := w.scripted.Start(ctx, cmd)
	w.cancel()
	return p, err
}

// FuzzC8_RustPattern: no pattern makes the translation panic, and what it writes is ASCII without NUL, fit for a variable.
func FuzzC8_RustPattern(f *testing.F) {
	for _, p := range patterns() {
		f.Add(p, true)
	}
	f.Fuzz(func(t *testing.T, pattern string, fold bool) {
		got, err := rustPattern(&Query{Pattern: pattern, IgnoreCase: fold})
		var bad *syntax.Error
		if err != nil && !errors.As(err, &bad) && !errors.Is(err, errNoRust) {
			t.Fatal(err)
		}
		for _, c := range []byte(got) {
			if c <= ' ' || c > '~' {
				t.Fatalf("%q", got)
			}
		}
	})
}
