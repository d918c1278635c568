package trust

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/rules/shell"
)

// runsNoFile reports whether a command is one of a few that read and print, and so run no file
// whatever their arguments are.
func runsNoFile(c *shell.Command, starts func(variable string) bool) bool {
	if c.Computed || c.Hidden {
		return false
	}
	literal, args := c.Unclear == "", c.Words[1:]
	program := c.Words[0]
	if dir, name := filepath.Split(program); dir == "/bin/" || dir == "/usr/bin/" {
		program = name
	}
	switch program {
	case ":", "true", "false", "exit", "return", "break", "continue", "cd", "pwd", "echo", "shift", "sleep", "exec",
		"basename", "cat", "cut", "date", "dirname", "egrep", "fgrep", "grep", "head", "tail", "tr", "wc":
		return true // what exec and command run is listed, too
	case "command", "nice", "nohup", "time", "timeout":
		return c.Wraps && literal || program == "command" && len(args) > 0 && args[0] == "-v"
	case "set": // not -k and the like, with which arguments are variables
		return literal || len(args) > 0 && args[0] == "--"
	case "export", "local":
		return areVariables(args, starts)
	case "unset": // without PATH, programs are looked for in the directory
		return areVariables(args, func(variable string) bool { return variable == "PATH" })
	case "read":
		names, ok := behindOptionsOfRead(args)
		return ok && areVariables(names, starts)
	case "printf":
		return len(c.Globs) == 0 && !slices.ContainsFunc(args, dividedByShell) && !setsByPrintf(args)
	case "test", "[":
		return len(c.Globs) == 0 && !mayCalculate(args)
	case "git":
		return len(args) > 0 && gitRunsNoFile(args[0], args[1:], literal)
	}
	return false
}

// isComputed reports whether a word is not literal.
func isComputed(word string) bool { return strings.ContainsAny(word, "$`") }

// areVariables reports whether words are names of variables, perhaps with values, that start nothing.
func areVariables(words []string, starts func(variable string) bool) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	return !slices.ContainsFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return strings.Trim(name, letters) != "" || starts(name)
	})
}

// behindOptionsOfRead returns the names of variables that read sets. It reports false if an option is
// not known.
func behindOptionsOfRead(args []string) (names []string, ok bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if dividedByShell(args[0]) {
			return nil, false
		}
		option := strings.TrimLeft(args[0][1:], "rs")
		args = args[1:]
		switch {
		case option == "":
			continue
		case strings.IndexByte("dnptu", option[0]) < 0:
			return nil, false
		case len(option) > 1: // its value is joined
			continue
		case len(args) == 0 || dividedByShell(args[0]):
			return nil, false
		}
		args = args[1:]
	}
	return args, true
}

// setsByPrintf reports whether printf may have its option -v, which sets a variable.
func setsByPrintf(args []string) bool {
	if len(args) < 2 {
		return false // there is no format behind it
	}
	begin := strings.TrimLeft(args[0], `"`)
	return strings.HasPrefix(begin, "-") && begin != "--" || isComputed(begin[:min(len(begin), 1)])
}

// mayCalculate reports whether test may get an operator that calculates an index, which may run
// commands: as it is, or by a word that is not literal where an operator may stand.
func mayCalculate(args []string) bool {
	between := []string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
		"-a", "-o", ")", "]"}
	for i, word := range args {
		if word == "-v" || word == "-R" || dividedByShell(word) ||
			isComputed(word) && i+1 < len(args) && !slices.Contains(between, args[i+1]) {
			return true
		}
	}
	return false
}

// dividedByShell reports whether a shell may make several words of one that is not literal.
func dividedByShell(word string) bool {
	if isComputed(word) && (strings.ContainsAny(word, "\\'\n") || // what is in double quotes is not that clear
		strings.Contains(word, "$@") || strings.Contains(word, "${@")) {
		return true
	}
	for i, part := range strings.Split(word, `"`) {
		part = strings.NewReplacer("$?", "", "$#", "", "$$", "").Replace(part)
		if i%2 == 0 && isComputed(part) {
			return true
		}
	}
	return false
}

// gitRunsNoFile reports whether a command of git only shows something. What its configuration makes
// git start counts by itself.
func gitRunsNoFile(command string, args []string, literal bool) bool {
	switch command {
	case "cat-file", "describe", "for-each-ref", "ls-files", "ls-tree", "merge-base", "name-rev", "rev-parse", "status":
		return true
	case "lfs": // what else it has may run a program
		return len(args) > 0 && slices.Contains([]string{"post-checkout", "post-commit", "post-merge", "pre-push",
			"ls-files", "status", "version"}, args[0])
	case "diff", "diff-files", "diff-index", "diff-tree", "log", "rev-list", "show": // which can write their output
		return literal && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--o") })
	}
	return false
}
