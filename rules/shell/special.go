package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/script"
)

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(a T) bool { return !is(a) })
}

// check returns why the scripts or filters of a command, or its other operands, may do more than
// print.
func check(program string, scripts, operands []string) string {
	switch program {
	case "jq":
		for _, word := range []string{"env", "ENV", "import", "include", "modulemeta", "get_search_list",
			"input_filename", "$__prog"} {
			if strings.Contains(strings.Join(scripts, " "), word) {
				return "jq may show variables or read other files with " + word
			}
		}
	case "sed":
		return sedScripts(scripts)
	case "exit", "return", "break", "continue", "wait": // old versions of ksh calculate their arguments
		if !all(operands, func(a string) bool { return number(strings.TrimPrefix(a, "%")) }) {
			return program + " may calculate: write numbers, or nothing"
		}
	case "type", "which", "command":
		if !all(operands, script.IsPlain) {
			return program + " may do more than tell what a name stands for"
		}
	case "date":
		if !all(operands, func(a string) bool { return strings.HasPrefix(a, "+") }) {
			return "date may set the time"
		}
	case "seq", "sleep":
		digits := func(a string) bool { return len(a) < 7 && strings.Trim(a, "0123456789.") == "" }
		if !all(operands, digits) {
			return program + " may not end"
		}
	}
	return ""
}

// find judges find, whose expressions can delete and write files and run programs.
func (r *read) find(args []string) string {
	tops, expression := findTops(args)
	s, _ := specOf("find")
	p, why := s.parse(expression) // whose operands are operators
	if why != "" {
		return "find " + why
	}
	for _, name := range slices.Concat(tops, p.operands) {
		if why := r.file(name, File{Tree: true, Names: true}); why != "" {
			return why
		}
	}
	for _, name := range p.values("newer anewer cnewer samefile") {
		if why := r.file(name, File{Names: true}); why != "" {
			return why
		}
	}
	return ""
}

// sedScripts judges scripts of sed, whose commands may only print: 5p, 1,5p, $p, /x/p, 1,/x/p and
// the like.
func sedScripts(scripts []string) string {
	for _, script := range scripts {
		for command := range strings.FieldsFuncSeq(script, func(c rune) bool { return c == ';' || c == '\n' }) {
			if !prints().MatchString(strings.TrimSpace(command)) {
				return "sed may write files or run programs with " + command
			}
		}
	}
	return ""
}

// prints matches a command of sed, without ; in it, that only prints, deletes, quits or replaces
// text in what it prints.
var prints = sync.OnceValue(func() *regexp.Regexp {
	address := `(?:[0-9~]+|\$|/` + delimited("/") + `)?`
	commands := []string{"[pdqQ=lnNPDhHgGx]"}
	for _, d := range []string{"/", "|", ",", "#", ":", "@"} {
		commands = append(commands, "s"+regexp.QuoteMeta(d)+delimited(d)+delimited(d)+"[gpiI0-9]*")
	}
	where := address + `(?:,[ +~]*` + address + `)?\s*!?\s*`
	return regexp.MustCompile(`^` + where + `(?:` + strings.Join(commands, "|") + `)$`)
})

// delimited returns an expression for a text up to a delimiter, which is not in a set of
// characters: programs differ in whether it may be.
func delimited(by string) string {
	return `(?:[^\\\[` + by + `]|\\.|\[\^?[^\]\\\[^` + by + `][^\]\\\[` + by + `]*\])*` + regexp.QuoteMeta(by)
}

// searchesHidden reports whether options of ripgrep make it look at hidden files: those that say
// so, and patterns that may match some.
func searchesHidden(p arguments) bool {
	globs := p.values("g glob iglob")
	return p.has("u unrestricted hidden") || slices.ContainsFunc(globs, func(pattern string) bool {
		return !visible().MatchString(pattern) || strings.HasSuffix("/"+pattern, "/*.env")
	})
}

// visible matches patterns of files with an extension, and those of files to leave out.
var visible = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^!|^(.*/)?\*\.[a-z0-9]{0,4}$`) })

// printf judges printf, which some shells let set variables and calculate numbers.
func printf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if strings.HasPrefix(args[0], "-") {
		return "printf may set a variable with " + args[0]
	}
	for _, conversion := range strings.Split(strings.ReplaceAll(args[0], "%%", ""), "%")[1:] {
		kind := strings.TrimLeft(conversion, "0123456789.+- #'") + "-"
		if strings.IndexByte("sbqc", kind[0]) < 0 {
			return "printf may calculate or set a variable with %" + conversion
		}
	}
	return ""
}

// test judges [, [[ and test. Some shells calculate the operands of -eq and the index of an array,
// which may run commands. What looks like an operator and is none that is known here asks.
func (r *read) test(args []string) string {
	for i, a := range args {
		switch a {
		case "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-o", "-p", "-r", "-s", "-S",
			"-u", "-w", "-x", "-z", "-G", "-N", "-O",
			"-nt", "-ot", "-ef":
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			if i == 0 || i+1 == len(args) || !number(args[i-1]) || !number(args[i+1]) {
				return r.program + " may calculate the operands of " + a +
					": write numbers, or compare texts with ="
			}
		default:
			if strings.HasPrefix(a, "-") && len(a) > 1 && !number(a) {
				return r.program + " may calculate an index with " + a
			}
		}
	}
	return ""
}

// number reports whether a text is a decimal number.
func number(text string) bool {
	if text == "$?" || text == "$#" {
		return true
	}
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isTool reports whether a program is one that tool judges.
func isTool(program string) bool {
	return slices.Contains([]string{"go", "node", "npm", "python", "python3", "gcc", "clang", "make", "java", "ruby",
		"perl"}, program)
}

// tool judges a program that runs others: it may tell its version.
func (r *read) tool(args []string) string {
	if r.program == "go" && len(args) > 0 {
		return r.goTool(args)
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v" && strings.HasPrefix(r.program, "n") ||
		args[0] == "-version" && r.program == "java") {
		return ""
	}
	return r.program + " may run other programs"
}

// goTool judges the go command. It may download and run another version of itself, which go.mod or
// go.work asks for, and the C compiler; so it asks unless that does not matter. The user may have
// chosen the version.
func (r *read) goTool(args []string) string {
	s, ok := row(goTable, args[0])
	chosen := args[0] == "version" && r.variable("GOTOOLCHAIN") == "local"
	if !ok || !r.Observed && !chosen {
		return "go " + args[0] + " may run other programs or write files"
	}
	return r.bySpec(s, args[1:])
}

// plainGoFlags matches a value of GOFLAGS that only chooses how often and how loudly tests run.
// Other options start programs, or change which code is built.
var plainGoFlags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?: *-(?:count=[0-9]+|v|short|failfast)\b)+ *$`)
})
