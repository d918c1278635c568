package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word holds a word after the removal of quotes.
type Word struct {
	Text    string
	Pattern bool   // it has unquoted characters of patterns
	Quoted  bool   // it has quoted characters of patterns
	Braces  bool   // it has a brace expansion: {a,b} or {1..3}
	Number  bool   // a part of it is $? or $#
	Nests   bool   // it has commands, whose output is known
	Unclear string // why it is not literal
}

// ReadWord removes the quotes of a word. home is what ~ stands for; empty means that it is unknown.
func ReadWord(n *syntax.Word, home string) Word {
	r := &reader{home: home}
	for i, part := range n.Parts {
		r.part(part, i == 0, i == len(n.Parts)-1)
	}
	r.Text, r.Braces = r.text.String(), braces(string(r.unquoted))
	return r.Word
}

// reader reads the parts of a word.
type reader struct {
	Word
	home     string
	text     strings.Builder
	unquoted []byte // the unquoted characters; quoted ones are NUL
}

func (r *reader) fail(why string) {
	if r.Unclear == "" {
		r.Unclear = why
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
			r.Number = true
			return
		}
		r.fail(unknown(p))
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
	return p.Short && IsBare(p) && (p.Param.Value == "?" || p.Param.Value == "#")
}

// unknown returns why it is not known what a parameter stands for.
func unknown(p *syntax.ParamExp) string {
	if p.Param == nil {
		return "it has an expansion that only some shells know"
	}
	return "it uses $" + p.Param.Value + ", whose value is not known before it runs"
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
			r.Nests = true
			continue
		}
		r.part(p, false, false)
	}
	if len(q.Parts) == 0 {
		r.quote("")
	}
}

// quotedText returns the text of a substitution that only quotes it: $(cat <<'EOF' ...), as in
// messages of commits. Old shells look for the end of the substitution by quotes and parentheses,
// so a text that has any is not taken for literal.
func quotedText(p syntax.WordPart) (text string, ok bool) {
	sub, ok := p.(*syntax.CmdSubst)
	if !ok || sub.Backquotes || sub.TempFile || sub.ReplyVar || len(sub.Stmts) != 1 {
		return "", false
	}
	s := sub.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) != 1 || len(call.Assigns) > 0 ||
		len(call.Args) != 1 || call.Args[0].Lit() != "cat" {
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
	r.Quoted = r.Quoted || strings.ContainsAny(text, `*?[]\`)
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
			r.Pattern = true
		case '[':
			r.Pattern = r.Pattern || closing > i || !last
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

// braces reports whether an unquoted text has a brace expansion, which only some shells know.
func braces(text string) bool {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	return start >= 0 && end > start && (strings.Contains(text[start:end], ",") || strings.Contains(text[start:end],
		".."))
}
