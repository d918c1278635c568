package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/rules/shell"
)

// MayRun returns the first part of a hook's command that may run a file of the session's directories,
// or load one as code, or "" if each of its commands is one of a few that read, print, tell or
// format, or a program or script outside of the directories, by its whole path. The command is a
// script for the shell, or, with arguments, a program.
//
// What is not in the list may run any file: programs that take code from where they start are too many
// to be listed.
func MayRun(outside func(file string) bool, command string, args ...string) (part string) {
	if args != nil {
		command = shquote.Words(append([]string{command}, args...)...)
	}
	home, _ := os.UserHomeDir() // without one, ~ is unclear
	filled, err := script.Fill(command, func(name string) (script.Value, bool) {
		return script.Value{Words: []string{home}, Text: home}, name == "HOME" && home != ""
	})
	if err == nil {
		command = filled
	}
	parsed := shell.Parse(command, shell.Place{Home: home})
	for i := range parsed.Commands {
		c := &parsed.Commands[i]
		// what xargs starts follows it, without the arguments that are not known
		listed := c.Words[0] == "xargs" && i+1 < len(parsed.Commands) && endsWith(c.Words, parsed.Commands[i+1].Words)
		if !listed && !runsNoFile(c, outside) {
			return c.Text
		}
	}
	return parsed.Unclear
}

func endsWith(words, end []string) bool {
	return len(end) < len(words) && slices.Equal(words[len(words)-len(end):], end)
}

// runsNoFile reports whether a command runs no file of a directory and loads none, whatever its
// arguments are, or is one outside.
func runsNoFile(c *shell.Command, outside func(file string) bool) bool {
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
	name := filepath.Base(program)
	switch {
	case isShellProgram(name), slices.Contains([]string{"python", "python3", "node", "ruby", "perl"}, name):
		// others, such as deno, bun and Rscript, begin with files of the directory in which they start
		return c.Wraps && c.Unclear == "" || len(c.Words) > 1 && outside(c.Words[1])
	case runsFiles(name):
		return false
	}
	return c.Wraps && c.Unclear == "" || outside(program) // what it wraps is listed
}
