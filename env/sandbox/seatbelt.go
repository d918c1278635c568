package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// seatbelt holds what a profile for macOS's sandbox-exec says. Nobody has run it on macOS yet, so no level uses it.
type seatbelt struct {
	write   []string // directories that commands may write in
	protect []string // directories of write in which files that start programs are read-only, whether they exist or not
	hidden  []string // directories that commands may not read, except what is in read and write
	read    []string
	network bool
}

// profile returns the profile. Later rules win.
func (s *seatbelt) profile() string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	rule := func(action, filter string, paths []string) {
		for _, path := range paths {
			fmt.Fprintf(&b, "(%s (%s %s))\n", action, filter, quoteScheme(path))
		}
	}
	rule("deny file-read*", "subpath", s.hidden)
	rule("allow file-read*", "subpath", s.read)
	rule("allow file-read* file-write*", "subpath", s.write)
	rule("allow file-write*", "literal", []string{"/dev/null", "/dev/zero", "/dev/tty"})
	for _, dir := range s.protect {
		for _, name := range env.DefaultProtection().Ask {
			rule("deny file-write*", "subpath", []string{filepath.Join(dir, name)})
		}
		rule("deny file-write*", "literal", []string{filepath.Join(dir, ".git")})
		for _, name := range []string{"hooks", "config", "info", "modules", "worktrees", "commondir"} {
			rule("deny file-write*", "subpath", []string{filepath.Join(dir, ".git", name)})
		}
	}
	if !s.network {
		b.WriteString("(deny network*)\n")
	}
	return b.String()
}

// quoteScheme returns a path as a string of the profile's language.
func quoteScheme(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
