package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
)

// longLine stands for the text of a line that is cut.
const longLine = "[long]"

// hits runs a query. It returns lines as path:number:text, context as path-number-text, and counts
// as path:count.
func hits(t *testing.T, e env.Environment, q Query) []string {
	t.Helper()
	r, err := Grep(context.Background(), e, q)
	must(t, err)
	lines := []string{}
	for _, f := range r.Files {
		if q.Mode != Lines {
			lines = append(lines, fmt.Sprintf("%s:%d", f.Path, f.Count))
		}
		for _, l := range f.Lines {
			sep := "-"
			if l.Match {
				sep = ":"
			}
			text := l.Text
			if l.CutBefore+l.CutAfter > 0 {
				text = longLine
			}
			lines = append(lines, f.Path+sep+fmt.Sprint(l.Number)+sep+text)
		}
	}
	return lines
}

func TestC8_Grep(t *testing.T) {
	e := plant(t, map[string]string{
		"a.go":       "package a\n\nfunc Foo() {}\nfunc bar() {}\n",
		"b/c.go":     "foo\nFOO\nx foo",
		"b/d.txt":    "foo\n",
		".hidden/h":  "foo\n",
		"crlf":       "one\r\nfoo\r\n",
		"bom":        "\ufefffoo\n",
		"z/skip.log": "foo\n",
		".gitignore": "*.log\n",
	})
	for _, c := range []struct {
		name string
		q    Query
		want []string
	}{
		{"literal", Query{Pattern: "Foo"}, []string{"a.go:3:func Foo() {}"}},
		{"ignore case", Query{Pattern: "foo", IgnoreCase: true, Path: "b"},
			[]string{"b/c.go:1:foo", "b/c.go:2:FOO", "b/c.go:3:x foo", "b/d.txt:1:foo"}},
		{"tree order, hidden files, bom, crlf", Query{Pattern: "^foo$"},
			[]string{".hidden/h:1:foo", "b/c.go:1:foo", "b/d.txt:1:foo", "bom:1:foo", "crlf:2:foo"}},
		{"one file", Query{Pattern: "foo", Path: "b/c.go"}, []string{"b/c.go:1:foo", "b/c.go:3:x foo"}},
		{"a named file in spite of .gitignore and glob", Query{Pattern: "foo", Path: "z/skip.log", Glob: "*.go"},
			[]string{"z/skip.log:1:foo"}},
		{"glob by name", Query{Pattern: "foo", Glob: "*.txt"}, []string{"b/d.txt:1:foo"}},
		{"glob by path", Query{Pattern: "foo", Glob: "b/*.{go,txt}"},
			[]string{"b/c.go:1:foo", "b/c.go:3:x foo", "b/d.txt:1:foo"}},
		{"glob from the working directory", Query{Pattern: "foo", Path: "b", Glob: "b/*.txt"},
			[]string{"b/d.txt:1:foo"}},
		{"glob excludes", Query{Pattern: "foo", Path: "b", Glob: "!*.go"}, []string{"b/d.txt:1:foo"}},
		{"files", Query{Pattern: "foo", Path: "b", Mode: Files}, []string{"b/c.go:1", "b/d.txt:1"}},
		{"counts", Query{Pattern: "foo", Path: "b", Mode: Counts}, []string{"b/c.go:2", "b/d.txt:1"}},
		{"context", Query{Pattern: "Foo", Before: 1, After: 1},
			[]string{"a.go-2-", "a.go:3:func Foo() {}", "a.go-4-func bar() {}"}},
		{"an empty match is on every line", Query{Pattern: "x*", Path: "b"},
			[]string{"b/c.go:1:foo", "b/c.go:2:FOO", "b/c.go:3:x foo", "b/d.txt:1:foo"}},
		{"nothing", Query{Pattern: "nowhere"}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, hits(t, e, c.q)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestC8_Binary(t *testing.T) {
	e := plant(t, map[string]string{
		"early": "foo\x00",
		"late":  "foo\n" + strings.Repeat("x", binaryPeek) + "\x00",
	})
	r, err := Grep(context.Background(), e, Query{Pattern: "foo", Mode: Files})
	must(t, err)
	if len(r.Files) != 1 || r.Files[0].Path != "late" || r.Searched != 1 {
		t.Errorf("%+v", r)
	}
}

func TestC8_MaxIsExactAndTheSameEveryTime(t *testing.T) {
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = strings.Repeat("foo\n", i%5)
	}
	e := plant(t, files)
	all := hits(t, e, Query{Pattern: "foo"})
	for n := 1; n <= len(all)+1; n++ {
		r, err := Grep(context.Background(), e, Query{Pattern: "foo", Max: n})
		must(t, err)
		if more := n < len(all); r.More != more {
			t.Errorf("max %d of %d: More is %v", n, len(all), r.More)
		}
		if diff := cmp.Diff(all[:min(n, len(all))], hits(t, e, Query{Pattern: "foo", Max: n})); diff != "" {
			t.Fatalf("max %d: %s", n, diff)
		}
	}
	names := hits(t, e, Query{Pattern: "foo", Mode: Files})
	for n := 1; n <= len(names)+1; n++ {
		r, err := Grep(context.Background(), e, Query{Pattern: "foo", Mode: Files, Max: n})
		must(t, err)
		if more := n < len(names); r.More != more || len(r.Files) != min(n, len(names)) {
			t.Errorf("max %d of %d files: %d, More %v", n, len(names), len(r.Files), r.More)
		}
	}
}

func TestC8_MaxKeepsTheLastMatchsContext(t *testing.T) {
	e := plant(t, map[string]string{"f": "1\nfoo\n3\n4\n5\n6\nfoo\n"})
	got := hits(t, e, Query{Pattern: "foo", Max: 1, Before: 2, After: 2})
	if diff := cmp.Diff([]string{"f-1-1", "f:2:foo", "f-3-3", "f-4-4"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestC8_LongLine(t *testing.T) {
	const size = 100_000
	e := plant(t, map[string]string{"min.js": strings.Repeat("ä", size) + "needle" + strings.Repeat("ö", size) + "\n"})
	r, err := Grep(context.Background(), e, Query{Pattern: "needle"})
	must(t, err)
	l := r.Files[0].Lines[0]
	if len(l.Text) > maxLine || !strings.Contains(l.Text, "needle") || strings.ToValidUTF8(l.Text, "?") != l.Text {
		t.Errorf("%d bytes: %q", len(l.Text), l.Text)
	}
	if total := l.CutBefore + len(l.Text) + l.CutAfter; total != 4*size+len("needle") {
		t.Errorf("the cuts do not add up: %d", total)
	}
}

func TestC8_LineLongerThanAChunk(t *testing.T) {
	pieces := "needle" + strings.Repeat("x", 3*maxChunk/2)
	e := plant(t, map[string]string{"big": "first\n" + strings.Repeat("x", 3*maxChunk) + "\nneedle\n",
		"often": pieces + pieces + "needle\nneedle\nlast\n"})
	if diff := cmp.Diff([]string{"often:1:" + longLine, "often:2:needle", "often-3-last"},
		hits(t, e, Query{Pattern: "needle", After: 1, Path: "often"})); diff != "" {
		t.Errorf("a line that matches in several pieces: %s", diff)
	}
	got := hits(t, e, Query{Pattern: "needle", Before: 1, Path: "big"})
	if len(got) != 2 || got[1] != "big:3:needle" {
		t.Errorf("%.200q", got)
	}
	for path, want := range map[string]int{"big": 1, "often": 0} { // which has matches in all its pieces
		r, err := Grep(context.Background(), e, Query{Pattern: "needle", Path: path})
		must(t, err)
		if len(r.Unreadable) != want || r.Searched != 1 || want > 0 && !strings.Contains(r.Unreadable[0],
			"is longer than") {
			t.Errorf("%s: %q, %d searched", path, r.Unreadable, r.Searched)
		}
	}
}

// A match is found wherever it is in a line of several MiB, as minified files and exports have
// them.
func TestC8_MatchInALongLine(t *testing.T) {
	for _, at := range []int{1<<20 - 3, 2<<20 - 3} {
		e := plant(t, map[string]string{"f": strings.Repeat("x", at) + "needle" + strings.Repeat("x", 1<<20)})
		r, err := Grep(context.Background(), e, Query{Pattern: "^x+needle"})
		must(t, err)
		if len(r.Files) != 1 || len(r.Unreadable) != 0 {
			t.Errorf("at %d: %d files, %q", at, len(r.Files), r.Unreadable)
		}
	}
}

func TestC8_Unreadable(t *testing.T) {
	e := plant(t, map[string]string{"a": "foo\n", "b": "foo\n", "d/e": "foo\n"})
	broken := failing{e, map[string]bool{"b": true, "d": true}}
	r, err := Grep(context.Background(), broken, Query{Pattern: "foo"})
	must(t, err)
	if len(r.Files) != 1 || len(r.Unreadable) != 2 {
		t.Errorf("%+v", r)
	}
	if _, err := Grep(context.Background(), broken, Query{Pattern: "foo", Path: "b"}); !errors.Is(err,
		fs.ErrPermission) {
		t.Errorf("a file that was named: %v", err)
	}
	if _, err := Grep(context.Background(), e, Query{Pattern: "foo", Path: "nowhere"}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
}

// failing is an environment that refuses some names.
type failing struct {
	env.Environment
	names map[string]bool
}

func (f failing) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if f.names[filepath.Base(name)] {
		return nil, fs.ErrPermission
	}
	return f.Environment.Open(ctx, name)
}

func (f failing) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	if f.names[filepath.Base(name)] {
		return nil, fs.ErrPermission
	}
	return f.Environment.ReadDir(ctx, name)
}

func TestC8_ContextEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("f%d", i)] = "foo\n"
	}
	e, err := env.NewLocal(plantIn(t, t.TempDir(), files), env.LocalOptions{})
	must(t, err)
	defer func() { must(t, e.Close()) }()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err = Grep(ctx, cancelling{e, func() { cancel(cause) }}, Query{Pattern: "foo"})
	if !errors.Is(err, cause) {
		t.Errorf("grep: %v", err)
	}
	if _, err := Glob(ctx, e, "**", ""); !errors.Is(err, cause) {
		t.Errorf("glob: %v", err)
	}
}

// cancelling is an environment that cancels the search when a file is opened.
type cancelling struct {
	env.Environment
	cancel func()
}

func (c cancelling) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	c.cancel()
	return c.Environment.Open(ctx, name)
}

// indexed is an environment with a search of its own.
type indexed struct{ env.Environment }

func (indexed) Grep(context.Context, Query) (Result, error) { return Result{Searched: 42}, nil }
func (indexed) Glob(context.Context, string, string) (Listing, error) {
	return Listing{Files: []File{{Path: "mine"}}}, nil
}

func TestC8_SearcherIsUsed(t *testing.T) {
	e := plant(t, map[string]string{"f": "foo\n"})
	if r, err := Grep(context.Background(), indexed{e}, Query{Pattern: "foo"}); err != nil || r.Searched != 42 {
		t.Errorf("%+v, %v", r, err)
	}
	if l, err := Glob(context.Background(), indexed{e}, "*", ""); err != nil || len(l.Files) != 1 ||
		l.Files[0].Path != "mine" {
		t.Errorf("%+v, %v", l, err)
	}
	wrapped := struct{ env.Environment }{indexed{e}} // a wrapper that hides the Searcher
	if r, err := Grep(context.Background(), wrapped, Query{Pattern: "foo"}); err != nil || r.Searched != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestC8_BigFile checks that memory does not grow with the file.
func TestC8_BigFile(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	must(t, err)
	_, err = f.WriteString(strings.Repeat("x\n", binaryPeek))
	must(t, err)
	must(t, f.Truncate(64<<20)) // a hole, which is one very long line
	must(t, f.Close())
	e := local(t, dir)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Grep(context.Background(), e, Query{Pattern: "x", Mode: Counts})
	runtime.ReadMemStats(&after)
	must(t, err)
	if n := r.Files[0].Count; n != binaryPeek {
		t.Errorf("%d lines", n)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
		t.Errorf("%d bytes allocated", allocated)
	}
}
