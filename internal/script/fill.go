package script

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/attractor-go/attractor/internal/shquote"
)

// Value holds the words that a parameter of a script stands for.
type Value struct {
	Words []string
	// Text is what stands inside of quotes: the words as they were written.
	Text string
	// Everywhere says that the parameter is also replaced in single quotes, where a shell replaces
	// none.
	Everywhere bool
}

// Fill returns a script in which parameters such as $1 or ${name} are replaced by values. Whatever
// a value holds, it remains text: it is quoted as its place requires, and where no quotes can do
// that, a value with special characters is an error. value returns false for a parameter that
// stays. The elements of arrays, such as $name[0], are asked for by that name first.
func Fill(text string, value func(name string) (Value, bool)) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	file, err := Parse(text)
	if err != nil {
		return "", err
	}
	f := filler{script: text, value: value, hdocs: map[syntax.Node]bool{}}
	syntax.Walk(file, f.visit)
	if len(f.hdocs) > 0 && slices.ContainsFunc(f.edits, func(e edit) bool { return strings.Contains(e.text, "\n") }) {
		return "", errors.New("an argument of several lines cannot stand in a script with a here document, whose " +
			"text begins with a line")
	}
	if f.err != nil {
		return "", f.err
	}
	return f.result(), nil
}

// filler finds the parameters of a script.
type filler struct {
	script string
	value  func(name string) (Value, bool)
	around []quoting // of the nodes above
	hdocs  map[syntax.Node]bool
	edits  []edit
	err    error
}

// edit replaces a part of a script.
type edit struct {
	from, to int
	text     string
}

// quoting says what a value must not contain in its place.
type quoting uint8

const (
	inWords    quoting = iota // nothing: each word gets quotes
	inQuotes                  // in double quotes
	inDocument                // in a here document
	// in arithmetic, also of tests, or behind an operator such as :-, where quotes may not quote
	inOperator
	inBackquotes // where backslashes count twice
)

// visit visits a node before the nodes below it, and nil after them.
func (f *filler) visit(n syntax.Node) bool {
	if n == nil {
		f.around = f.around[:len(f.around)-1]
		return true
	}
	now := inWords
	if len(f.around) > 0 {
		now = f.around[len(f.around)-1]
	}
	switch n := n.(type) {
	case *syntax.Redirect:
		if n.Hdoc != nil {
			f.hdocs[n.Hdoc] = true
		}
	case *syntax.SglQuoted:
		f.single(n)
	case *syntax.ParamExp:
		f.parameter(n, now)
	}
	f.around = append(f.around, f.below(n, now))
	return true
}

// below returns what values are in below a node that is itself in something.
func (f *filler) below(n syntax.Node, now quoting) quoting {
	if now == inBackquotes {
		return now
	}
	switch n := n.(type) {
	case *syntax.CmdSubst:
		if n.Backquotes {
			return inBackquotes
		}
		return inWords
	case *syntax.ProcSubst:
		return inWords
	}
	operator := now == inOperator
	switch n := n.(type) {
	case *syntax.Word:
		if f.hdocs[n] {
			return inDocument
		}
	case *syntax.DblQuoted:
		if !operator && !n.Dollar {
			return inQuotes
		}
		operator = true
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		operator = true
	case *syntax.BinaryTest:
		// of numbers, which can be whole expressions
		operator = operator || n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr
	case *syntax.UnaryTest:
		operator = operator || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
	case *syntax.DeclClause:
		operator = operator || len(n.Args) > 0 && n.Args[0].Naked // with options, such as -i for numbers
	case *syntax.ParamExp:
		operator = operator || !IsBare(n)
	case *syntax.Assign:
		operator = operator || n.Index != nil
	case *syntax.ArrayElem:
		operator = operator || n.Index != nil
	}
	if operator {
		return inOperator
	}
	return now
}

// IsBare reports whether a parameter stands there without an operator: $name or ${name}.
func IsBare(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil &&
		p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && len(p.Modifiers) == 0
}

// parameter replaces a parameter. One that stays is left to the shell.
func (f *filler) parameter(p *syntax.ParamExp, in quoting) {
	if !IsBare(p) {
		return
	}
	from, to, name := int(p.Pos().Offset()), int(p.End().Offset()), p.Param.Value
	if p.Short {
		if index := f.index(to); index != "" {
			if v, ok := f.value(name + index); ok {
				f.replace(from, to+len(index), v, in)
				return
			}
		}
	}
	if v, ok := f.value(name); ok {
		f.replace(from, to, v, in)
	}
}

var subscript = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[[0-9]{1,4}\]`) })

// index returns the subscript that begins at an offset, or "".
func (f *filler) index(at int) string { return subscript().FindString(f.script[at:]) }

// single replaces parameters in single quotes.
func (f *filler) single(q *syntax.SglQuoted) {
	from, to := int(q.Left.Offset())+1, int(q.Right.Offset())
	if q.Dollar {
		from++
	}
	for at := from; at < to; at++ {
		name, length := namedAt(f.script[at:to])
		if name == "" {
			continue
		}
		end := at + length
		v, ok := f.value(name + f.index(end))
		if ok {
			end += len(f.index(end))
		} else {
			v, ok = f.value(name)
		}
		if !ok || !v.Everywhere {
			continue
		}
		text := strings.ReplaceAll(v.Text, "'", `'\''`)
		if q.Dollar && !IsPlain(v.Text) {
			f.fail(v)
			return
		}
		f.edits = append(f.edits, edit{at, end, text})
		at = end - 1
	}
}

var parameterName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\$(?:([0-9]|[A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)
})

// namedAt returns the name of the parameter with which a text begins, and the length of the
// parameter.
func namedAt(text string) (name string, length int) {
	if m := parameterName().FindStringSubmatch(text); m != nil {
		return m[1] + m[2], len(m[0])
	}
	return "", 0
}

// replace replaces a part of the script by a value.
func (f *filler) replace(from, to int, v Value, in quoting) {
	text := v.Text
	switch in {
	case inWords:
		var words []string
		for _, w := range v.Words {
			words = append(words, quoted(w))
		}
		if n := len(words); n > 0 && (f.isPart(to) || isReserved(words[n-1])) && IsPlain(words[n-1]) {
			words[n-1] = "'" + words[n-1] + "'"
		}
		text = strings.Join(words, " ")
	case inQuotes:
		text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(v.Text)
	case inDocument:
		if v.Text != "" { // a line of it could end the document
			f.fail(v)
			return
		}
	case inOperator, inBackquotes:
		if !IsPlain(v.Text) {
			f.fail(v)
			return
		}
	}
	f.edits = append(f.edits, edit{from, to, text})
}

// isPart reports whether a parameter has something behind it that could make more than a word of a
// plain value, as in $1>file, where 2 would be the number of a descriptor, or in $1=x.
func (f *filler) isPart(to int) bool {
	return to < len(f.script) && strings.IndexByte("<>=+[({$", f.script[to]) >= 0
}

// isReserved reports whether a shell may read a word as part of its grammar.
func isReserved(word string) bool {
	return slices.Contains([]string{"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "for", "while",
		"until", "in", "function", "select", "time", "coproc", "repeat", "end"}, word)
}

// fail notes that a value cannot be put into the script.
func (f *filler) fail(v Value) {
	if f.err == nil {
		f.err = fmt.Errorf("%q cannot stand in the script %s, because the shell would read it as more than text",
			shortened(v.Text), shortened(f.script))
	}
}

// shortened returns the beginning of a text for an error.
func shortened(text string) string {
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:80]) + "..."
	}
	return text
}

// IsPlain reports whether a text means the same to a shell in any place.
func IsPlain(text string) bool {
	return strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./-") == ""
}

// quoted returns a word that a shell reads as the text.
func quoted(text string) string {
	if text != "" && IsPlain(text) {
		return text
	}
	return shquote.Words(text)
}

// result returns the script with the edits.
func (f *filler) result() string {
	slices.SortFunc(f.edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, e := range f.edits {
		b.WriteString(f.script[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(f.script[at:])
	return b.String()
}
