package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// plan holds what commands see of the roots and how: mounts, and protected files on top of them.
type plan struct {
	readOnly bool     // nothing in the roots is writable
	private  string   // the sandbox's own directory, which no mount may show
	homes    []string // the home directory under all its names, which no mount may show either
	roots    []root
	mounts   []mount
	links    [][2]string // symbolic links, by which roots have the names that the host gave them
	files    []placeholder
	git      []started
	gitDirs  []string // directories of repositories in which commands can write
	frozen   []string // nested repositories that are read-only, because they cannot be protected otherwise
}

// root is a directory that the host named.
type root struct {
	given, path string
	readOnly    bool
	info        fs.FileInfo
}

// mount is a directory or file that commands see.
type mount struct {
	path     string
	source   string // what they see there; empty means what is there outside
	readOnly bool
}

// newPlan returns the plan for a working directory and the other roots.
func newPlan(dir string, o *Options, private string) (*plan, error) {
	p := &plan{readOnly: o.Level == ReadOnly, private: private, homes: homesOf(o.Environ)}
	if err := p.addRoots(dir, o); err != nil {
		return nil, err
	}
	for _, r := range p.roots {
		p.add(mount{path: r.path, readOnly: r.readOnly})
	}
	for _, r := range p.roots {
		if !r.readOnly {
			p.repositories(o, r.path)
			p.root(r.path)
			newWalk(p, o, r.path).nested()
		}
	}
	for _, name := range o.Protect {
		if p.inside(name) != nil && p.inside(filepath.Dir(name)) != nil {
			p.protectBelow(name, false)
		}
	}
	p.scripts(o) // last, because what lies in a protected directory is protected
	return p, nil
}

// finish completes the plan when all mounts are in it.
func (p *plan) finish() error {
	if err := errors.Join(p.pin(), p.link()); err != nil {
		return err
	}
	slices.SortFunc(p.mounts, func(a, b mount) int { return comparePaths(a.path, b.path) })
	slices.SortFunc(p.files, func(a, b placeholder) int { return comparePaths(a.path, b.path) })
	return nil
}

// comparePaths orders directories before what is in them.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// addRoots adds the working directory and the other roots.
func (p *plan) addRoots(dir string, o *Options) error {
	for i, given := range slices.Concat([]string{dir}, o.Roots, o.ReadOnly) {
		if err := p.addRoot(given, i > len(o.Roots)); err != nil {
			return err
		}
	}
	return nil
}

// addRoot adds a root with the path that it really has.
func (p *plan) addRoot(given string, readOnly bool) error {
	given, err := filepath.Abs(given)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", given)
	}
	if why := p.unfit(real); why != "" {
		return lacking{fmt.Errorf("commands in a sandbox cannot work in %s, because %s", given, why)}
	}
	if i := slices.IndexFunc(p.roots, func(r root) bool { return os.SameFile(r.info, info) }); i >= 0 {
		p.roots[i].readOnly = p.roots[i].readOnly || readOnly
	} else {
		p.roots = append(p.roots, root{given, real, readOnly, info})
	}
	if given != real {
		p.links = append(p.links, [2]string{given, real})
	}
	return nil
}

// unfit says why a directory cannot be a root, and what to do, or returns "".
func (p *plan) unfit(dir string) string {
	const inside = "; choose a directory in it"
	for _, system := range []string{"/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/run", "/sbin", "/usr",
		"/var"} {
		if dir == system {
			return "it belongs to the system" + inside
		}
	}
	switch {
	case below(dir, "/proc") || below(dir, "/sys"):
		return "it belongs to the kernel" + inside
	case below(p.private, dir):
		return "it contains the sandbox's own files; set TMPDIR to a directory outside of it (it is " +
			filepath.Dir(p.private) + " now)"
	case p.hidden(dir):
		return "it contains the home directory, which the sandbox hides" + inside
	}
	return ""
}

// hidden reports whether a directory contains one that no mount may show.
func (p *plan) hidden(dir string) bool {
	return below(p.private, dir) || slices.ContainsFunc(p.homes, func(home string) bool { return below(home, dir) })
}

// inside returns the innermost root that contains a path, or nil.
func (p *plan) inside(name string) *root {
	var in *root
	for i, r := range p.roots {
		if below(name, r.path) && (in == nil || len(r.path) > len(in.path)) {
			in = &p.roots[i]
		}
	}
	return in
}

// add adds a mount, unless there is one at the path or the roots say otherwise.
func (p *plan) add(m mount) {
	if slices.ContainsFunc(p.mounts, func(o mount) bool { return o.path == m.path }) {
		return
	}
	if r := p.inside(m.path); p.readOnly || r != nil && r.readOnly {
		m.readOnly = true
	}
	p.mounts = append(p.mounts, m)
}

// protect makes a file read-only, whether it exists or not.
func (p *plan) protect(f placeholder) {
	if p.readOnly || slices.ContainsFunc(p.files, func(o placeholder) bool { return o.path == f.path }) {
		return
	}
	p.files = append(p.files, f)
}

// root protects the files directly in a writable root that start programs outside. Without a
// repository of its own, the root could become one.
func (p *plan) root(dir string) {
	for _, name := range env.DefaultProtection().Ask {
		p.protect(placeholder{path: filepath.Join(dir, name)})
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git", "HEAD")); err != nil {
		p.protect(placeholder{path: filepath.Join(dir, ".git")})
	}
	p.shield(dir)
}

// pin makes a mount of each directory between a writable mount and a mount or protected file inside
// it. Otherwise commands could rename the directory, with the mount, and put another one or a link
// in its place, where bubblewrap would make the mounts of the next command.
func (p *plan) pin() error {
	var inner []string
	for _, m := range p.mounts {
		inner = append(inner, filepath.Dir(m.path))
	}
	for _, f := range p.files {
		inner = append(inner, filepath.Dir(f.path))
	}
	for _, link := range p.links {
		inner = append(inner, filepath.Dir(link[0]))
	}
	slices.Sort(inner)
	for _, dir := range slices.Compact(inner) {
		for ; dir != "/" && !slices.ContainsFunc(p.mounts,
			func(m mount) bool { return m.path == dir }); dir = filepath.Dir(dir) {
			in := p.innermost(dir)
			if in == nil || in.readOnly || p.covered(dir, in) {
				break
			}
			m := mount{path: dir}
			if in.source != "" {
				m.source = filepath.Join(in.source, strings.TrimPrefix(dir, in.path))
				if err := mkdirInside(in.source, m.source); err != nil {
					return fmt.Errorf("%s: %w", dir, err)
				}
			}
			p.mounts = append(p.mounts, m)
		}
	}
	return nil
}

// mkdirInside makes a directory below another one, in which commands of earlier sessions may have
// put links. It follows none.
func mkdirInside(top, dir string) (err error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	at := ""
	for elem := range strings.SplitSeq(strings.TrimPrefix(dir[len(top):], "/"), "/") {
		at = filepath.Join(at, elem)
		if err := root.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := root.Lstat(at); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf(
				"a command has put something else at the place of the directory %s: remove it", filepath.Join(top, at)),
				err)
		}
	}
	return nil
}

// link makes the links that are in private directories. Bubblewrap makes the others for each
// command.
func (p *plan) link() error {
	var others [][2]string
	for _, link := range p.links {
		switch in := p.innermost(link[0]); {
		case in == nil:
			others = append(others, link)
		case in.source != "":
			if err := os.Symlink(link[1], filepath.Join(in.source, strings.TrimPrefix(link[0], in.path))); err != nil {
				return err
			}
		} // a root shows its own links
	}
	p.links = others
	return nil
}

// innermost returns the innermost mount that shows a path, or nil.
func (p *plan) innermost(name string) *mount {
	var in *mount
	for i, m := range p.mounts {
		if below(name, m.path) && (in == nil || len(m.path) > len(in.path)) {
			in = &p.mounts[i]
		}
	}
	return in
}

// shows reports whether commands see a path as it is outside, because of the plan.
func (p *plan) shows(name string) bool {
	in := p.innermost(name)
	return in != nil && in.source == ""
}

// check returns an error if a root is no longer the directory that it was.
func (p *plan) check() error {
	for _, r := range p.roots {
		info, err := os.Lstat(r.path)
		if err != nil {
			return err
		}
		if !os.SameFile(info, r.info) {
			return fmt.Errorf("%s has been replaced since the sandbox was made", r.path)
		}
	}
	return nil
}

// protection returns what the file tools must refuse as well.
func (p *plan) protection() env.Protection {
	var dirs []string
	for _, r := range p.roots {
		if !r.readOnly {
			dirs = append(dirs, r.path)
		}
	}
	all := protect(dirs)
	for _, f := range p.files {
		if !slices.Contains(all.Refuse, f.path) && !strings.Contains(f.path, "/.git/") {
			all.Refuse = append(all.Refuse, f.path)
		}
	}
	return all
}
