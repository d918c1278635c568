package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Level selects how much commands are confined.
type Level string

// The levels.
const (
	// Off does not confine commands.
	Off Level = "off"
	// ReadOnly is Workspace with read-only roots: commands write only in their private directories.
	ReadOnly Level = "read-only"
	// Workspace confines commands to the roots, by bubblewrap. Like the other levels it needs
	// Linux.
	Workspace Level = "workspace"
	// WorkspaceWeak confines commands to the roots by Landlock alone, with the program
	// attractor-env. It cannot make a file in a writable root read-only, so the files that start
	// programs outside are not protected from commands.
	WorkspaceWeak Level = "workspace-weak"
	// Observe is for commands that only read, by Landlock. They see the machine as it is outside,
	// and change nothing of it: only TMPDIR, which is private, can be written. They open no
	// sockets, gain no privileges, and do not read what Options.Covered names. It is none of the
	// levels that users choose for a session, which ParseLevel knows.
	Observe Level = "observe"
)

// Levels returns the names of all levels.
func Levels() []string {
	return []string{string(Off), string(ReadOnly), string(Workspace), string(WorkspaceWeak)}
}

// ParseLevel returns the level of a name. Empty means Off.
func ParseLevel(name string) (Level, error) {
	if name == "" {
		return Off, nil
	}
	if !slices.Contains(Levels(), name) {
		return Off, fmt.Errorf("there is no sandbox level %q; the levels are %s", name, strings.Join(Levels(), ", "))
	}
	return Level(name), nil
}

// lacking holds an error about what this machine lacks. It matches errors.ErrUnsupported without
// showing its text.
type lacking struct{ error }

func (l lacking) Is(target error) bool { return target == errors.ErrUnsupported }

func (l lacking) Unwrap() error { return l.error }
