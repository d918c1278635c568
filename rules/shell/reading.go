package shell

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// File describes what a command reads.
type File struct {
	// Path is the absolute path. Links and .. in it are not resolved.
	Path string
	// Tree reports that the command also reads what is below the directory. It may open every file
	// there.
	Tree bool
	// Visible reports that files and directories in the tree whose names begin with a dot are
	// skipped, as ripgrep does.
	Visible bool
	// Links reports that symbolic links in the tree are followed.
	Links bool
	// Names reports that it reads only names and attributes, as ls and find do, and no content.
	Names bool
}

// Reading judges whether a command only reads. It returns the files that it reads, which the caller
// has to judge, and why the command may do anything else; empty means that it may not. Of a command
// that only runs others, such as timeout, it judges whether the program is the system's; the others
// have to be judged as well.
//
// It looks at directories for patterns of file names, and at the configuration of git repositories.
// Nothing is run.
func Reading(ctx context.Context, m Machine, c Command) (files []File, why string) {
	if why := unfit(c); why != "" {
		return nil, why
	}
	for _, name := range c.Reads {
		files = append(files, File{Path: name})
	}
	if c.Wraps {
		_, why = m.program(ctx, c.Words[0])
		return files, why
	}
	words, matched, why := expand(ctx, m.Env, c)
	if why != "" {
		return nil, why
	}
	program, why := m.program(ctx, words[0])
	if why != "" {
		return nil, why
	}
	r := &read{Machine: &m, ctx: ctx, dir: c.Dir, program: program, files: files}
	if why := r.judge(words[1:]); why != "" {
		return nil, why
	}
	if len(c.Globs) > 0 && !m.Observed {
		why = m.plainFiles(program, c, matched)
	}
	return r.files, why
}

// program returns the name of a program of the system, or why it may be another one.
func (m *Machine) program(ctx context.Context, word string) (name, why string) {
	name, why = systemProgram(word)
	switch {
	case why != "", m.Observed:
	case name == word:
		why = m.shadowed(ctx, name)
	default:
		why = m.inRoots(ctx, word)
	}
	if why == "" && !m.Observed && startsOthers(name) {
		why = m.searched(ctx, name)
	}
	return name, why
}

// startsOthers reports whether a program of the system may be a script, which starts others as PATH
// finds them, such as grep, env and node. Managers of versions have such scripts for all tools.
func startsOthers(program string) bool {
	return isTool(program) || slices.Contains([]string{"egrep", "fgrep", "groups", "shasum", "which"}, program)
}

// unfit returns why a command asks whatever its program is.
func unfit(c Command) string {
	switch {
	case c.Unclear != "":
		return c.Unclear
	case len(c.Writes) > 0:
		return "it writes " + c.Writes[0]
	case c.Subshell:
		return "it is in a subshell"
	}
	for _, name := range c.Vars {
		if !harmlessVar(name) {
			return fmt.Sprintf("the variable %s may change what it does", name)
		}
	}
	return ""
}

// systemProgram returns the name of a program that belongs to the system: it has no path, or one in
// a directory of the system.
func systemProgram(word string) (name, why string) {
	dir, name := path.Split(word)
	if dir == "" || slices.Contains([]string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/",
		"/opt/homebrew/bin/"}, dir) {
		return name, ""
	}
	return "", word + " is not a program of the system"
}

// read judges one command.
type read struct {
	*Machine
	ctx     context.Context
	dir     string
	program string // without a path
	files   []File
}

// judge returns why a command with these arguments may do more than read.
//
// An argument of a builtin that is not known here makes the command ask, because some shell may
// calculate it, and calculating the index in a[$(x)] runs x.
func (r *read) judge(args []string) string {
	switch r.program {
	case ":", "true", "false", "echo", "set": // set has been judged by Parse
		return ""
	case "cd": // an option leaves the directory unknown
		if len(args) > 1 {
			return "cd may lead elsewhere with " + strings.Join(args, " ") + ": write cd DIRECTORY"
		}
		if r.variable("CDPATH") != "" && !slices.ContainsFunc(args, fromHere) {
			return "the variable CDPATH may make cd lead elsewhere: write cd ./DIRECTORY"
		}
		return ""
	case "printf":
		return printf(args)
	case "[", "test", "[[":
		return r.test(args)
	case "git":
		return r.git(args)
	case "find":
		return r.find(args)
	}
	if isTool(r.program) {
		return r.tool(args)
	}
	s, ok := specOf(r.program)
	if !ok {
		return r.program + " is not known as a command that only reads"
	}
	if r.program == "rg" && r.variable("RIPGREP_CONFIG_PATH") != "" {
		return "rg may run programs that its configuration names"
	}
	if i := slices.IndexFunc(args, r.special); i >= 0 {
		return r.program + " may do more than read with " + args[i]
	}
	return r.bySpec(s, args)
}

// fromHere reports whether the name of a directory begins with / or a dot.
func fromHere(name string) bool { return strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") }

// special reports whether an argument means something to a program that the table does not say.
func (r *read) special(a string) bool {
	switch r.program {
	case "jq": // versions differ in what they make of it
		return a == "--"
	case "strings": // reads further arguments from a file
		return strings.HasPrefix(a, "@")
	case "date": // reads the file of a time zone
		return strings.Contains(a, "TZ=")
	case "tail": // does not end with +1f, as old versions have it
		return strings.HasPrefix(a, "+") && strings.Contains(a, "f")
	}
	return false
}

// file adds a file that the command reads.
func (r *read) file(name string, f File) (why string) {
	p, ok := absolute(r.dir, name)
	if !ok {
		return "it is not known in which directory it runs"
	}
	f.Path = p
	r.files = append(r.files, f)
	return ""
}

// bySpec judges a command by its row of the table.
func (r *read) bySpec(s spec, args []string) string {
	p, why := s.parse(args)
	if why != "" {
		return r.program + " " + why
	}
	if why := r.parsed(s, p); why != "" || p.late == nil || permutes(r.program) {
		return why
	}
	if why := r.parsed(s, *p.late); why != "" {
		return why + ": write options before operands, because some systems take all that stands behind an " +
			"operand for one"
	}
	return ""
}

// permutes reports whether a program takes options behind operands on every system, because it does
// not leave that to the system's getopt.
func permutes(program string) bool {
	return slices.Contains([]string{"rg", "fd", "fdfind", "jq"}, program)
}

// parsed judges a command by its row of the table and its parsed arguments.
func (r *read) parsed(s spec, p arguments) string {
	operands := p.operands
	scripts := p.values(s.other)
	if s.first && len(scripts) == 0 {
		if len(operands) == 0 {
			return r.program + " has no pattern"
		}
		scripts, operands = operands[:1], operands[1:]
	}
	if why := check(r.program, scripts, operands); why != "" {
		return why
	}
	for _, name := range p.values(s.from) {
		if why := r.operand(name, File{}); why != "" {
			return why
		}
	}
	if len(operands) > s.max {
		return fmt.Sprintf("%s may do more than read with %s", r.program, operands[s.max])
	}
	f := File{Names: s.kind == names, Visible: r.program == "rg" && !searchesHidden(p)}
	f.Tree = s.trees == "always" || p.has(s.trees)
	f.Links = p.has(s.links) || r.program == "diff" && !p.has("no-dereference")
	if s.kind == text {
		return ""
	}
	if len(operands) == 0 && (f.Tree || s.kind == names) {
		operands = []string{"."}
	}
	for _, name := range operands {
		if why := r.operand(name, f); why != "" {
			return why
		}
	}
	return ""
}

// operand adds a file unless its name stands for the input.
func (r *read) operand(name string, f File) string {
	if name == "-" && !f.Names {
		return ""
	}
	return r.file(name, f)
}
