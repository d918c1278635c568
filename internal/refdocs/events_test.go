package refdocs

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Events returns a page with the events of package agent: their kinds, members and types, and the
// codes of warnings.
func (s *Source) Events(title, intro string) string {
	p := s.newKindsPage(title, intro)
	p.WriteString("\n## Every event\n\n" + table(s.members(s.lookup(p.agent, "EventHeader"))))
	p.kinds(ast.IsExported, "kind", "session_id", "seq", "time")
	p.types()
	p.WriteString("\n# Codes of warnings\n\nThe `code` of a WARNING is one of these, or one that a program of yours " +
		"gives:\n\n")
	for _, c := range s.warningCodes() {
		p.WriteString("- " + code(c) + "\n")
	}
	return p.String()
}

// Records returns a page with the records of package agent.
func (s *Source) Records(title, intro string) string {
	p := s.newKindsPage(title, intro)
	p.kinds(isRecord)
	p.types()
	return p.String()
}

// isRecord reports whether a type with a kind is a record. Those of events are exported.
func isRecord(typ string) bool { return !ast.IsExported(typ) }

// RecordKinds returns the members of each kind of record.
func (s *Source) RecordKinds() map[string][]string {
	all := map[string][]string{}
	agent := s.find("agent")
	for _, kind := range agent.kinds() {
		if !isRecord(kind.typ) {
			continue
		}
		all[kind.name] = []string{}
		for _, m := range s.members(s.lookup(agent, kind.typ)) {
			all[kind.name] = append(all[kind.name], m.name)
		}
	}
	return all
}

// kindsPage is a page about the types of agent that have a kind.
type kindsPage struct {
	strings.Builder
	src   *Source
	agent *Package
	open  []*declared // types that members have
	seen  map[string]bool
}

func (s *Source) newKindsPage(title, intro string) *kindsPage {
	p := &kindsPage{src: s, agent: s.find("agent"), seen: map[string]bool{"agent.Event": true}}
	fmt.Fprintf(p, "# %s\n\n%s\n", title, intro)
	return p
}

// kinds describes the types with a kind, without the members that the reader knows.
func (p *kindsPage) kinds(which func(typ string) bool, known ...string) {
	for _, kind := range p.agent.kinds() {
		if !which(kind.typ) {
			continue
		}
		d := p.src.lookup(p.agent, kind.typ)
		p.WriteString("\n## " + kind.name + "\n\n`agent." + kind.typ + "`: " + text(strings.TrimPrefix(d.doc,
			kind.typ+" ")) + "\n\n")
		members := slices.DeleteFunc(p.src.members(d), func(m member) bool { return slices.Contains(known, m.name) })
		if len(members) > 0 {
			p.WriteString(table(members))
		}
		p.await(members)
	}
}

// types describes the types that members have.
func (p *kindsPage) types() {
	p.WriteString("\n# Types of members\n")
	for i := 0; i < len(p.open); i++ {
		p.typ(p.open[i])
	}
}

// await notes the types of members, to be described.
func (p *kindsPage) await(members []member) {
	for _, m := range members {
		d := p.src.lookup(m.pkg, base(m.expr))
		if d == nil {
			continue
		}
		if name := d.pkg.Name + "." + d.spec.Name.Name; !p.seen[name] {
			p.seen[name] = true
			p.open = append(p.open, d)
		}
	}
}

// typ describes a type.
func (p *kindsPage) typ(d *declared) {
	fmt.Fprintf(p, "\n## %s.%s\n\n%s\n\n", d.pkg.Name, d.spec.Name.Name, text(d.doc))
	if of, ok := d.spec.Type.(*ast.ArrayType); ok {
		p.await([]member{{expr: of.Elt, pkg: d.pkg}})
		fmt.Fprintf(p, "A list of %s.\n", code(base(of.Elt)))
	}
	if members := p.src.members(d); len(members) > 0 {
		p.WriteString(table(members))
		p.await(members)
	}
	for _, c := range d.constants() {
		p.WriteString("- " + c + "\n")
	}
}

// text returns a doc comment as a paragraph: on one line, without the brackets of links and what
// Markdown would read in it.
func text(doc string) string {
	return strings.NewReplacer("[", "", "]", "", "<", "&lt;", ">", "&gt;", "*",
		`\*`).Replace(strings.Join(strings.Fields(doc), " "))
}

// kindOf is a kind and the type that has it.
type kindOf struct{ name, typ string }

// kinds returns the kinds that the methods called kind return, in the order of the methods.
func (p *Package) kinds() (all []kindOf) {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "kind" || f.Recv == nil || len(f.Body.List) != 1 {
				continue
			}
			ret, ok := f.Body.List[0].(*ast.ReturnStmt)
			if !ok || len(ret.Results) != 1 {
				continue
			}
			if name, ok := p.text(ret.Results[0]); ok {
				all = append(all, kindOf{name, base(f.Recv.List[0].Type)})
			}
		}
	}
	return all
}

// warningCodes returns the codes that the code gives its warnings, sorted.
func (s *Source) warningCodes() (codes []string) {
	for _, pkg := range s.Packages {
		for _, file := range pkg.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				var e ast.Expr
				switch n := n.(type) {
				case *ast.CallExpr:
					name, _ := callee(n)
					code := (name == "Warn" || name == "add") && len(n.Args) == 2
					if code || name == "warn" && len(n.Args) >= 2 {
						e = n.Args[0]
					}
				case *ast.CompositeLit:
					if n.Type == nil || base(n.Type) != "Warning" && base(n.Type) != "agent.Warning" {
						return true
					}
					for _, el := range n.Elts {
						if kv, ok := el.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Code" {
							e = kv.Value
						}
					}
				}
				if e == nil {
					return true
				}
				if text, ok := pkg.text(e); ok && text != "" && !strings.ContainsAny(text, " .:%") {
					codes = append(codes, text)
				}
				return true
			})
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
