package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Unusual returns the first part of a script, as written, that calculates, writes a file, sets a
// variable by an expansion, or may mean something else to another shell, or "" if there is none. Then
// the script does what its commands and assignments do, whatever is in its variables. An error says
// why the script cannot be read.
func Unusual(text string) (part string, err error) {
	file, err := Parse(text)
	if err != nil {
		return "", err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n != nil && part == "" && !isUsual(text, n) {
			part = source(text, n)
		}
		return part == ""
	})
	return part, nil
}

func source(text string, n syntax.Node) string { return text[n.Pos().Offset():n.End().Offset()] }

// isUsual reports whether a node is usual, apart from those in it.
func isUsual(text string, n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.File, *syntax.Comment, *syntax.CallExpr, *syntax.Assign, *syntax.DeclClause, *syntax.TimeClause,
		*syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.WordIter, *syntax.CaseItem,
		*syntax.Word, *syntax.Lit:
		return true
	case *syntax.Stmt:
		return !n.Coprocess && !n.Disown && !slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool {
			// some shells run what follows as a command of its own
			both := r.Op == syntax.RdrAll || r.Op == syntax.AppAll
			return both && n.Cmd != nil && r.OpPos.Offset() < n.Cmd.End().Offset()
		})
	case *syntax.BinaryCmd:
		return n.Op == syntax.AndStmt || n.Op == syntax.OrStmt || n.Op == syntax.Pipe
	case *syntax.FuncDecl:
		return !n.RsrvWord
	case *syntax.ForClause:
		return !n.Select && !n.Braces
	case *syntax.CaseClause:
		return !n.Braces
	case *syntax.SglQuoted:
		return !n.Dollar
	case *syntax.DblQuoted:
		return !n.Dollar
	case *syntax.CmdSubst:
		return !n.TempFile && !n.ReplyVar && !(n.Backquotes && strings.Contains(source(text, n), `\`))
	case *syntax.ParamExp:
		return usualParameter(n)
	case *syntax.Redirect:
		return usualRedirect(text, n)
	}
	return false
}

// usualParameter reports whether a parameter stands there alone, for its length, with a text for one
// that is not set, or without a part at an end.
func usualParameter(p *syntax.ParamExp) bool {
	bare := *p
	bare.Length, bare.Exp = false, nil
	if !IsBare(&bare) || p.Exp == nil {
		return IsBare(&bare)
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.RemSmallPrefix, syntax.RemLargePrefix:
	default:
		return false
	}
	return p.Exp.Word == nil || !slices.ContainsFunc(p.Exp.Word.Parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.Lit:
			return strings.ContainsAny(part.Value, `'"\`)
		case *syntax.ParamExp, *syntax.CmdSubst:
			return false
		}
		return true // shells differ in what quotes mean here
	})
}

// usualRedirect reports whether a redirection reads, or writes where there is no file.
func usualRedirect(text string, r *syntax.Redirect) bool {
	if r.N != nil && (len(r.N.Value) != 1 || strings.Trim(r.N.Value, "0123456789") != "") {
		return false
	}
	target := r.Word.Lit()
	switch r.Op {
	case syntax.RdrIn, syntax.WordHdoc:
		return true
	case syntax.DplIn, syntax.DplOut:
		return target == "-" || len(target) == 1 && strings.Trim(target, "0123456789") == ""
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, target)
	case syntax.Hdoc, syntax.DashHdoc:
		end := source(text, r.Word)
		end, quoted := strings.CutPrefix(end, `\`)
		if len(end) > 2 && !quoted && (end[0] == '\'' || end[0] == '"') && end[len(end)-1] == end[0] {
			end, quoted = end[1:len(end)-1], true
		}
		after := text[r.Word.End().Offset():]
		return end != "" && IsPlain(end) && (after == "" || strings.IndexByte(" \t\n;&|<>)", after[0]) >= 0) &&
			(quoted || r.Hdoc == nil || !strings.Contains(source(text, r.Hdoc), "\\\n"))
	}
	return false
}
