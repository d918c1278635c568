package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// place is a file as it was named, and where the name leads.
type place struct {
	named    string // absolute; it may have .. after a link
	real     string // without links
	known    bool   // real is set
	resolved bool   // real was looked up
}

// name returns the name without .. and the like.
func (p *place) name() string { return path.Clean(p.named) }

// absolute returns the absolute form of a name in the working directory or, with ~, in the home
// directory.
func absolute(dirs *Dirs, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && dirs.Home != "" {
		return path.Join(dirs.Home, rest)
	}
	if !path.IsAbs(name) {
		name = dirs.Work + "/" + name
	}
	return path.Clean(name)
}

// resolve looks up where a name leads, once. It reports whether that is known.
func (c *call) resolve(p *place) bool {
	if p.resolved {
		return p.known
	}
	p.resolved = true
	if c.ctx.Err() != nil {
		return false
	}
	real, err := env.Resolve(c.ctx, c.env, p.named)
	if err != nil && c.dirs.Resolve != nil {
		real, err = c.dirs.Resolve(p.named)
	}
	p.real, p.known = real, err == nil
	return p.known
}

// holdsSecrets reports whether a file usually holds secrets, by its name or by where that leads.
func (c *call) holdsSecrets(p *place) bool {
	return HoldsSecrets(p.name()) || c.resolve(p) && HoldsSecrets(p.real)
}

// within reports whether a file is really in one of the session's directories.
func (c *call) within(p *place) bool {
	if p.named == "/dev/null" {
		return true
	}
	if !c.resolve(p) {
		return false
	}
	return c.insideRoots(p.real)
}

func (s *Set) insideRoots(name string) bool {
	for _, root := range s.roots {
		if inside(root, name) {
			return true
		}
	}
	return false
}

// personal reports whether a file may be one of the user's own rather than of the project. It
// counts the session's directories only if they are neither the root nor contain the home
// directory. Outside of them only the home directory's visible files are ordinary: hidden ones
// start programs and configure them, and so do files outside of the home directory. The name has no
// links.
func (s *Set) personal(name string) bool {
	var homes []string
	if s.dirs.Home != "" {
		homes = append(homes, path.Clean(s.dirs.Home), s.real(s.dirs.Home))
	}
	homes = slices.DeleteFunc(homes, func(home string) bool { return home == "/" }) // of a user without one
	contains := func(dir string) bool {
		return dir == "/" || slices.ContainsFunc(homes, func(home string) bool { return inside(dir, home) })
	}
	if slices.ContainsFunc(s.roots, func(root string) bool { return inside(root, name) && !contains(root) }) {
		return false
	}
	for _, home := range homes {
		if !inside(home, name) {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(name[len(home):], "/"), "/")
		return strings.HasPrefix(first, ".") || slices.Contains([]string{"bin", "library", "appdata"},
			strings.ToLower(first))
	}
	return true
}

// below returns a path as seen from the session's directory that it is in, because the names of the
// directories above mean nothing.
func (s *Set) below(name string) string {
	for _, root := range s.roots {
		if inside(root, name) {
			return name[len(strings.TrimSuffix(root, "/")):]
		}
	}
	return name
}
