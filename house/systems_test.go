package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Every package and its tests compile on the other systems that are promised. The compiler is not
// asked, because it would take minutes to compile the standard library for each; its type checker
// says the same in seconds.
func TestD8_CompilesOnOtherSystems(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			list, err := packages.Load(&packages.Config{
				Mode: packages.LoadAllSyntax, Context: t.Context(), Tests: true, Dir: root,
				ParseFile: withoutOthersBodies(root),
				Env:       append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0"),
			}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			checked := 0
			for _, p := range list {
				if strings.HasSuffix(p.PkgPath, ".test") { // the main package of tests, which Go itself has written
					continue
				}
				checked++
				for _, err := range p.Errors {
					t.Error(err)
				}
			}
			if checked < 200 {
				t.Errorf("only %d packages were found", checked)
			}
		})
	}
}

// withoutOthersBodies returns a parser that leaves out the bodies of functions that are not below
// root, because only their types count.
func withoutOthersBodies(root string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if file == nil || strings.HasPrefix(name, root) {
			return file, err
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
		return file, err
	}
}
