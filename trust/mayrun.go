package trust

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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
	unusual, err := script.Unusual(string(text))
	if err != nil {
		return err.Error()
	}
	if unusual != "" {
		return "it calculates, writes, or may mean more to some shell: " + shownPart(unusual)
	}
	parsed := shell.Parse(string(text), shell.Place{Dir: dir})
	if parsed.Unclear != "" && parsed.Functions == nil {
		return parsed.Unclear
	}
	for i := range parsed.Commands {
		c := &parsed.Commands[i]
		function := slices.Contains(parsed.Functions, c.Words[0]) // whose commands are listed
		if !function && !runsNoFile(c, starts) || slices.ContainsFunc(c.Vars, starts) {
			return shownPart(c.Text)
		}
	}
	return ""
}

// shownPart returns a part of a script as a question shows it.
func shownPart(part string) string { return texts.Shown(texts.Cut(part, MaxShownCommand, "…")) }

// MaxShownCommand is the longest part of a command, in bytes, that a question shows.
const MaxShownCommand = 60

// forShell reports whether a script begins like one for sh, bash or dash of the system.
func forShell(text []byte) bool {
	line, _, _ := strings.Cut(string(text), "\n")
	command, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return true
	}
	words := strings.Fields(command)
	if len(words) > 1 && words[0] == "/usr/bin/env" {
		words = words[1:]
		words[0] = "/bin/" + words[0]
	}
	options := ""
	if len(words) == 2 && words[1][0] == '-' {
		options, words = words[1], words[:1]
	}
	if len(words) != 1 || strings.Trim(options, "-eux") != "" {
		return false
	}
	dir, name := filepath.Split(words[0])
	return slices.Contains([]string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"}, dir) &&
		slices.Contains([]string{"sh", "bash", "dash"}, name)
}
