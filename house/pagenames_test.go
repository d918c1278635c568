package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQ4_NamesInDocsExist checks the Go names of the pages, in code spans and in blocks of Go: a
// name such as agent.Options.Journal, of a package here, is declared there, and so is
// Options.Journal where some package has a type of that name.
func TestQ4_NamesInDocsExist(t *testing.T) {
	known := exportedNames(t)
	for _, name := range pageNames(t) {
		// What was there once, prompts, and names of other programs.
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "profile/") ||
			strings.HasPrefix(name, "docs/coming-from/") {
			continue
		}
		p := readPage(t, name)
		for _, b := range p.blocks {
			if b.language == "go" {
				p.spans = append(p.spans, span{b.line, b.text})
			}
		}
		for _, s := range p.spans {
			for _, m := range goName.FindAllStringSubmatch(s.text, -1) {
				if problem := known.missing(m[1], m[2], m[3]); problem != "" {
					t.Errorf("%s:%d: %s: %s", name, s.line, m[0], problem)
				}
			}
		}
	}
}

// goName matches package.Name, package.Name.Member and Type.Member.
var goName = regexp.MustCompile(`(?:^|[^\w./"-])([A-Za-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

// names holds what packages export: by package "Name" and "Type.Member", and the same of all
// packages under "".
type names map[string]map[string]bool

func (n names) add(pkg, name string) {
	for _, key := range []string{pkg, ""} {
		if n[key] == nil {
			n[key] = map[string]bool{}
		}
		n[key][name] = true
	}
}

// missing returns what is wrong with a name, "" if nothing is or if it is not about a package here.
func (n names) missing(first, second, third string) string {
	pkg, ours := n[first]
	switch {
	case ours && !pkg[second]:
		return "package " + first + " does not export " + second
	case ours && third != "" && !pkg[second+"."+third]:
		return second + " of package " + first + " has no " + third
	case !ours && n[""][first] && first[0] >= 'A' && first[0] <= 'Z' && !n[""][first+"."+second]:
		return "no type " + first + " has a " + second
	}
	return ""
}

// exportedNames reads the declarations of all packages outside of tests. Members of embedded types
// count as the type's own.
func exportedNames(t *testing.T) names {
	t.Helper()
	n := names{}
	embeds := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n.declarations(file, embeds)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // levels of embedding
		n.inherit(embeds)
	}
	return n
}

// inherit gives the types with embedded ones their members.
func (n names) inherit(embeds map[string][]string) {
	members := map[string][]string{}
	for name := range n[""] {
		if typ, member, ok := strings.Cut(name, "."); ok {
			members[typ] = append(members[typ], member)
		}
	}
	for typ, inner := range embeds {
		pkg, typ, _ := strings.Cut(typ, ".")
		for _, from := range inner {
			for _, member := range members[from] {
				n.add(pkg, typ+"."+member)
			}
		}
	}
}

// declarations adds the exported names of a file, and to embeds the types that its types embed.
func (n names) declarations(file *ast.File, embeds map[string][]string) {
	pkg := file.Name.Name
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				n.add(pkg, d.Name.Name)
			} else {
				n.add(pkg, typeName(d.Recv.List[0].Type)+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						n.add(pkg, name.Name)
					}
				case *ast.TypeSpec:
					n.typ(pkg, s, embeds)
				}
			}
		}
	}
}

// typ adds a type with its fields or methods.
func (n names) typ(pkg string, s *ast.TypeSpec, embeds map[string][]string) {
	n.add(pkg, s.Name.Name)
	var members *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		members = x.Fields
	case *ast.InterfaceType:
		members = x.Methods
	case *ast.SelectorExpr, *ast.Ident: // an alias, or a type with the form of another one
		embeds[pkg+"."+s.Name.Name] = append(embeds[pkg+"."+s.Name.Name], typeName(x))
	}
	if members == nil {
		return
	}
	for _, f := range members.List {
		for _, name := range f.Names {
			n.add(pkg, s.Name.Name+"."+name.Name)
		}
		if len(f.Names) == 0 {
			inner := typeName(f.Type)
			n.add(pkg, s.Name.Name+"."+inner)
			embeds[pkg+"."+s.Name.Name] = append(embeds[pkg+"."+s.Name.Name], inner)
		}
	}
}

// typeName returns the name of a type without its package, pointer and parameters.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	}
	return ""
}
