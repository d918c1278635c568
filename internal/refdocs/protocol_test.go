package refdocs

import (
	"go/ast"
	"strings"
	"testing"
)

// docs/env-protocol.md names every message, operation, member and kind of error. (The test of
// docs/protocol.md is in internal/protocol.)
func TestQ4_EnvProtocol(t *testing.T) {
	wire := source(t).find("env/remote/internal/wire")
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(read(t, "docs/env-protocol.md"), func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		words[word] = true
	}
	checked := 0
	need := func(what, name string) {
		if checked++; !words[name] {
			t.Errorf("docs/env-protocol.md does not name the %s %s", what, name)
		}
	}
	wire.values(func(spec *ast.ValueSpec, _ *ast.GenDecl) {
		for i, name := range spec.Names {
			switch of := base(spec.Type); of {
			case "Op":
				text, _ := wire.text(spec.Values[i])
				need("operation", text)
			case "Type":
				need("message", strings.ToLower(strings.TrimPrefix(name.Name, "Type")))
			}
		}
	})
	wire.types(func(d *declared) {
		for _, m := range source(t).members(d) {
			need("member "+d.spec.Name.Name+".", m.name)
		}
	})
	for _, name := range wire.kindNames() {
		if name == strings.ToLower(name) { // the document says of names of errno that there are some
			need("kind of error", name)
		}
	}
	if checked < 80 {
		t.Errorf("only %d names were checked", checked)
	}
}

// kindNames returns the first texts of the elements of the list that the function kinds returns.
func (p *Package) kindNames() (names []string) {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "kinds" {
				ast.Inspect(f, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok {
						if text, ok := p.text(lit); ok {
							names = append(names, text)
						}
					}
					return true
				})
			}
		}
	}
	return names
}
