package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker walks through the syntax tree of a script.
type walker struct {
	at       Place
	text     string // of the script that it is in
	commands []Command
	unclear  string
	assigned []string // the variables that the script sets for itself
	depth    int      // of statements
	work     int      // statements visited
	size     int      // bytes of scripts and commands
	left     bool     // something was left out
	unread   bool     // a script cannot be parsed
}

// scope holds what a statement inherits from those around it.
type scope struct {
	dirs          dirs
	subshell      bool
	start         int      // the index of the statement's first command
	vars          []string // set in front of a wrapper
	reads, writes []string // the files of redirections, also those of constructs around it
	unclear       string   // about the redirections
	level         int      // of wrappers and scripts around it
}

// inner returns the scope of a substitution, which does not have the redirections of its command.
func (s scope) inner() scope { return scope{dirs: s.dirs, subshell: s.subshell, level: s.level} }

func (s scope) at(d dirs) scope {
	s.dirs = d
	return s
}

func (w *walker) fail(why string) {
	if w.unclear == "" {
		w.unclear = why
	}
}

// endsAt reports whether a word ends where every shell ends it, before a blank, a line break or an
// operator. The parser takes a # behind a quoted delimiter for a comment, and Bash for a part of
// it.
func (w *walker) endsAt(n *syntax.Word) bool {
	end := n.End().Offset()
	return end >= uint(len(w.text)) || strings.IndexByte(" \t\n;&|<>)", w.text[end]) >= 0
}

// source returns the text of a node, without the operator after a statement.
func (w *walker) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if s, ok := n.(*syntax.Stmt); ok && s.Semicolon.IsValid() {
		to = s.Semicolon.Offset()
	}
	if from > to || to > uint(len(w.text)) {
		return ""
	}
	return strings.TrimSpace(w.text[from:to])
}

// cut leaves out what comes next.
func (w *walker) cut() flow {
	w.left = true
	w.fail("the script is too long or nested too deeply")
	return anywhere()
}

// full reports whether a limit is reached that ends the walk.
func (w *walker) full() bool {
	return w.work > maxWork || w.size > maxText || len(w.commands) > maxCommands
}

func (w *walker) stmts(list []*syntax.Stmt, in scope) flow {
	f := stays(in.dirs)
	for _, s := range list {
		f = w.stmt(s, in)
		in.dirs = f.both()
	}
	return f
}

func (w *walker) stmt(s *syntax.Stmt, in scope) flow {
	w.depth++
	w.work++
	defer func() { w.depth-- }()
	if w.depth > maxDepth || w.full() {
		return w.cut()
	}
	if s.Coprocess || s.Disown {
		w.fail("it has an operator that only some shells know")
	}
	in.start = len(w.commands)
	redirected, splits := w.redirects(s.Redirs, in)
	if splits && wordsBehind(s) && redirected.unclear == "" {
		redirected.unclear = "some shells run what follows &> and its file as a command of its own"
	}
	var f flow
	if s.Cmd == nil {
		w.add(Command{Words: []string{":"}, Text: w.source(s)}, redirected)
		f = stays(in.dirs)
	} else {
		f = w.command(s, redirected)
	}
	if s.Negated {
		f = flow{f.failed, f.ok}
	}
	if s.Background {
		f = stays(in.dirs)
	}
	if splits { // some shells run it in a process of its own
		f = stays(in.dirs.union(f.both()))
	}
	return f
}

// wordsBehind reports whether a command has words behind an operator &>.
func wordsBehind(s *syntax.Stmt) bool {
	return s.Cmd != nil && slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
		return (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) && r.OpPos.Offset() < s.Cmd.End().Offset()
	})
}

func (w *walker) command(s *syntax.Stmt, in scope) flow {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return w.call(c, w.source(s), in)
	case *syntax.BinaryCmd:
		return w.binary(c, in)
	case *syntax.Block:
		return w.stmts(c.Stmts, in)
	case *syntax.Subshell:
		in.subshell = true
		w.stmts(c.Stmts, in)
		return stays(in.dirs)
	case *syntax.IfClause:
		return w.ifClause(c, in)
	case *syntax.WhileClause:
		return w.loop(in, func(in scope) flow {
			cond := w.stmts(c.Cond, in)
			body := w.stmts(c.Do, in.at(cond.both()))
			return stays(cond.both().union(body.both()))
		})
	case *syntax.ForClause:
		return w.forClause(c, in)
	case *syntax.CaseClause:
		return w.caseClause(c, in)
	case *syntax.TestClause:
		w.test(c, w.source(s), in)
		return stays(in.dirs)
	case *syntax.DeclClause:
		w.declaration(c, w.source(s), in)
		return stays(in.dirs)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return stays(in.dirs)
		}
		return w.stmt(c.Stmt, in)
	case *syntax.FuncDecl:
		w.fail("it defines a function")
		w.stmt(c.Body, in.at(dirs{""}))
		return stays(in.dirs)
	case *syntax.CoprocClause:
		w.fail("it has a coprocess")
		return w.stmt(c.Stmt, in)
	}
	w.fail("it has arithmetic, which may run commands")
	w.nested(s.Cmd, in)
	return stays(in.dirs)
}

func (w *walker) binary(c *syntax.BinaryCmd, in scope) flow {
	left := w.stmt(c.X, in)
	switch c.Op {
	case syntax.AndStmt:
		right := w.stmt(c.Y, in.at(left.ok))
		return flow{right.ok, left.failed.union(right.failed)}
	case syntax.OrStmt:
		right := w.stmt(c.Y, in.at(left.failed))
		return flow{left.ok.union(right.ok), right.failed}
	}
	right := w.stmt(c.Y, in) // of a pipe; some shells run the last command in their own process
	return stays(in.dirs.union(right.both()))
}

func (w *walker) ifClause(c *syntax.IfClause, in scope) flow {
	if len(c.Cond) == 0 { // else
		return w.stmts(c.Then, in)
	}
	cond := w.stmts(c.Cond, in)
	out := w.stmts(c.Then, in.at(cond.ok)).both()
	if c.Else != nil {
		return stays(out.union(w.ifClause(c.Else, in.at(cond.failed)).both()))
	}
	return stays(out.union(cond.failed))
}

// loop walks through a body that may run several times. If it changes the directory, it is walked
// through again for an unknown one.
func (w *walker) loop(in scope, body func(scope) flow) flow {
	before := len(w.commands)
	out := body(in).both()
	if slices.Equal(in.dirs.union(out), in.dirs) {
		return stays(in.dirs)
	}
	w.commands = w.commands[:before]
	body(in.at(dirs{""}))
	return anywhere()
}

func (w *walker) forClause(c *syntax.ForClause, in scope) flow {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || c.Braces {
		w.fail("it has a loop that only some shells know")
		w.nested(c.Loop, in)
	} else {
		w.assigned = append(w.assigned, words.Name.Value)
		if Strange(words.Name.Value, "//") {
			w.fail("the values of " + words.Name.Value + " may make programs read a file of that name, or run commands")
		}
		for _, item := range words.Items {
			w.value(item, in)
		}
	}
	return w.loop(in, func(in scope) flow { return w.stmts(c.Do, in) })
}

func (w *walker) caseClause(c *syntax.CaseClause, in scope) flow {
	if c.Braces {
		w.fail("it has a case that only some shells know")
	}
	w.value(c.Word, in)
	out := in.dirs
	for _, item := range c.Items {
		if item.Op != syntax.Break {
			w.fail("it has a case that only some shells know")
		}
		for _, p := range item.Patterns {
			w.value(p, in)
		}
		out = out.union(w.stmts(item.Stmts, in).both())
	}
	return stays(out)
}

// test adds [[ ]] as a command. Only a condition of one operator and one word is clear, because a
// POSIX shell takes && and < in it for its own.
func (w *walker) test(c *syntax.TestClause, text string, in scope) {
	cmd := Command{Words: []string{"[[", "..."}, Text: text}
	var operand *syntax.Word
	x, unary := c.X.(*syntax.UnaryTest)
	if unary {
		operand, _ = x.X.(*syntax.Word)
	}
	if operand == nil || strings.Contains(text, "\n") { // for others [[ is a word
		cmd.Unclear = "[[ has more than one operator and one word, which other shells may take for something else"
		w.add(cmd, in)
		w.nested(c.X, in)
		return
	}
	a := w.word(operand, in)
	cmd.Words = []string{"[[", x.Op.String(), a.text, "]]"}
	cmd.Unclear = a.unclear
	w.add(cmd, in)
}

// declaration adds export, declare and the like as commands.
func (w *walker) declaration(c *syntax.DeclClause, text string, in scope) {
	cmd := Command{Words: []string{c.Variant.Value}, Text: text}
	if c.Variant.Value != "export" {
		cmd.Unclear = c.Variant.Value + " may calculate values, which may run commands"
	}
	for _, a := range c.Args {
		cmd.Words = append(cmd.Words, w.source(a))
		if a.Naked && a.Name == nil {
			cmd.Unclear = "it is not literal what it sets"
			w.value(a.Value, in)
			continue
		}
		w.assign(a, in)
	}
	w.add(cmd, in)
}

// assign notes a variable that the script sets.
func (w *walker) assign(a *syntax.Assign, in scope) {
	w.checkAssign(a, in)
	if a.Name != nil {
		w.assigned = append(w.assigned, a.Name.Value)
	}
	if why := strange(a); why != "" {
		w.fail(why)
	}
}

// checkAssign walks through the value of a variable.
func (w *walker) checkAssign(a *syntax.Assign, in scope) {
	if a.Append || a.Index != nil || a.Array != nil {
		w.fail("it has an assignment that only some shells know")
		w.nested(a, in)
		return
	}
	w.value(a.Value, in)
}

// add adds a command for each directory in which it may run, in front of those that were found in
// its words.
func (w *walker) add(c Command, in scope) {
	for _, word := range c.Words {
		w.size += (len(word) + 1) * len(in.dirs)
	}
	c.Subshell = in.subshell
	c.Vars = append(slices.Clone(in.vars), c.Vars...)
	c.Reads, c.Writes = in.reads, in.writes
	if c.Unclear == "" {
		c.Unclear = in.unclear
	}
	var all []Command
	for _, dir := range in.dirs {
		at := c
		at.Dir, at.Vars = dir, slices.Clone(c.Vars)
		all = append(all, at)
	}
	w.commands = slices.Insert(w.commands, in.start, all...)
}
