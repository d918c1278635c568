package attractor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// startsSomething reports whether a variable changes which programs are found, or names one.
func startsSomething(variable string) bool {
	known := namesThatStart()
	// some shells expand prompts like scripts; the files below HOME have names that programs know
	more := []string{"PATH", "CDPATH", "FPATH", "HOME", "PS0", "PS1", "PS2", "LESS", "VIM", "VIMRUNTIME"}
	return slices.Contains(more, variable) || slices.Contains(known.fileVars, variable) ||
		slices.Contains(known.commandVars, variable) || slices.Contains(known.optionVars, variable) ||
		slices.ContainsFunc([]string{"GIT_", "LD_", "DYLD_"},
			func(begin string) bool { return strings.HasPrefix(variable, begin) })
}

// exposedAtHome returns what may run a file in a directory that is hidden in the home directory,
// such as ~/.vim: programs read those when they start. Copies to work in that tools keep there,
// below a directory called worktrees or workspaces, do not count.
func exposedAtHome(roots []string, home string) string {
	for _, root := range roots {
		below, hidden := strings.CutPrefix(root, realPath(home)+"/.")
		if hidden && !strings.Contains(below, "/worktrees/") && !strings.Contains(below, "/workspaces/") {
			return exposes("a program of yours", root+" is hidden in your home directory")
		}
	}
	return ""
}

// maxEntered is the most bytes of a file that a shell runs when it enters a directory.
const maxEntered = 64 << 10

// exposedByEntering returns what may run a file when a shell of the user enters one of the
// directories, one around it in its repository, or one below: direnv and mise ask their users again
// only when their own files change.
func exposedByEntering(roots []string, nesting *git.Nesting) (why string) {
	dirs := withThoseAround(roots)
	for _, root := range roots {
		entered := nesting.Entered(root)
		if len(entered) > git.MaxFound {
			return exposes("a .envrc or a configuration of mise", fmt.Sprintf("more than %d directories may "+
				"have one", git.MaxFound))
		}
		dirs = append(dirs, entered...)
	}
	for _, dir := range dirs {
		envrc := filepath.Join(dir, ".envrc")
		if why = besides(envrc, besideExports); why != "" {
			return exposes(envrc, why)
		}
		for _, file := range configsOfMise(dir) {
			look := besideTools
			if filepath.Base(file) == ".tool-versions" {
				look = besideVersions
			}
			if why = besides(file, look); why != "" {
				return exposes(file, why)
			}
		}
	}
	return ""
}

// besides returns what look finds in a file, or why that is not known. One that is not there has
// nothing.
func besides(file string, look func(text []byte) string) string {
	text, err := userfiles.Read(file, maxEntered+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return err.Error()
	case len(text) > maxEntered:
		return fmt.Sprintf("it has more than %d bytes", maxEntered)
	}
	return look(text)
}

// besideExports returns which line of a script is the first that does more than export one
// variable, which starts nothing, with a value that runs nothing. It does not return the line: the
// model reads why an edit asks, and the file may be a link to one that holds secrets.
func besideExports(text []byte) string {
	const value = `(?:[A-Za-z0-9_./:@%+,-]|\$\w+|\$\{\w+\})*|'[^']*'|"(?:[^"$` + "`" + `\\]|\$\w+|\$\{\w+\})*"`
	export := regexp.MustCompile(`^export ([A-Za-z_]\w*)=(?:` + value + `)$`)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.Trim(line, " \t\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if found := export.FindStringSubmatch(line); found == nil || startsSomething(found[1]) {
			return fmt.Sprintf("line %d does more than export a plain variable", number)
		}
	}
	return ""
}

// withThoseAround returns directories, and those around them in their repositories.
func withThoseAround(roots []string) (dirs []string) {
	for _, dir := range roots {
		outer := dir
		if tops := git.Tops(dir); len(tops) > 0 {
			outer = tops[len(tops)-1]
		}
		for ; !slices.Contains(dirs, dir); dir = filepath.Dir(dir) {
			if dirs = append(dirs, dir); dir == outer {
				break
			}
		}
	}
	return dirs
}

// exposes returns the end of a sentence about an edit, which says what may run the file, and why
// unless the first says it.
func exposes(by, why string) string {
	if why == "" || strings.HasSuffix(by, why) {
		return texts.Shown(by) + " may run it"
	}
	return texts.Shown(by) + " may run it: " + texts.Shown(why)
}

// The text that says why a configuration of mise or asdf may run files.
const moreThanVersions = "it sets more than versions of tools and plain variables"

// besideVersions returns what a .tool-versions has besides versions.
func besideVersions(text []byte) string {
	if bytes.Contains(text, []byte("path:")) {
		return moreThanVersions
	}
	return ""
}

// besideTools returns what a configuration of mise has besides versions of tools and variables.
func besideTools(text []byte) string {
	if onlyTools(text) {
		return ""
	}
	return moreThanVersions
}

// onlyTools reports whether a configuration of mise only says which versions of tools and which
// values of variables count.
func onlyTools(text []byte) bool {
	var root map[string]any
	if _, err := texts.CheckTOML(string(text)); err != nil {
		return false
	}
	if _, err := toml.Decode(string(text), &root); err != nil {
		return false
	}
	for name, value := range root {
		if name == "min_version" || name == "tasks" { // which run when their user calls them
			continue
		}
		members, ok := value.(map[string]any) // env may also be an array of tables
		if !ok || name != "tools" && name != "env" {
			return false
		}
		for member, value := range members {
			if member == "_" || startsSomething(member) || !isPlain(value) {
				return false
			}
		}
	}
	return true
}

// isPlain reports whether a value of mise says no more than itself: it has no options, as a table
// has, and is no template and no directory of a tool.
func isPlain(value any) bool {
	switch value := value.(type) {
	case string:
		return !strings.Contains(value, "{{") && !strings.Contains(value, "path:")
	case []any:
		return !slices.ContainsFunc(value, func(value any) bool { return !isPlain(value) })
	case bool, int64, float64:
		return true
	}
	return false
}
