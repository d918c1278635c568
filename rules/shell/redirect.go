package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects adds redirections to a scope. splits reports that some shells take &> for the operator
// &.
func (w *walker) redirects(list []*syntax.Redirect, in scope) (_ scope, splits bool) {
	out := in
	out.reads, out.writes = slices.Clip(in.reads), slices.Clip(in.writes)
	if len(list) > maxRedirs {
		w.fail("a command has too many redirections")
		list = list[:maxRedirs]
	}
	for _, r := range list {
		if err := w.redirect(r, in, &out); err != "" && out.unclear == "" {
			out.unclear = err
		}
		splits = splits || r.Op == syntax.RdrAll || r.Op == syntax.AppAll
	}
	return out, splits
}

// redirect adds a redirection to a scope. It returns why the redirection is not clear.
func (w *walker) redirect(r *syntax.Redirect, in scope, out *scope) (unclear string) {
	if r.N != nil && (len(r.N.Value) != 1 || r.N.Value[0] < '0' || r.N.Value[0] > '9') {
		unclear = "shells differ in what they make of the descriptor " + r.N.Value
	}
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		return cmp.Or(w.heredoc(r, in), unclear)
	}
	target := w.word(r.Word, in)
	switch {
	case r.Op == syntax.WordHdoc:
		return cmp.Or(target.unclear, unclear)
	case target.unclear != "" || target.glob || target.number || target.text == "":
		return "it is not literal which file a redirection names"
	}
	reads, writes := true, true
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		reads = false
	case syntax.RdrIn:
		writes = false
	case syntax.RdrInOut:
	case syntax.DplIn, syntax.DplOut:
		if target.text == "-" || strings.Trim(target.text, "0123456789") == "" {
			return unclear
		}
		if r.Op == syntax.DplIn || strings.HasSuffix(target.text, "-") {
			return "it is not clear which descriptor a redirection copies"
		}
		reads = false
	default:
		return "it has a redirection that only some shells know"
	}
	return cmp.Or(out.redirect(target.text, in.dirs, reads, writes), unclear)
}

// redirect adds the file of a redirection.
func (s *scope) redirect(name string, from dirs, reads, writes bool) (unclear string) {
	for _, dir := range from {
		p, ok := absolute(dir, name)
		if !ok {
			return fmt.Sprintf("it is not known in which directory %s is", name)
		}
		if p == "/dev/null" {
			continue
		}
		if reads {
			s.reads = append(s.reads, p)
		}
		if writes {
			s.writes = append(s.writes, p)
		}
	}
	return ""
}

// heredoc walks through the text of a here-document. It returns why it is not literal.
func (w *walker) heredoc(r *syntax.Redirect, in scope) (unclear string) {
	if r.Hdoc != nil {
		w.nested(r.Hdoc, in)
	}
	end := w.source(r.Word)
	switch {
	case strings.ContainsAny(end, "\\$`{}~!(#") || !w.endsAt(r.Word):
		return "the end of a here-document is not a plain word"
	case r.Hdoc == nil, strings.ContainsAny(end, `'"`):
		return ""
	case strings.Contains(w.source(r.Hdoc), "\\\n"):
		return "shells differ in what they make of a backslash at the end of a line of a here-document"
	case r.Hdoc.Lit() == "" && len(r.Hdoc.Parts) > 0:
		return "a here-document has expansions"
	}
	return ""
}
