package house_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestQ3_EveryPackageHasAnExample checks that each package that a program can import has an example
// that go test runs, because it says what it prints, and a package comment of at least three lines.
func TestQ3_EveryPackageHasAnExample(t *testing.T) {
	packages := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch name := d.Name(); name {
		case "testdata", "internal", "examples", "cmd", "bench", "house", "oracle", "webtest":
			return filepath.SkipDir
		default:
			if strings.HasPrefix(name, ".") && name != "." {
				return filepath.SkipDir
			}
		}
		comment, examples := parsePackage(t, path)
		if comment == nil {
			return nil
		}
		packages++
		if lines := strings.Count(strings.TrimSpace(*comment), "\n") + 1; lines < 3 {
			t.Errorf("%s: the package comment has %d lines: say what the package is for, what to start with, and "+
				"what it does not do", path, lines)
		}
		for _, e := range examples {
			if e.Output != "" || e.EmptyOutput {
				return nil
			}
		}
		t.Errorf("%s has no Example with an Output comment", path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if packages < 50 {
		t.Errorf("only %d packages were found", packages)
	}
}

// parsePackage returns the package comment of a directory and its examples. The comment is nil if
// the directory has no package, or that of a program.
func parsePackage(t *testing.T, dir string) (comment *string, examples []*doc.Example) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var tests []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasSuffix(name, "_test.go"):
			tests = append(tests, f)
		case f.Name.Name != "main" && (comment == nil || f.Doc != nil):
			text := f.Doc.Text()
			comment = &text
		}
	}
	return comment, doc.Examples(tests...)
}
