package rules

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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

// maxLinks is the number of links to files that do not exist which a name may go through.
const maxLinks = 40

// RealPath returns an absolute path of this machine without symbolic links. The last elements need
// not exist. It suits [Dirs].Resolve.
func RealPath(name string) (string, error) { return realPath(name, maxLinks) }

// realPath does what RealPath does. left counts the links and missing elements that may still
// follow.
func realPath(name string, left int) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || left == 0 {
		return filepath.ToSlash(real), err
	}
	if to, linkErr := os.Readlink(name); linkErr == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Dir(name) + "/" + to
		}
		return realPath(to, left-1)
	}
	dir, base := filepath.Split(name)
	if dir == "" || dir == name || base == ".." || base == "." || base == "" {
		return "", err
	}
	if dir = strings.TrimRight(dir, "/"); dir == "" {
		dir = "/"
	}
	if real, err = realPath(dir, left-1); err != nil {
		return "", err
	}
	return strings.TrimSuffix(real, "/") + "/" + base, nil
}

// looked holds where names lead that were looked up already, so that thousands of names take about
// one system call each.
type looked struct {
	resolve func(name string) string
	known   map[string]string
	missing map[string]bool
}

// far returns where a name leads on another machine.
func (l looked) far(name string) string {
	to, ok := l.known[name]
	if !ok {
		to = l.resolve(name)
		l.known[name] = to
	}
	return to
}

// here returns where a clean name leads on this machine.
func (l looked) here(name string) string {
	to, ok := l.known[name]
	if ok {
		return to
	}
	dir := path.Dir(name)
	above := l.here(dir)
	to = path.Join(above, path.Base(name))
	if l.missing[name] = l.missing[dir]; !l.missing[dir] {
		info, err := os.Lstat(to)
		if l.missing[name] = err != nil; err == nil && info.Mode()&fs.ModeSymlink != 0 {
			to = l.resolve(to)
		}
	}
	l.known[name] = to
	return to
}
