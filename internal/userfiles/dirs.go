package userfiles

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// StateDir returns the user's directory for the state of programs: $XDG_STATE_HOME, else
// ~/.local/state.
func StateDir(getenv func(string) string) (string, error) {
	return xdgDir(getenv, "XDG_STATE_HOME", ".local", "state")
}

// DataDir returns the user's directory for the data of programs: $XDG_DATA_HOME, else
// ~/.local/share.
func DataDir(getenv func(string) string) (string, error) {
	return xdgDir(getenv, "XDG_DATA_HOME", ".local", "share")
}

// ConfigDir returns the directory of the user's configuration: $XDG_CONFIG_HOME/attractor, else
// ~/.config/attractor.
func ConfigDir(getenv func(string) string) (string, error) {
	dir, err := xdgDir(getenv, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "attractor"), err
}

// xdgDir returns the directory that a variable of the XDG specification names, else one in the home
// directory.
func xdgDir(getenv func(string) string, variable string, below ...string) (string, error) {
	if dir := getenv(variable); filepath.IsAbs(dir) { // the specification requires an absolute path
		return dir, nil
	}
	home := HomeDir(getenv)
	if home == "" {
		return "", errors.New("set " + variable + " or HOME")
	}
	return filepath.Join(append([]string{home}, below...)...), nil
}

// HomeDir returns the user's home directory, or "" if no variable names it.
func HomeDir(getenv func(string) string) string { return cmp.Or(getenv("HOME"), getenv("USERPROFILE")) }

// ClaudeDir returns the user's directory for Claude Code: $CLAUDE_CONFIG_DIR, else ~/.claude. It
// returns "" without a home directory.
func ClaudeDir(getenv func(string) string) string {
	return vendorDir(getenv, "CLAUDE_CONFIG_DIR", ".claude")
}

// ClaudeSettings returns the file of the user's settings for Claude Code, or "" without a home
// directory.
func ClaudeSettings(getenv func(string) string) string {
	if dir := ClaudeDir(getenv); dir != "" {
		return filepath.Join(dir, "settings.json")
	}
	return ""
}

// CodexDir returns the user's directory for codex: $CODEX_HOME, else ~/.codex. It returns ""
// without a home directory.
func CodexDir(getenv func(string) string) string { return vendorDir(getenv, "CODEX_HOME", ".codex") }

// vendorDir returns the absolute path that a variable names, else a directory in the home
// directory, or "". A relative path does not count: files of a project would pass as the
// user's.
func vendorDir(getenv func(string) string, variable, below string) string {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	if home := HomeDir(getenv); filepath.IsAbs(home) {
		return filepath.Join(home, below)
	}
	return ""
}

// Dirs returns the user's directories for places of a project, such as .claude/commands.
func Dirs(places []string, getenv func(string) string) (dirs []string) {
	home := HomeDir(getenv)
	for _, place := range places {
		below, claudes := strings.CutPrefix(place, ".claude/")
		switch dir := ClaudeDir(getenv); {
		case claudes && dir != "":
			dirs = append(dirs, filepath.Join(dir, below))
		case !claudes && home != "":
			dirs = append(dirs, filepath.Join(home, filepath.FromSlash(place)))
		}
	}
	return dirs
}

// RealPath returns a path without symbolic links, or as it is if it does not exist.
func RealPath(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return filepath.Clean(name)
}

// Slashed returns names with slashes.
func Slashed(names []string) (all []string) {
	for _, name := range names {
		all = append(all, filepath.ToSlash(name))
	}
	return all
}

// SameFile reports whether two names lead to the same file.
func SameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
