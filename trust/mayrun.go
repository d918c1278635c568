package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/rules/shell"
)

// MayRun returns the first part of a hook's command that may run a file of the directory in which it
// starts, or load one as code, or "" if each of its commands is one of a few that read, print, tell
// or format. The command is a script for the shell, or, with arguments, a program.
//
// It follows no script and knows no options: what is not in its list may run any file.
func MayRun(command string, args ...string) (part string) {
	if args != nil {
		command = shquote.Words(append([]string{command}, args...)...)
	}
	home, _ := os.UserHomeDir() // without one, ~ is unclear
	parsed := shell.Parse(command, shell.Place{Home: home})
	for i := range parsed.Commands {
		c := &parsed.Commands[i]
		// what xargs starts follows it, without the arguments that are not known
		listed := c.Words[0] == "xargs" && i+1 < len(parsed.Commands) && endsWith(c.Words, parsed.Commands[i+1].Words)
		if !listed && !runsNoFile(c) {
			return c.Text
		}
	}
	return parsed.Unclear
}

func endsWith(words, end []string) bool {
	return len(end) < len(words) && slices.Equal(words[len(words)-len(end):], end)
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
	case ":", "true", "false", "exit", "cd", "pwd", "echo", "cat", "jq", "grep", "head", "tail", "cut", "tr", "wc", "date",
		"basename", "dirname", "sleep", "logger", "curl", "notify-send", "terminal-notifier", "say", "afplay", "paplay",
		"gofmt", "shfmt", "clang-format", "black", "ruff":
		return true
	case "osascript":
		return c.Unclear == "" && len(c.Words) == 3 && c.Words[1] == "-e"
	}
	return c.Wraps && c.Unclear == "" // what it starts is listed
}
