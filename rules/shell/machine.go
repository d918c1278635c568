package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

// Machine describes where commands run, as far as it matters for what they do.
type Machine struct {
	Env env.Environment
	// Home is the home directory, where git looks for its configuration. If it is empty, git
	// commands ask.
	Home string
	// Vars holds the variables of commands, as NAME=value. Nil means that they are taken to be
	// harmless.
	Vars []string
	// Outside returns the content of a file outside of what Env opens, such as the user's
	// configuration of git. If it is nil, git commands
	// ask where they have such configuration or where that is not known. Its errors wrap
	// fs.ErrNotExist like those of Env.
	Outside func(ctx context.Context, name string) ([]byte, error)
	// Resolve returns a path without symbolic links, also outside of what Env opens. If it is nil,
	// links to programs are not followed.
	Resolve func(name string) (string, error)
	// Roots holds the directories that tools may write, with and without symbolic links, besides
	// the working directory of Env.
	Roots []string
	// Observed says that the commands run where they can change nothing, reach no network and gain
	// no privileges. Then it does not matter which programs they start, nor which files of a
	// directory a pattern matches.
	Observed bool
}

// variable returns the value of a variable.
func (m *Machine) variable(name string) string {
	value, _ := m.lookup(name)
	return value
}

// lookup returns the value of a variable, and whether there is one.
func (m *Machine) lookup(name string) (string, bool) {
	for _, entry := range m.Vars {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// files reads the files of repositories.
func (m *Machine) files() git.Files { return git.Files{Env: m.Env, Outside: m.Outside} }

// shadowed returns why a program's bare name may stand for something other than the system's
// program.
func (m *Machine) shadowed(ctx context.Context, program string) string {
	if m.variable("BASH_FUNC_"+program+"%%") != "" || m.variable("BASH_FUNC_"+program+"()") != "" {
		return program + " is a function of the environment"
	}
	search, ok := m.lookup("PATH")
	if !ok {
		return ""
	}
	for _, at := range strings.Split(search, ":") {
		if !path.IsAbs(at) { // also ~, which Bash replaces here
			return fmt.Sprintf("PATH has the entry %q, in which any directory may have a program %s: write the "+
				"full path of the program, or begin the session with a PATH that has only absolute paths", at, program)
		}
		if why := m.inRoots(ctx, at+"/"+program); why != "" {
			return why
		}
	}
	return ""
}

// searched returns why a program that starts others may find there one that is not the system's.
func (m *Machine) searched(ctx context.Context, program string) string {
	search, _ := m.lookup("PATH")
	for _, at := range strings.Split(search, ":") {
		if search != "" && (!path.IsAbs(at) || m.inRoots(ctx, at) != "") {
			return fmt.Sprintf("%s may start programs that PATH finds in %q, where tools may write", program, at)
		}
	}
	return ""
}

// resolve returns a path without symbolic links, as far as that can be known.
func (m *Machine) resolve(name string) (string, error) {
	if m.Resolve == nil {
		return name, nil
	}
	return m.Resolve(name)
}

// inRoots returns why a program, if it is there, is one that tools may have written.
func (m *Machine) inRoots(ctx context.Context, name string) string {
	real, err := m.resolve(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the shell does not find it either
		return ""
	case errors.Is(err, fs.ErrPermission): // nor here, or it is only Env that does not open it
		real, err = name, nil
	}
	work, workErr := m.resolve(m.Env.WorkDir())
	if err := errors.Join(err, workErr); err != nil {
		return fmt.Sprintf("it is not known where %s leads: %v", name, err)
	}
	roots := append(slices.Clip(m.Roots), m.Env.WorkDir(), work)
	for _, place := range []string{path.Clean(name), path.Clean(real)} {
		if !slices.ContainsFunc(roots, func(root string) bool { return within(place, path.Clean(root)) }) {
			continue
		}
		if m.mayExist(ctx, place) {
			return fmt.Sprintf("PATH may find %s in %s, which tools may write: write the full path of the system's "+
				"program", path.Base(name), path.Dir(place))
		}
	}
	return ""
}

// mayExist reports whether there is a file, or whether that is not known.
func (m *Machine) mayExist(ctx context.Context, name string) bool {
	there, err := m.files().Exists(ctx, name)
	if err == nil || m.Outside == nil {
		return there || err != nil
	}
	_, err = m.Outside(ctx, name) // Env does not open it
	return !errors.Is(err, fs.ErrNotExist)
}
