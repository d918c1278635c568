package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word holds a word after the removal of quotes.
type word struct {
	text    string
	glob    bool   // unquoted pattern characters: the shell replaces the word by the files that match
	number  bool   // a part of it is $? or $#
	unclear string // why the word is not literal
}

// word reads a word and walks through the commands in it.
func (w *walker) word(n *syntax.Word, in scope) word {
	r := &reader{home: w.home(in)}
	for i, part := range n.Parts {
		r.part(part, i == 0, i == len(n.Parts)-1)
	}
	r.braces()
	if r.unclear != "" || r.nests {
		w.nested(n, in)
	}
	if r.unclear != "" {
		return word{text: w.source(n), unclear: r.unclear}
	}
	if r.pattern && r.quoted {
		return word{text: r.text.String(), unclear: "it has a pattern with quotes"}
	}
	return word{text: r.text.String(), glob: r.pattern, number: r.number}
}

// home returns what ~ stands for, or "" if it is unknown.
func (w *walker) home(in scope) string {
	if slices.Contains(w.assigned, "HOME") || slices.Contains(in.vars, "HOME") {
		return ""
	}
	return w.at.Home
}

// reader reads the parts of a word.
type reader struct {
	home     string
	text     strings.Builder
	unquoted []byte // the unquoted characters; quoted ones are NUL
	pattern  bool   // there are unquoted pattern characters
	quoted   bool   // there are quoted pattern characters
	number   bool
	nests    bool // there are commands in it, whose output is known
	unclear  string
}

func (r *reader) fail(why string) {
	if r.unclear == "" {
		r.unclear = why
	}
}

func (r *reader) part(p syntax.WordPart, first, last bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.lit(p.Value, first, last)
	case *syntax.SglQuoted:
		if p.Dollar {
			r.fail("$'...' means something else in other shells")
			return
		}
		r.quote(p.Value)
	case *syntax.DblQuoted:
		r.double(p)
	case *syntax.ParamExp:
		if isNumber(p) { // it only shows as a number
			r.quote("$" + p.Param.Value)
			r.number = true
			return
		}
		r.fail("it has the parameter " + parameter(p))
	case *syntax.CmdSubst:
		r.fail("it has a command substitution")
	case *syntax.ProcSubst:
		r.fail("it has a process substitution")
	case *syntax.ArithmExp:
		r.fail("it has an arithmetic expansion")
	default:
		r.fail("it has a pattern that only some shells know")
	}
}

// isNumber reports whether a parameter always is a number: $? and $#.
func isNumber(p *syntax.ParamExp) bool {
	return p.Short && p.Param != nil && (p.Param.Value == "?" || p.Param.Value == "#") && plain(p)
}

// plain reports whether an expansion is only the value of a parameter, whose expansion runs and changes nothing.
func plain(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Split == 0 && p.GlobSubst == 0 && p.RcExpand == 0 &&
		p.Param != nil && p.NestedParam == nil && p.Index == nil && p.Modifiers == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil
}

func parameter(p *syntax.ParamExp) string {
	if p.Param == nil {
		return "expansion"
	}
	return p.Param.Value
}

func (r *reader) double(q *syntax.DblQuoted) {
	if q.Dollar {
		r.fail(`$"..." means something else in other shells`)
		return
	}
	for _, p := range q.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			r.quote(unescape(lit.Value, "$`\"\\"))
			continue
		}
		if text, ok := quotedText(p); ok {
			r.quote(text)
			r.nests = true
			continue
		}
		r.part(p, false, false)
	}
	if len(q.Parts) == 0 {
		r.quote("")
	}
}

// quotedText returns the text of a substitution that only quotes it: $(cat <<'EOF' ...), as in messages of commits. Old shells look for the
// end of the substitution by quotes and parentheses, so a text that has any is not taken for literal.
func quotedText(p syntax.WordPart) (text string, ok bool) {
	sub, ok := p.(*syntax.CmdSubst)
	if !ok || sub.Backquotes || sub.TempFile || sub.ReplyVar || len(sub.Stmts) != 1 {
		return "", false
	}
	s := sub.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) != 1 || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" {
		return "", false
	}
	r := s.Redirs[0]
	if r.Op != syntax.Hdoc || r.N != nil || r.Hdoc == nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	end, ok := r.Word.Parts[0].(*syntax.SglQuoted)
	text = r.Hdoc.Lit()
	if !ok || end.Dollar || text == "" || strings.ContainsAny(end.Value+text, "'\"`\\$()\x00") {
		return "", false
	}
	return strings.TrimRight(text, "\n"), true
}

// unescape removes the backslashes in front of the given characters.
func unescape(text, special string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, text[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// quote adds quoted text.
func (r *reader) quote(text string) {
	r.text.WriteString(text)
	r.unquoted = append(r.unquoted, make([]byte, len(text))...)
	r.quoted = r.quoted || strings.ContainsAny(text, `*?[]\`)
}

// lit adds unquoted text.
func (r *reader) lit(text string, first, last bool) {
	if first {
		text = r.tilde(text, last)
	}
	closing := strings.LastIndexByte(text, ']')
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			if text[i] != '\n' {
				r.quote(text[i : i+1])
			}
			continue
		}
		switch c {
		case '*', '?':
			r.pattern = true
		case '[':
			r.pattern = r.pattern || closing > i || !last
		case '\\':
			r.fail("it ends in a backslash")
		case '~':
			if before := r.before(); before == '=' || before == ':' {
				r.fail("shells differ in what they make of ~ after = or :")
			}
		}
		r.text.WriteByte(c)
		r.unquoted = append(r.unquoted, c)
	}
}

// before returns the last character if it is unquoted.
func (r *reader) before() byte {
	if len(r.unquoted) == 0 {
		return 0
	}
	return r.unquoted[len(r.unquoted)-1]
}

// tilde replaces ~ at the start of a word by the home directory. It returns the rest of the text.
func (r *reader) tilde(text string, last bool) string {
	rest, ok := strings.CutPrefix(text, "~")
	if !ok {
		return text
	}
	switch {
	case r.home == "":
		r.fail("the home directory is not known here")
	case strings.HasPrefix(rest, "/"), rest == "" && last:
		r.quote(strings.TrimSuffix(r.home, "/"))
		return rest
	default:
		r.fail("it has the home directory of another user, or one that only some shells know")
	}
	return ""
}

// braces notes a brace expansion, which only some shells know: {a,b} and {1..3}.
func (r *reader) braces() {
	text := string(r.unquoted)
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start >= 0 && end > start && (strings.Contains(text[start:end], ",") || strings.Contains(text[start:end], "..")) {
		r.fail("it has a brace expansion, which only some shells know")
	}
}

// nested walks through the commands of substitutions anywhere in a node. Those of inner substitutions belong to their commands.
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

// value walks through a word that is only a value: of a variable, of a loop, in a case. What it stands for does not matter as long as
// evaluating it runs nothing but the commands in it.
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
		if plain(p) {
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
