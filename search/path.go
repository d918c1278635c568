package search

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// absolute is name as an absolute slash-separated path in the environment, without . and .. elements. A ~ in front stays there, so
// that the environment can say that it means nothing.
func absolute(e env.Environment, name string) string {
	if path.IsAbs(name) || filepath.IsAbs(name) || isHome(name) { // the second for drive letters on Windows
		return path.Clean(name)
	}
	return path.Join(e.WorkDir(), name)
}

// below returns abs relative to dir, and whether it is dir ("") or inside it.
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

// shown is how results name a file.
func shown(workDir, abs string) string {
	if rel, ok := below(workDir, abs); ok && rel != "" {
		return rel
	}
	return abs
}

func isHome(name string) bool { return name == "~" || strings.HasPrefix(name, "~/") }
