package coding

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
)

func TestC8_Results(t *testing.T) {
	b := newFixture(t)
	b.put("a.go", "package a\n\nfunc Foo() {}\n\nvar x = Foo\n")
	b.put("src/b.go", "// foo\n")
	b.put("skip.log", "Foo\n")
	b.put("bin", "Foo\x00")
	b.put(".gitignore", "*.log\n")
	for _, c := range []struct {
		name string
		args object
		want string
	}{
		{"lines", object{"pattern": "Foo"}, "a.go:3:func Foo() {}\na.go:5:var x = Foo\n[2 matching lines in 1 file]\n"},
		{"ignoring case", object{"pattern": "FOO", "case_insensitive": true, "path": "src"},
			"src/b.go:1:// foo\n[1 matching line in 1 file]\n"},
		{"context", object{"pattern": "Foo", "context": 1, "glob_filter": "a.*"},
			"a.go-2-\na.go:3:func Foo() {}\na.go-4-\na.go:5:var x = Foo\n[2 matching lines in 1 file]\n"},
		{"context with a hole, and of two files", object{"pattern": "package|= Foo|foo", "context": 1},
			"a.go:1:package a\na.go-2-\n--\na.go-4-\na.go:5:var x = Foo\n--\nsrc/b.go:1:// foo\n[3 matching lines in " +
				"2 files]\n"},
		{"names", object{"pattern": "(?i)foo", "output_mode": "files_with_matches"}, "a.go\nsrc/b.go\n"},
		{"counts", object{"pattern": "(?i)foo", "output_mode": "count"},
			"a.go:2\nsrc/b.go:1\n[3 matching lines in 2 files]\n"},
		{"the first", object{"pattern": "Foo", "max_results": 1},
			"a.go:3:func Foo() {}\n[Only the first 1 results are shown; there are more. Narrow the search, or set " +
				"max_results.]\n"},
		{"exactly as many as wanted", object{"pattern": "Foo", "max_results": 2},
			"a.go:3:func Foo() {}\na.go:5:var x = Foo\n[2 matching lines in 1 file]\n"},
		{"nothing", object{"pattern": "nowhere"}, "No matches in 3 files.\n"},
		{"nothing to search", object{"pattern": "x", "glob_filter": "*.rs"},
			"No matches: no file to search matches glob_filter *.rs; check it, or leave it out.\n"},
		{"a binary file", object{"pattern": "Foo", "path": "bin"},
			"No matches: there was no text file to search, only 1 binary file.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, b.ok(Grep(), c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestC8_DefaultMaximumIs100(t *testing.T) {
	b := newFixture(t)
	b.put("f", strings.Repeat("x\n", 101))
	if got := b.ok(Grep(), object{"pattern": "x"}); strings.Count(got, "f:") != 100 ||
		!strings.Contains(got, "Only the first 100 results") {
		t.Errorf("%q", got)
	}
}

// A model that wants everything gets at most MaxResults.
func TestC8_MaximumIsBounded(t *testing.T) {
	b := newFixture(t)
	b.put("f", strings.Repeat("x\n", MaxResults+1))
	out := b.run(Grep(), object{"pattern": "x", "max_results": 1 << 40}).Content.Text()
	if n := strings.Count(out, "f:"); n != MaxResults || !strings.Contains(out, "Only the first 10000 results") {
		t.Errorf("%d results: %.100q", n, out[max(0, len(out)-200):])
	}
}

func TestC8_Refusals(t *testing.T) {
	b := newFixture(t)
	b.put("f", "x\n")
	b.fails(Grep(), object{"pattern": "foo(bar"}, "at character 4", "(bar", `put a \ before`)
	b.fails(Grep(), object{"pattern": "a(?=b)"}, "lookahead", "choose from what is found")
	b.fails(Grep(), object{"pattern": "a\nb"}, `here: \nb.`, "one by one")
	b.fails(Grep(), object{"pattern": "x", "path": "~/src"}, "~ is not expanded")
	b.fails(Grep(), object{"pattern": ""}, "pattern is empty")
	b.fails(Grep(), object{"pattern": "x", "path": "nowhere"}, "nowhere does not exist")
	b.fails(Grep(), object{"pattern": "x", "glob_filter": "["}, "glob pattern", "not valid")
	b.fails(Grep(), object{"pattern": "x", "max_results": -1}, "max_results is -1")
	b.fails(Grep(), object{"pattern": "x", "context": -1}, "context is -1")
	b.fails(Grep(), object{"pattern": "x", "output_mode": "lines"},
		`"output_mode" must be one of "content", "files_with_matches", "count"`)
	b.fails(Grep(), object{"pattern": "x", "path": "/etc"}, "outside")
}

func TestC8_LongLinesSayWhatIsLeftOut(t *testing.T) {
	b := newFixture(t)
	b.put("min.js", strings.Repeat("a", 5000)+"needle"+strings.Repeat("b", 5000)+"\n")
	got := b.ok(Grep(), object{"pattern": "needle"})
	want := "min.js:1:[... 4800 bytes] " + strings.Repeat("a", 200) + "needle" + strings.Repeat("b",
		794) + " [4206 bytes ...]\n[1 matching line in 1 file]\n"
	if got != want {
		t.Errorf("%q", got)
	}
}

func TestC8_UnreadableIsSaid(t *testing.T) {
	got := renderGrep(search.Result{Searched: 1, Unreadable: []string{"d: permission denied"}}, search.Query{})
	if want := "No matches in 1 file.\n[Not readable: d: permission denied]\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestC9_Results(t *testing.T) {
	b := newFixture(t)
	b.put(".gitignore", "*.log\n")
	b.put("x.log", "")
	for i, name := range []string{"old.go", "src/new.go", "src/newest_test.go"} {
		b.put(name, "")
		at := time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(b.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"pattern": "**/*.go"}, "src/newest_test.go\nsrc/new.go\nold.go\n"},
		{object{"pattern": "*.go", "path": "src"}, "src/newest_test.go\nsrc/new.go\n"},
		{object{"pattern": "new.go"}, "No files match new.go. To look in all directories below, use **/new.go.\n"},
		{object{"pattern": "src/*.rs"},
			"No files match src/*.rs. To look in all directories below, use src/**/*.rs; what .gitignore excludes is " +
				"left out, unless its directory is given as path.\n"},
		{object{"pattern": "lib/*.rs"}, "No files match lib/*.rs. There is no directory lib.\n"},
		{object{"pattern": "src"}, "No files match src. It is a directory; to find the files in it, use src/**.\n"},
		{object{"pattern": "x.log"}, "No files match x.log. There is such a file, but .gitignore excludes it.\n"},
		{object{"pattern": ".git/*"}, "No files match .git/*. Files in .git directories are not listed.\n"},
		{object{"pattern": "**/*.rs"}, "No files match **/*.rs.\n"},
	} {
		if got := b.ok(Glob(), c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	b.fails(Glob(), object{"pattern": ""}, "pattern is empty")
	b.fails(Glob(), object{"pattern": "["}, "not valid")
	b.fails(Glob(), object{"pattern": "*", "path": "old.go"}, "old.go is a file")
	b.fails(Glob(), object{"pattern": "~/*"}, "~ is not expanded")
	b.fails(Glob(), object{"pattern": "*", "path": "nowhere"}, "does not exist", "nowhere")
}

func TestC9_NewestStay(t *testing.T) {
	b := newFixture(t)
	for i := range 600 {
		name := fmt.Sprintf("%0100d", i)
		b.put(name, "")
		at := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(b.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	got := b.ok(Glob(), object{"pattern": "*"})
	if !strings.HasPrefix(got, fmt.Sprintf("%0100d\n", 599)) ||
		!strings.Contains(got, "removed from the end. Give a narrower pattern, or a directory as path.]") {
		t.Errorf("%q", got[:300])
	}
}

func TestC8_Access(t *testing.T) {
	for args, want := range map[string]string{`{"pattern":"x"}`: ".", `{"pattern":"x","path":"./src/"}`: "src"} {
		for _, tl := range []tool.Tool{Grep(), Glob()} {
			access, err := tl.Access(args)
			if err != nil || access.Effect != tool.ReadOnly || len(access.Paths) != 1 || access.Paths[0] != want {
				t.Errorf("%s %s: %+v, %v", tl.Name, args, access, err)
			}
		}
	}
}
