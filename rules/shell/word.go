package shell

import (
	"slices"
	"strings"

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

// otherBytes reports whether a text has bytes beyond ASCII.
func otherBytes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// foreignLocale returns why characters beyond ASCII may be others in the locale of an environment,
// or "". The characters of GBK, Big5 and Shift-JIS contain bytes that are quotes and backslashes in
// ASCII, so that a shell may read a script otherwise than it looks. Every variable counts, also one
// that another overrides, because a script may unset that.
func foreignLocale(vars []string) string {
	for _, entry := range vars {
		if name, value, _ := strings.Cut(entry, "="); otherCharacters(name, value) {
			return "the script has characters beyond ASCII, whose bytes may be quotes and backslashes in the locale " +
				entry + ": write it in ASCII, or set a locale of UTF-8"
		}
	}
	return ""
}

// otherCharacters reports whether a variable chooses a locale whose characters are not those of
// UTF-8 or ASCII.
func otherCharacters(name, value string) bool {
	if !slices.Contains([]string{"LC_ALL", "LC_CTYPE", "LANG"}, name) || slices.Contains([]string{"", "C", "POSIX"},
		value) {
		return false
	}
	if _, charset, ok := strings.Cut(value, "."); ok {
		value, _, _ = strings.Cut(charset, "@")
	}
	return !slices.Contains([]string{"utf-8", "utf8"}, strings.ToLower(value))
}

// harmlessVar reports whether no reading command takes more from a variable than the language, the
// time zone or the form of its output, if its value is not Strange. Shells and programs have names
// in capitals for theirs; the others belong to the script.
func harmlessVar(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.ToLower(name) == name
}

// Strange reports whether a variable that chooses a language, a time zone, a terminal or its size
// has a value that may do more. Programs look for translations, locales, time zones and
// descriptions of terminals in files that are named after the value. One in the work tree could
// have any content, and translations are formats of printf. Some shells calculate sizes, which may
// run commands. A locale with other characters than those of UTF-8 and ASCII is strange as well.
func Strange(name, value string) bool {
	chars, slash := "_.@+-,<>:", false
	switch {
	case value == "":
		return false
	case name == "COLUMNS", name == "LINES":
		return strings.Trim(value, "0123456789") != ""
	case name == "TZ":
		slash = value[0] != '/' // Europe/Berlin
	case name == "LANG", name == "LANGUAGE", name == "TERM", strings.HasPrefix(name, "LC_"):
		if otherCharacters(name, value) {
			return true
		}
	default:
		return false
	}
	return value[0] == ':' || strings.Contains(value, "..") || strings.ContainsFunc(value, func(c rune) bool {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(chars, c)
		return !plain && (c != '/' || !slash)
	})
}

// strange returns why the value of an assignment may do more than choose a language and the like,
// or "".
func strange(a *syntax.Assign) string {
	if a.Name == nil || a.Value == nil || !Strange(a.Name.Value, "//") { // only for the variables that can
		return ""
	}
	if value, ok := literal(a.Value); ok && !Strange(a.Name.Value, value) {
		return ""
	}
	return "the value of " + a.Name.Value + " may make programs read a file of that name, or run commands"
}

// tellsNothing reports whether an assignment in front of a command has a value with which the
// variable makes no program do more than the command says.
func tellsNothing(a *syntax.Assign) bool {
	value, ok := literal(a.Value)
	return ok && a.Name.Value == "GOFLAGS" && !a.Append && plainGoFlags().MatchString(value)
}

// literal returns the value of an assignment, if it is known.
func literal(n *syntax.Word) (value string, ok bool) {
	if n == nil {
		return "", false
	}
	r := script.ReadWord(n, "")
	return r.Text, r.Unclear == "" && !r.Number
}
