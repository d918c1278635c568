package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/attractor-go/attractor/internal/script"
)

// word holds a word after the removal of quotes.
type word struct {
	text    string
	glob    bool   // unquoted pattern characters: the shell replaces the word by the files that match
	number  bool   // a part of it is $? or $#
	found   bool   // it stands for what a program finds or reads, such as {} of find
	added   bool   // and the program adds it behind the others
	unclear string // why the word is not literal
}

// word reads a word and walks through the commands in it.
func (w *walker) word(n *syntax.Word, in scope) word {
	r := script.ReadWord(n, w.home(in))
	if r.Unclear != "" || r.Nests || r.Braces {
		w.nested(n, in)
	}
	switch {
	case r.Unclear != "":
		return word{text: w.source(n), unclear: r.Unclear}
	case r.Braces:
		return word{text: w.source(n), unclear: "it has a brace expansion, which only some shells know"}
	case r.Pattern && r.Quoted:
		return word{text: r.Text, unclear: "it has a pattern with quotes"}
	}
	return word{text: r.Text, glob: r.Pattern, number: r.Number}
}

// home returns what ~ stands for, or "" if it is unknown.
func (w *walker) home(in scope) string {
	if slices.Contains(w.assigned, "HOME") || slices.Contains(in.vars, "HOME") {
		return ""
	}
	return w.at.Home
}

// nested walks through the commands of substitutions anywhere in a node. Those of inner
// substitutions belong to their commands.
func (w *walker) nested(n syntax.Node, in scope) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts, in.inner())
			return false
		case *syntax.ProcSubst:
			w.stmts(n.Stmts, in.inner())
			return false
		}
		return true
	})
}

// value walks through a word that is only a value: of a variable, of a loop, in a case. What it
// stands for does not matter as long as evaluating it runs nothing but the commands in it.
func (w *walker) value(n *syntax.Word, in scope) {
	if n == nil {
		return
	}
	for _, part := range n.Parts {
		w.valuePart(part)
	}
	w.nested(n, in)
}

func (w *walker) valuePart(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted, *syntax.CmdSubst:
		return
	case *syntax.ParamExp:
		if script.IsBare(p) {
			return
		}
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			w.valuePart(inner)
		}
		return
	}
	w.fail("a value has an expansion that may run or change something")
}
