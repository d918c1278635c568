package house_test

import (
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQ4_CodeInDocsCompiles vets the Go code of the pages and runs its tests, in a module of its
// own as a reader would. A block counts if it begins with a package clause, perhaps below comments.
// The blocks of one page and package belong together, also those of its tests (package NAME_test),
// and are imported as example.com/NAME; each block of package main is a program. What fails is
// reported with its line of the page.
func TestQ4_CodeInDocsCompiles(t *testing.T) {
	code := newPageCode(t)
	for _, name := range pageNames(t) {
		for _, b := range readPage(t, name).blocks {
			if b.language == "go" {
				code.add(t, name, b)
			}
		}
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-vet=off", "-trimpath", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = code.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
}

// pageCode is a module with the Go files of the pages.
type pageCode struct {
	root, dir string
}

// newPageCode makes a module that requires this one, in the versions of this one's dependencies.
func newPageCode(t *testing.T) pageCode {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c := pageCode{root, t.TempDir()}
	path := strings.TrimSuffix(module, "/")
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module "+path, "module example.com", 1)
	c.write(t, "go.mod", text+fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => %s\n", path, path, root))
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "go.sum", string(sum))
	return c
}

// add adds a block if it is a complete file.
func (c pageCode) add(t *testing.T, page string, b block) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), page, b.text, parser.PackageClauseOnly)
	if err != nil {
		return // a fragment
	}
	if formatted, err := format.Source([]byte(b.text)); err != nil || string(formatted) != b.text {
		t.Errorf("%s:%d: the code is not as gofmt writes it: %v", page, b.line, err)
	}
	name, isTest := strings.CutSuffix(parsed.Name.Name, "_test")
	dir := strings.TrimSuffix(page, ".md") + "/" + name
	if name == "main" && !isTest {
		dir += fmt.Sprint(b.line)
	}
	file := fmt.Sprintf("%s/line%d.go", dir, b.line)
	if isTest {
		file = fmt.Sprintf("%s/line%d_test.go", dir, b.line)
	}
	text := strings.ReplaceAll(b.text, `"example.com/`, `"example.com/`+strings.TrimSuffix(page, ".md")+"/")
	c.write(t, file, fmt.Sprintf("//line %s:%d\n%s", filepath.Join(c.root, page), b.line, text))
}

func (c pageCode) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
