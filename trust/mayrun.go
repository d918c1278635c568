package trust

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/rules/shell"
)

// MayRun returns the first part of a hook's command that may run a file of the directory in which
// it starts, or load one as code, or "" if each of its commands is one of a few that read, print,
// tell or format, and that are no scripts. The command is a script for the shell, or, with
// arguments, a program.
//
// What is not in the list may run any file: programs that take code from where they start are too
// many to be listed, and what a script starts cannot be read from its text.
func MayRun(command string, args ...string) (part string) {
	if args != nil {
		command = shquote.Words(append([]string{command}, args...)...)
	}
	if script.Calculates(command) {
		return command // what a value has may then be a command
	}
	parsed := shell.Parse(command, shell.Place{})
	for i := range parsed.Commands {
		if c := &parsed.Commands[i]; !runsNoFile(c) {
			return c.Text
		}
	}
	return parsed.Unclear
}

// runsNoFile reports whether a command runs no file of a directory and loads none, whatever its
// arguments are.
func runsNoFile(c *shell.Command) bool {
	capital := func(variable string) bool { return strings.ToLower(variable) != variable } // such as PATH
	if c.Computed || c.Hidden || slices.ContainsFunc(c.Vars, capital) {
		return false
	}
	program := c.Words[0]
	if dir, name := filepath.Split(program); dir == "/bin/" || dir == "/usr/bin/" {
		program = name
	}
	switch program {
	case ":", "true", "false", "exit", "cd", "pwd", "echo", "cat", "jq", "grep", "head", "tail", "cut", "tr", "wc",
		"date", "basename", "dirname", "sleep", "logger", "notify-send", "terminal-notifier", "say", "afplay", "paplay",
		"gofmt", "shfmt":
		return true
	case "osascript":
		return c.Unclear == "" && len(c.Words) == 3 && c.Words[1] == "-e" && onlyNotifies(c.Words[2])
	case "xargs": // what it starts follows it
		return len(c.Words) > 1 && slices.Contains([]string{"cat", "gofmt", "grep", "head", "jq", "shfmt", "wc"},
			c.Words[1])
	}
	return c.Wraps && c.Unclear == "" // what it wraps is listed
}

// onlyNotifies reports whether an AppleScript shows a text and nothing else: it can start programs
// as well, such as by do shell script.
func onlyNotifies(script string) bool {
	const text = ` "[^"\\]*"`
	return regexp.MustCompile(`^display notification` + text + `(?: (?:with title|subtitle|sound name)` + text + `)*$`).
		MatchString(script)
}
