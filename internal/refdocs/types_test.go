package refdocs

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

// declared is the declaration of a type.
type declared struct {
	pkg  *Package
	spec *ast.TypeSpec
	doc  string
}

// find returns the package in a directory. It panics if there is none, which a test shows.
func (s *Source) find(dir string) *Package {
	for _, pkg := range s.Packages {
		if pkg.Dir == dir {
			return pkg
		}
	}
	panic("no package " + dir)
}

// types calls f for each type that a package declares, in the order of the files.
func (p *Package) types(f func(*declared)) {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.TypeSpec)
				doc := spec.Doc.Text()
				if doc == "" && len(decl.Specs) == 1 {
					doc = decl.Doc.Text()
				}
				f(&declared{pkg: p, spec: spec, doc: doc})
			}
		}
	}
}

// lookup returns the declaration of a type of the repository, as it is named in a package: Name or
// pkg.Name. It returns nil for other types.
func (s *Source) lookup(pkg *Package, name string) (found *declared) {
	if of, short, ok := strings.Cut(name, "."); ok {
		name = short
		if pkg = s.named(of); pkg == nil {
			return nil
		}
	}
	pkg.types(func(d *declared) {
		if d.spec.Name.Name == name {
			found = d
		}
	})
	return found
}

// named returns the public package with a name, nil if there is none.
func (s *Source) named(name string) *Package {
	for _, pkg := range s.Packages {
		if pkg.Name == name && pkg.public() {
			return pkg
		}
	}
	return nil
}

// A member is a field of a struct, as it is in JSON.
type member struct {
	name, typ, doc string
	expr           ast.Expr
	optional       bool
	pkg            *Package // in which the type is written
}

// members returns the members of a struct's JSON, with those of the structs that it embeds.
func (s *Source) members(d *declared) (all []member) {
	st, ok := d.spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range st.Fields.List {
		tag := ""
		if f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value)
			tag = reflect.StructTag(text).Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		typ := types.ExprString(f.Type)
		switch {
		case name == "-":
		case len(f.Names) == 0 && name == "":
			if embedded := s.lookup(d.pkg, strings.TrimPrefix(typ, "*")); embedded != nil {
				all = append(all, s.members(embedded)...)
			}
		case name != "":
			doc := strings.TrimSpace(f.Doc.Text() + " " + f.Comment.Text())
			all = append(all, member{name: name, typ: typ, doc: doc, expr: f.Type,
				optional: strings.Contains(options, "omit"), pkg: d.pkg})
		}
	}
	return all
}

// table returns the members of a struct as a table.
func table(members []member) string {
	var b strings.Builder
	b.WriteString("| member | type | what it is |\n|---|---|---|\n")
	for _, m := range members {
		name := code(m.name)
		if m.optional {
			name += "?"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, code(m.typ), cell(m.doc))
	}
	return b.String()
}

// base returns the name of the type that an expression is made of: T for *T, []T and map[K]T.
func base(e ast.Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ArrayType:
		return base(e.Elt)
	case *ast.MapType:
		return base(e.Value)
	}
	return types.ExprString(e)
}

// constants returns the string constants of a type with their comments, as a list.
func (d *declared) constants() (list []string) {
	d.pkg.values(func(spec *ast.ValueSpec, decl *ast.GenDecl) {
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != d.spec.Name.Name || decl.Tok != token.CONST {
			return
		}
		for i, name := range spec.Names {
			if !name.IsExported() || i >= len(spec.Values) {
				continue
			}
			if text, ok := d.pkg.text(spec.Values[i]); ok {
				about := cell(spec.Doc.Text() + " " + spec.Comment.Text())
				list = append(list, strings.TrimSuffix(code(text)+": "+about, ": "))
			}
		}
	})
	return list
}
