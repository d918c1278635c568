package trust

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/rules/shell"
)

// MaxScript is the most bytes of a script that [MayRun] looks at.
const MaxScript = 64 << 10

// MayRun returns the first command of a script that may run a file which is none of the system's, or
// why that is not known, or "" if the script runs none. The script is one that runs by itself, such
// as a hook of git, and dir is where it starts. starts reports whether a variable changes which
// programs are found, or names one.
//
// It does not follow what a script starts, because a script can name a file in more ways than can be
// read: each of its commands is one of a few that read and print, or it may run a file.
func MayRun(text []byte, dir string, starts func(variable string) bool) (why string) {
	switch {
	case len(text) > MaxScript:
		return fmt.Sprintf("it has more than %d bytes", MaxScript)
	case bytes.IndexByte(text, 0) >= 0 || !forShell(text):
		return "it is a program, or a script of another language than that of the shell"
	}
	parsed := shell.Parse(string(text), shell.Place{Dir: dir})
	if parsed.Unclear != "" && parsed.Functions == nil {
		return parsed.Unclear
	}
	if found := calculates().Find(text); found != nil {
		return "it calculates: " + texts.Shown(string(found))
	}
	if bytes.ContainsRune(harmlessOutput().ReplaceAll(text, nil), '>') {
		return "it writes a file"
	}
	for _, assignment := range assignedByDefault().FindAllSubmatch(text, -1) {
		if starts(string(assignment[1])) {
			return texts.Shown(string(assignment[0]) + "...}")
		}
	}
	for i := range parsed.Commands {
		c := &parsed.Commands[i]
		function := slices.Contains(parsed.Functions, c.Words[0]) // whose commands are listed
		sets := c.Vars
		if c.Words[0] == "read" {
			sets = append(slices.Clip(sets), c.Words[1:]...)
		}
		if !function && !runsNoFile(c) || slices.ContainsFunc(sets, starts) {
			return texts.Shown(texts.Cut(c.Text, MaxShownCommand, "…"))
		}
	}
	return ""
}

// calculates matches the beginning of expansions that take a value for an expression, or for a text
// with expansions of its own. The value can be what a file says, and run a command.
var calculates = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\(\(|\$\[|\$\{!|\$\{#?\w+(\[[^@*]|:[^-=?+]|@)`)
})

// harmlessOutput matches redirections of output that change no file, and what ends them.
var harmlessOutput = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9&]?>>?[ \t]*(/dev/null|&[0-9-])([\s;)}&|"]|$)`)
})

// assignedByDefault matches the beginning of an expansion that sets a variable without a value.
var assignedByDefault = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(\w+):?=`) })

// MaxShownCommand is the longest part of a command, in bytes, that a question shows.
const MaxShownCommand = 60

// forShell reports whether a script begins like one for sh, bash or dash.
func forShell(text []byte) bool {
	line, _, _ := strings.Cut(string(text), "\n")
	command, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return true
	}
	words := strings.Fields(command)
	if len(words) > 1 && words[0] == "/usr/bin/env" {
		words = words[1:]
	}
	if len(words) == 0 || !slices.Contains([]string{"sh", "bash", "dash"}, ofSystem(words[0])) {
		return false
	}
	return !slices.ContainsFunc(words[1:], func(option string) bool { return strings.Trim(option, "-eux") != "" })
}

// ofSystem returns the name of a program without the directory of the system that it lies in.
func ofSystem(program string) string {
	if dir, name := path.Split(program); slices.Contains([]string{"/bin/", "/usr/bin/", "/usr/local/bin/"}, dir) {
		return name
	}
	return program
}

// runsNoFile reports whether a command is one of a few that read and print, and so run no file
// whatever their arguments are.
func runsNoFile(c *shell.Command) bool {
	if c.Computed || c.Hidden {
		return false
	}
	literal := c.Unclear == ""
	program := ofSystem(c.Words[0])
	switch program {
	case ":", "true", "false", "exit", "return", "break", "continue", "cd", "pwd", "echo", "set", "shift", "sleep", "exec",
		"basename", "cat", "cut", "date", "dirname", "egrep", "fgrep", "grep", "head", "tail", "tr", "wc":
		return true // what exec and command run is listed, too
	case "command", "nice", "nohup", "time", "timeout":
		return c.Wraps && literal || program == "command" && len(c.Words) > 1 && c.Words[1] == "-v"
	case "export", "local", "unset":
		return !slices.ContainsFunc(c.Words[1:], func(word string) bool {
			name, _, _ := strings.Cut(word, "=")
			return strings.HasPrefix(word, "-") || !script.IsPlain(name)
		})
	case "printf":
		return len(c.Words) > 1 && !strings.HasPrefix(c.Words[1], "-") && !strings.ContainsAny(c.Words[1], "$`")
	case "test", "[":
		return comparesTexts(c.Words[1:])
	case "read":
		return !slices.ContainsFunc(c.Words[1:], func(word string) bool { return strings.ContainsAny(word, "[$`") })
	case "git":
		return len(c.Words) > 1 && gitRunsNoFile(c.Words[1], c.Words[2:], literal)
	}
	return false
}

// comparesTexts reports whether the arguments of test make one of its simple forms. In others a value
// may be an operator, and some operators calculate, which may run a command.
func comparesTexts(args []string) bool {
	if len(args) > 0 && args[len(args)-1] == "]" {
		args = args[:len(args)-1]
	}
	if len(args) > 0 && args[0] == "!" {
		args = args[1:]
	}
	isOperator := func(word string) bool { return word != "-v" && word != "-R" && !strings.ContainsAny(word, "$`\"") }
	switch {
	case slices.ContainsFunc(args, dividedByShell):
		return false
	case len(args) == 2:
		return isOperator(args[0])
	case len(args) == 3:
		return isOperator(args[1])
	}
	return len(args) < 2
}

// dividedByShell reports whether a shell may make several words of one that is not literal.
func dividedByShell(word string) bool {
	for i, part := range strings.Split(word, `"`) {
		part = strings.NewReplacer("$?", "", "$#", "", "$$", "").Replace(part)
		if strings.Contains(part, "@") || i%2 == 0 && strings.ContainsAny(part, "$`") {
			return true
		}
	}
	return false
}

// gitRunsNoFile reports whether a command of git only shows something. What its configuration makes
// git start counts by itself.
func gitRunsNoFile(command string, args []string, literal bool) bool {
	switch command {
	case "cat-file", "describe", "for-each-ref", "lfs", "ls-files", "ls-tree", "merge-base", "name-rev", "rev-parse", "status":
		return true
	case "diff", "diff-files", "diff-index", "diff-tree", "log", "rev-list", "show": // which can write their output
		return literal && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--o") })
	}
	return false
}
