package attractor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/trust"
)

// startsSomething reports whether a variable changes which programs are found, or names one.
func startsSomething(variable string) bool {
	known := namesThatStart()
	// some shells expand prompts like scripts; the files below HOME have names that programs know
	more := []string{"PATH", "CDPATH", "FPATH", "HOME", "PS0", "PS1", "PS2", "LESS", "VIM", "VIMRUNTIME"}
	return slices.Contains(more, variable) || slices.Contains(known.fileVars, variable) ||
		slices.Contains(known.commandVars, variable) || slices.ContainsFunc([]string{"GIT_", "LD_", "DYLD_"},
		func(begin string) bool { return strings.HasPrefix(variable, begin) })
}

// exposedByEntering returns what may run a file when a shell of the user enters one of the
// directories, one around it in its repository, or one below: direnv and mise ask their users again
// only when their own files change.
func exposedByEntering(roots []string, nesting *git.Nesting) (why string) {
	dirs := withThoseAround(roots)
	for _, root := range roots {
		dirs = append(dirs, nesting.Entered(root)...)
	}
	for _, dir := range dirs {
		envrc := filepath.Join(dir, ".envrc")
		text, err := userfiles.Read(envrc, trust.MaxScript+1)
		if err == nil {
			why = trust.MayRun(text, dir, startsSomething)
		} else if !errors.Is(err, fs.ErrNotExist) {
			why = err.Error()
		}
		if why != "" {
			return exposes(envrc, why)
		}
		for _, file := range configsOfMise(dir) {
			onlyThese := onlyTools
			if filepath.Base(file) == ".tool-versions" {
				onlyThese = func(text []byte) bool { return !bytes.Contains(text, []byte("path:")) }
			}
			if text, err = userfiles.Read(file, trust.MaxScript+1); err != nil || !onlyThese(text) {
				return exposes(file, "it sets more than versions of tools and plain variables")
			}
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

// exposes returns the end of a sentence about an edit, which says what may run the file, and why.
func exposes(by, why string) string { return fmt.Sprintf("%s may run it: %s", texts.Shown(by), why) }

// onlyTools reports whether a configuration of mise only says which versions of tools and which
// values of variables count.
func onlyTools(text []byte) bool {
	var root map[string]any
	if _, err := texts.CheckTOML(string(text)); err != nil || len(text) > trust.MaxScript {
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
