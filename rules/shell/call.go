package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// maxWrappers is the number of wrappers and scripts around a command that are looked into.
const maxWrappers = 8

// call adds a simple command, and those that it runs.
func (w *walker) call(c *syntax.CallExpr, text string, in scope) flow {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			w.assign(a, in)
		}
		w.add(Command{Words: []string{":"}, Text: text}, in)
		return stays(in.dirs)
	}
	var vars []string
	for _, a := range c.Assigns {
		w.checkAssign(a, in)
		if a.Name != nil && !tellsNothing(a) {
			vars = append(vars, a.Name.Value)
		}
		if why := strange(a); why != "" && in.unclear == "" {
			in.unclear = why
		}
	}
	var words []word
	for _, n := range c.Args {
		words = append(words, w.word(n, in))
	}
	in.vars = append(slices.Clone(in.vars), vars...)
	return w.run(words, text, in)
}

// run adds a command with its words, and those that it runs. It returns where it leaves the
// directory.
func (w *walker) run(words []word, text string, in scope) flow {
	if w.full() {
		return w.cut()
	}
	cmd := simple(words, text)
	u := usage(words)
	u.embed(words)
	if in.level == maxWrappers && len(u.inner)+len(u.scripts)+len(u.beside) > 0 {
		u = use{why: "there are too many wrappers around a command", hidden: true, moves: true}
	}
	if cmd.Unclear == "" {
		cmd.Unclear = u.why
	}
	cmd.Wraps, cmd.Hidden = u.why == "" && u.wraps(), u.hidden
	cmd.Computed = !isLiteral(words[0]) || u.reads
	w.add(cmd, in)
	in.unclear = ""
	in.level++
	f := stays(in.dirs)
	for _, words := range u.inner {
		in.start = len(w.commands)
		f = w.run(words, spell(words), in)
	}
	for _, script := range slices.Concat(u.scripts, u.beside) {
		f = w.script(script, in)
	}
	switch {
	case words[0].text == "cd":
		return w.cd(words[1:], in)
	case u.moves:
		return anywhere()
	case u.child:
		return stays(in.dirs)
	}
	return f
}

// simple returns the command of some words.
func simple(words []word, text string) Command {
	cmd := Command{Text: text}
	for i, a := range words {
		if a.added && i > 0 {
			continue
		}
		cmd.Words = append(cmd.Words, a.text)
		if a.glob {
			cmd.Globs = append(cmd.Globs, i)
		}
		if cmd.Unclear != "" {
			continue
		}
		cmd.Unclear = a.unclear
		if a.number && !slices.Contains([]string{"echo", "printf", "[", "test", "exit", "return"}, cmd.Words[0]) {
			cmd.Unclear = "it uses $? or $#, which may be the name of a file"
		}
	}
	if (words[0].glob || words[0].text == "") && cmd.Unclear == "" {
		cmd.Unclear = "the program is not literal"
	}
	return cmd
}

// texts returns the texts of words.
func texts(words []word) (list []string) {
	for _, a := range words {
		list = append(list, a.text)
	}
	return list
}

// spell returns the words as a text.
func spell(words []word) string { return strings.Join(texts(words), " ") }

// harmlessSet reports whether set only changes how the script ends and what it prints about itself.
// Alone it shows all variables.
func harmlessSet(args []word) bool { return harmlessOptions().MatchString(" " + spell(args)) }

var harmlessOptions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?: [-+](?:[eux]+|[eux]*o (?:errexit|nounset|pipefail|xtrace)))+$`)
})
