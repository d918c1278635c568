package refdocs

import (
	"fmt"
	"go/ast"
	"strings"
)

// Errors returns a page with the errors that the public packages export: values for errors.Is, and
// types for errors.As.
func (s *Source) Errors(title, intro string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", title, intro)
	for _, pkg := range s.Packages {
		if !pkg.public() {
			continue
		}
		values, types := pkg.errorValues(), pkg.errorTypes()
		if values+types == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n[%s](https://pkg.go.dev/%s)\n", pkg.Dir, pkg.path(), pkg.path())
		if values != "" {
			b.WriteString("\n| errors.Is | text | when |\n|---|---|---|\n" + values)
		}
		if types != "" {
			b.WriteString("\n| errors.As | what it is |\n|---|---|\n" + types)
		}
	}
	return b.String()
}

// errorValues returns the rows of the exported variables that are errors.
func (p *Package) errorValues() string {
	var b strings.Builder
	p.values(func(spec *ast.ValueSpec, decl *ast.GenDecl) {
		for i, name := range spec.Names {
			if !name.IsExported() || !strings.HasPrefix(name.Name, "Err") || i >= len(spec.Values) {
				continue
			}
			doc := strings.TrimSpace(spec.Doc.Text() + " " + spec.Comment.Text())
			if doc == "" {
				doc = decl.Doc.Text()
			}
			what := ""
			if call, ok := spec.Values[i].(*ast.CallExpr); ok && len(call.Args) > 0 {
				if message, ok := p.text(call.Args[0]); ok {
					what = code(pattern(message))
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name.Name, what, text(doc))
		}
	})
	return b.String()
}

// errorTypes returns the rows of the exported types that are errors.
func (p *Package) errorTypes() string {
	isError := map[string]bool{}
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Error" &&
				len(f.Type.Params.List) == 0 {
				isError[base(f.Recv.List[0].Type)] = true
			}
		}
	}
	var b strings.Builder
	p.types(func(d *declared) {
		if d.spec.Name.IsExported() && isError[d.spec.Name.Name] {
			fmt.Fprintf(&b, "| `%s` | %s |\n", d.spec.Name.Name, strings.ReplaceAll(text(d.doc), "|", `\|`))
		}
	})
	return b.String()
}
