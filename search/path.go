package search

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// absolute returns name as an absolute slash-separated path in the environment, without . and ..
// elements. It keeps a ~ in front, which the environment rejects.
func absolute(e env.Environment, name string) string {
	if path.IsAbs(name) || filepath.IsAbs(name) || isHome(name) { // the second for drive letters on Windows
		return path.Clean(name)
	}
	return path.Join(e.WorkDir(), name)
}

// below returns abs relative to dir, "" for dir itself, and whether it is dir or inside it.
func below(dir, abs string) (string, bool) {
	rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(dir, "/"))
	switch {
	case !ok:
		return "", false
	case rest == "" || rest == "/":
		return "", true
	case rest[0] != '/':
		return "", false
	}
	return rest[1:], true
}

// shown returns the path of a file for results: relative to the working directory if the file is
// inside it.
func shown(workDir, abs string) string {
	if rel, ok := below(workDir, abs); ok && rel != "" {
		return rel
	}
	return abs
}

// shownDir returns the path of a directory for results, which ends in a slash unless it is empty.
// So does prefix.
func shownDir(workDir, prefix string) string {
	if rel, ok := below(workDir, prefix); ok {
		return rel
	}
	return prefix
}

func isHome(name string) bool { return name == "~" || strings.HasPrefix(name, "~/") }
