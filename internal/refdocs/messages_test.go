package refdocs

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// Messages returns a page with the messages of all packages.
func (s *Source) Messages(title, intro string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", title, intro)
	formats := s.formats()
	for _, pkg := range s.Packages {
		if all := pkg.messages(formats); len(all) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", pkg.Dir)
			for _, text := range all {
				b.WriteString("- " + code(strings.Join(strings.Fields(text), " ")) + "\n")
			}
		}
	}
	return b.String()
}

// formats returns the names of the functions that make a message of a format, with the place of the
// format among their arguments: those with a parameter of that name, and fmt.Errorf.
func (s *Source) formats() map[string]int {
	found := map[string]int{"Errorf": 0}
	for _, pkg := range s.Packages {
		for _, file := range pkg.Files {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				place := 0
				for _, field := range f.Type.Params.List {
					for _, name := range field.Names {
						if name.Name == "format" {
							found[pkg.Dir+"."+f.Name.Name] = place
						}
						place++
					}
				}
			}
		}
	}
	return found
}

// messages returns the messages that a package makes, sorted.
func (p *Package) messages(formats map[string]int) []string {
	var all []string
	add := func(e ast.Expr, isFormat bool) {
		text, ok := p.text(e)
		if isFormat {
			text = pattern(text)
		}
		if ok && says(text) {
			all = append(all, text)
		}
	}
	for _, file := range p.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if at, isFormat := p.message(n, formats); at >= 0 && at < len(n.Args) {
					add(n.Args[at], isFormat)
				}
			case *ast.KeyValueExpr: // a field of an error
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Message" {
					add(n.Value, false)
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// message returns the place of a message among the arguments of a call, and whether it is a format.
// The place is -1 if the call makes no message.
func (p *Package) message(call *ast.CallExpr, formats map[string]int) (at int, isFormat bool) {
	name, of := callee(call)
	switch {
	case of == "errors" && name == "New":
		return 0, false
	case of == "fmt" && name == "Errorf":
		return 0, true
	case (name == "Fprintln" || name == "Fprintf" || name == "Fprint") && len(call.Args) > 0 &&
		isErrorStream(call.Args[0]):
		return 1, name == "Fprintf"
	}
	for dir := range formats {
		if !strings.HasSuffix(dir, "."+name) {
			continue
		}
		pkg := strings.TrimSuffix(dir, "."+name)
		if pkg == p.Dir || of != "" && strings.HasSuffix("/"+pkg, "/"+of) {
			return formats[dir], true
		}
	}
	if strings.EqualFold(name, "warn") { // of a code and a text, or of a text
		return len(call.Args) - 1, false
	}
	return -1, false
}

// callee returns the name of the function that a call calls, and that of the package or value
// before it.
func callee(call *ast.CallExpr) (name, of string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name, ""
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			of = x.Name
		}
		return f.Sel.Name, of
	}
	return "", ""
}

// isErrorStream reports whether an expression is named like standard error.
func isErrorStream(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "stderr")
	case *ast.SelectorExpr:
		return e.Sel.Name == "err" || e.Sel.Name == "Stderr"
	}
	return false
}

// says reports whether a message has a word of its own.
func says(text string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) > 2 {
			return true
		}
	}
	return false
}

// Texts returns every text in the code, with ... for each part that differs.
func (s *Source) Texts() (all []string) {
	for _, pkg := range s.Packages {
		for _, file := range pkg.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, ok := pkg.text(e)
				if _, isName := n.(*ast.Ident); !ok || isName {
					return true
				}
				all = append(all, strings.Join(strings.Fields(pattern(text)), " "))
				return false
			})
		}
	}
	return all
}
