package shell

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// patterns returns why the patterns of file names in a command may stand for more than files that
// it reads. The order of their matches
// depends on the language, so that any of them may come first, and a name can be an option, a
// script or a filter. Patterns therefore need
// a place in which every word is only the name of a file, and so must be all that stands behind them.
func (r *read) patterns(c Command, matches []string) string {
	if len(c.Globs) == 0 || r.Observed {
		return ""
	}
	first := c.Globs[0]
	if !r.onlyFiles(c.Words[1:first]) {
		return fmt.Sprintf("the pattern %s may stand for more than names of files that %s reads: "+
			"quote it if it is no pattern of files, or write it behind all options and other arguments",
			c.Words[first], r.program)
	}
	for _, name := range matches {
		if special(r.program, name) {
			return fmt.Sprintf("the pattern %s matches %s, which may be no file to %s: "+
				"write ./ in front of the pattern", c.Words[first], name, r.program)
		}
	}
	return ""
}

// onlyFiles reports whether all words behind these arguments are the names of files that the
// command reads, unless they look like options.
func (r *read) onlyFiles(args []string) bool {
	switch r.program {
	case "echo", ":", "true", "false", "gofmt":
		return true
	case "printf":
		return len(args) > 0 && args[len(args)-1] != "--" && onlyTexts(args)
	case "find":
		return !slices.ContainsFunc(args, isExpression)
	case "git":
		return gitOnlyFiles(args)
	case "sed":
		p, why := sedSpec().parse(args)
		return why == "" && len(p.operands)+len(p.values('e', "expression")) > 0
	case "jq":
		s, _ := specOf("jq")
		kept, why := jqOptions(args)
		p, wrong := s.parse(kept)
		return why == "" && wrong == "" && len(p.operands) > 0
	}
	s, ok := specOf(r.program)
	if !ok || s.kind == text || s.max != math.MaxInt {
		return false
	}
	p, why := s.parse(args)
	return why == "" && (!s.first || len(p.operands) > 0 || s.chosen(p))
}

// onlyTexts reports whether a format of printf takes only texts.
func onlyTexts(args []string) bool {
	if args[0] == "--" {
		args = args[1:]
	}
	kinds, ok := conversions(args[0])
	return ok && !slices.Contains(kinds, true)
}

// gitOnlyFiles reports whether all words behind the arguments of a git command are revisions or
// paths that it reads.
func gitOnlyFiles(args []string) bool {
	for len(args) > 1 && strings.HasPrefix(args[0], "-") { // gitGlobals has judged them
		if args[0] == "-C" {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 || !slices.Contains([]string{"status", "diff", "log", "show", "blame", "grep", "ls-files",
		"ls-tree"}, args[0]) {
		return false
	}
	s, _ := gitSpec(args[0])
	p, why := s.parse(args[1:])
	return why == "" && (args[0] != "grep" || len(p.operands) > 0 || p.has('e', ""))
}

// isExpression reports whether an argument of find ends the list of directories.
func isExpression(a string) bool {
	return strings.HasPrefix(a, "-") && !slices.Contains([]string{"-H", "-L", "-P"}, a) ||
		slices.Contains([]string{"(", ")", "!", ","}, a)
}

// special reports whether the name of a file that matches a pattern may mean something else to a program.
func special(program, name string) bool {
	switch program {
	case "echo", "printf":
		return false
	case "find":
		return isExpression(name) || strings.HasPrefix(name, "(") || strings.HasPrefix(name, "!")
	case "git":
		return strings.HasPrefix(name, "-") || strings.HasPrefix(name, ":") || strings.HasPrefix(name, "^")
	}
	return strings.HasPrefix(name, "-") && name != "-" || strings.HasPrefix(name, "+") ||
		strings.HasPrefix(name, "@")
}
