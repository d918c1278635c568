package search

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// goroot is where Go's own sources are.
func goroot(b *testing.B) string {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("there is no go command to ask for its sources: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// BenchmarkGrep searches Go's own sources. The first three kinds of pattern have a required literal, the last has none.
func BenchmarkGrep(b *testing.B) {
	e := local(b, goroot(b))
	for _, q := range []struct {
		name string
		Query
	}{
		{"literal", Query{Pattern: `ErrUnexpectedEOF`}},
		{"regex", Query{Pattern: `func \w+Reader\(`}},
		{"alternatives", Query{Pattern: `TODO|FIXME|XXX`}},
		{"ignoreCase", Query{Pattern: `errunexpectedeof`, IgnoreCase: true}},
		{"frequent", Query{Pattern: `return err`}},
		{"noLiteral", Query{Pattern: `[A-Z]{5}\d{3}`}},
		{"context", Query{Pattern: `ErrUnexpectedEOF`, Before: 3, After: 3}},
	} {
		b.Run(q.name, func(b *testing.B) {
			q.Path = "src"
			for b.Loop() {
				r, err := Grep(context.Background(), e, q.Query)
				if err != nil || r.Searched < 1000 {
					b.Fatal(err, r.Searched)
				}
			}
		})
	}
}

func BenchmarkGlob(b *testing.B) {
	e := local(b, goroot(b))
	for b.Loop() {
		l, err := Glob(context.Background(), e, "**/*_test.go", "src")
		if err != nil || len(l.Files) < 1000 {
			b.Fatal(err, len(l.Files))
		}
	}
}
