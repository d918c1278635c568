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

// TestExportedIdentifiersAreDocumented checks that every exported type, function, method, constant
// and variable has a doc comment, of its own or for its group.
func TestExportedIdentifiersAreDocumented(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || strings.HasPrefix(name, ".") && name != "." {
			return filepath.SkipDir
		}
		return checkDocs(t, path)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkDocs reports the undocumented identifiers of the package in a directory.
func checkDocs(t *testing.T, dir string) error {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil
	}
	pkg, err := doc.NewFromFiles(set, files, module+dir)
	if err != nil {
		return err
	}
	if pkg.Doc == "" {
		t.Errorf("%s: the package has no documentation", dir)
	}
	missing := func(what, name, text string) {
		if ast.IsExported(name) && strings.TrimSpace(text) == "" {
			t.Errorf("%s: %s %s is not documented", dir, what, name)
		}
	}
	functions := pkg.Funcs
	values := append(pkg.Consts, pkg.Vars...)
	for _, typ := range pkg.Types {
		missing("type", typ.Name, typ.Doc)
		values = append(append(values, typ.Consts...), typ.Vars...)
		functions = append(functions, typ.Funcs...)
		if ast.IsExported(typ.Name) {
			functions = append(functions, typ.Methods...)
		}
	}
	for _, f := range functions {
		missing("function", f.Name, f.Doc)
	}
	for _, v := range values {
		for _, spec := range v.Decl.Specs {
			s := spec.(*ast.ValueSpec)
			for _, name := range s.Names {
				missing("value", name.Name, v.Doc+s.Doc.Text()+s.Comment.Text())
			}
		}
	}
	return nil
}
