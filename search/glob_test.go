package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestC9_Glob(t *testing.T) {
	e := plant(t, map[string]string{
		"a.go": "", "b.ts": "", "src/c.go": "", "src/d.tsx": "", "src/deep/e.go": "", ".hidden/f.go": "", "x[1].go": "",
		"build/g.go": "", ".gitignore": "build/\n*.tmp\n", "h.tmp": "", "dir.go/inner": "",
	})
	for i, name := range []string{"src/deep/e.go", "a.go", ".hidden/f.go", "src/c.go", "b.ts", "src/d.tsx", "x[1].go",
		"build/g.go", "h.tmp"} {
		age(t, e, name, i)
	}
	for _, c := range []struct {
		name, pattern, dir string
		want               []string
	}{
		{"this directory alone, newest first", "*.go", "", []string{"a.go", "x[1].go"}},
		{"any depth", "**/*.go", "", []string{"src/deep/e.go", "a.go", ".hidden/f.go", "src/c.go", "x[1].go"}},
		{"braces", "**/*.{ts,tsx}", "", []string{"b.ts", "src/d.tsx"}},
		{"braces with a slash", "{src/c,a}.go", "", []string{"a.go", "src/c.go"}},
		{"class", "[ab].*", "", []string{"a.go", "b.ts"}},
		{"a negated class", "src/[!c].*", "", []string{"src/d.tsx"}},
		{"a class is never a slash", "src[!x]*", "", []string{}},
		{"a range is never a slash", "src[+-9]*", "", []string{}},
		{"nor is a class of it", "src[/]*", "", []string{}},
		{"what a class may have", `[^\x[-\]-].*[+os-]`, "", []string{"a.go", "b.ts"}},
		{"escapes", `x\[1\].go`, "", []string{"x[1].go"}},
		{"a directory", "*.go", "src", []string{"src/c.go"}},
		{"its whole tree", "**", "src", []string{"src/deep/e.go", "src/c.go", "src/d.tsx"}},
		{"ignored", "build/*", "", []string{}},
		{"ignored, but named", "*", "build", []string{"build/g.go"}},
		{"upwards", "../*.ts", "src", []string{"b.ts"}},
		{"with a dot", "./*.ts", "", []string{"b.ts"}},
		{"absolute", "ABS/src/*.go", "", []string{"src/c.go"}},
		{"absolute and elsewhere", "ABS/*.ts", "src", []string{"b.ts"}},
		{"absolute and ignored", "ABS/build/*", "", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if rest, ok := strings.CutPrefix(c.pattern, "ABS"); ok {
				c.pattern = e.WorkDir() + rest
			}
			l, err := Glob(context.Background(), e, c.pattern, c.dir)
			must(t, err)
			if diff := gocmp.Diff(c.want, paths(l)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestC9_FilesOfOneTimeAreSortedByName(t *testing.T) {
	e := plant(t, map[string]string{"c": "", "a": "", "d/b": ""})
	for _, name := range []string{"c", "a", "d/b"} {
		age(t, e, name, 0)
	}
	l, err := Glob(context.Background(), e, "**", "")
	must(t, err)
	if got := paths(l); !slices.IsSorted(got) || len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestC9_FilesElsewhereHaveAbsolutePaths(t *testing.T) {
	other := plantIn(t, t.TempDir(), map[string]string{"x.go": "foo\n"})
	e := local(t, t.TempDir(), other)
	l, err := Glob(context.Background(), e, "*.go", other)
	must(t, err)
	want := []string{filepath.ToSlash(other) + "/x.go"}
	if diff := gocmp.Diff(want, paths(l)); diff != "" {
		t.Error(diff)
	}
	if got := hits(t, e, Query{Pattern: "foo", Path: other}); len(got) != 1 || got[0] != want[0]+":1:foo" {
		t.Errorf("%q", got)
	}
}

func TestC9_Errors(t *testing.T) {
	e := plant(t, map[string]string{"a": ""})
	for _, bad := range []string{"[", "a{b", `a\`, strings.Repeat("{,}", 40) + "b",
		"{a,{b,c}{d,e}}{f,g}" + strings.Repeat("{a,b,c}", 6)} {
		if _, err := Glob(context.Background(), e, bad, ""); err == nil ||
			!strings.Contains(err.Error(), "is not valid") {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := Grep(context.Background(), e, Query{Pattern: "x", Glob: bad}); err == nil ||
			!strings.Contains(err.Error(), "is not valid") {
			t.Errorf("filter %s: %v", bad, err)
		}
	}
	if n := combinations(`{a,b{c,d}}{e,f}\{,[,]`); n != 6 {
		t.Errorf("%d combinations", n)
	}
	if _, err := Glob(context.Background(), e, "*", "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must(t, os.Mkdir(filepath.Join(e.WorkDir(), "empty"), 0o755))
	if l, err := Glob(context.Background(), e, "*", "empty"); err != nil || len(l.Files) != 0 {
		t.Errorf("%v, %v", l, err)
	}
}

// TestU6_ElementsThatAreNames: each element can be a name, also behind stars and beside patterns.
func TestU6_ElementsThatAreNames(t *testing.T) {
	e := plant(t, map[string]string{"app/[id]/page.tsx": "x", "app/i/page.tsx": "x", "app/[id]/[a-b]/c.ts": "x",
		"app/[id]/b/c.ts": "x", "app/{x,y}.go": "x", "[": "x"})
	for pattern, want := range map[string][]string{
		"**/[id]/page.tsx":    {"app/[id]/page.tsx", "app/i/page.tsx"},
		"app/[id]/[a-b]/*.ts": {"app/[id]/[a-b]/c.ts", "app/[id]/b/c.ts"},
		"app/{x,y}.go":        {"app/{x,y}.go"},
		"[":                   {"["},
	} {
		l, err := Glob(context.Background(), e, pattern, "")
		must(t, err)
		var got []string
		for _, f := range l.Files {
			got = append(got, f.Path)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
		r, err := Grep(context.Background(), e, Query{Pattern: "x", Glob: pattern})
		must(t, err)
		if len(r.Files) != len(want) {
			t.Errorf("%s selects %d files, want %d", pattern, len(r.Files), len(want))
		}
	}
}
