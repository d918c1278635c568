package rules

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

const (
	// maxLookedAt is how many files Covered compares with patterns.
	maxLookedAt = 20_000
	// maxCompared limits the work of those comparisons, in files times elements of patterns: some
	// seconds. All files with 100 patterns of three elements have 6,000,000.
	maxCompared = 10_000_000
)

// Covered returns the files and directories that a command does not need to see of which nobody was
// asked: where programs keep secrets in the home directory, files of the session's directories
// whose names are those of secrets, and what rules deny or ask to read. Some of them may not exist.
// Names, and patterns with wildcards, are compared with the first 20,000 files of the session's
// directories, and patterns with those of the directories that they name. Where patterns are so
// many that this would take long, the rest of the directories is covered as a whole. The judgement
// of a text may be wrong, so this does not depend on it.
func (s *Set) Covered() (list []string) {
	list = s.secretsOfHome()
	l := &looking{dirs: slices.Clone(s.dirs.Roots), left: maxLookedAt, work: maxCompared, on: s.dirs.Local,
		seen: &s.seen, matches: func(name string, _ fs.DirEntry) bool { return HoldsSecrets(name) }}
	for _, r := range s.restricting {
		switch {
		case r.plain() && kindOf(r.name) == read: // all files
			list = append(list, s.dirs.Roots...)
		case r.kind != read || r.path == nil:
		default:
			list = append(list, l.add(s, r.path)...)
			if r.real != nil { // where its name leads, which has no links on the way
				list = append(list, l.add(s, r.real)...)
			}
		}
	}
	if len(s.dirs.Copies) > 0 { // the links may not be among the copies
		list = append(list, s.linkedSecrets(s.namedLinks())...)
	}
	return append(list, l.look()...)
}

// add adds what a pattern matches, and returns the file or directory that it names, if it has no
// wildcards.
func (l *looking) add(s *Set, p *pathPattern) (named []string) {
	name, rest := p.split()
	if rest == "" {
		return append(s.dirs.copied(name), name)
	}
	if !s.insideRoots(name) && name != "/" {
		l.dirs = append(l.dirs, name)
	}
	l.elems += 1 + strings.Count(p.line, "/")
	others := l.matches
	l.matches = func(name string, e fs.DirEntry) bool {
		return others(name, e) || p.matches(name, true) || slices.ContainsFunc(s.dirs.originals(name),
			func(name string) bool { return p.matches(name, true) })
	}
	return nil
}

// secretsOfHome returns the files and directories of the home directory that hold secrets.
func (s *Set) secretsOfHome() (list []string) {
	if s.dirs.Home == "" {
		return nil
	}
	for _, name := range slices.Concat(secretPlaces(), secretsAtHome()) {
		list = append(list, path.Join(s.dirs.Home, name))
	}
	return list
}

// namedLinks returns the links among the first 20,000 files of the session's directories whose
// names are those of secrets, or of files that may start something.
func (s *Set) namedLinks() []string {
	l := &looking{dirs: slices.Clone(s.dirs.Roots), left: maxLookedAt, on: s.dirs.Local, seen: &s.seenLinks,
		matches: func(name string, e fs.DirEntry) bool {
			return e.Type()&fs.ModeSymlink != 0 && (HoldsSecrets(name) || s.mayStart(name))
		}}
	for _, c := range s.dirs.Copies {
		l.dirs = append(l.dirs, c.Of)
	}
	return l.look()
}

// linkedSecrets returns where links lead that have the names of secrets: in the home directory as
// it was when the rules were read, and among the links with names that count.
func (s *Set) linkedSecrets(links []string) []string {
	list := slices.Clip(s.homeSecrets)
	for _, name := range links {
		if HoldsSecrets(name) {
			list = append(list, s.real(name))
		}
	}
	for _, name := range slices.Clip(list) {
		list = append(list, s.dirs.copied(name)...)
	}
	return list
}

// Secret returns why a file usually holds secrets, or "": by its name and where that leads, and
// because a link with the name of a secret leads to it, in the home directory or among the first
// 20,000 files of the session's directories.
func (s *Set) Secret(file string) string {
	real := s.real(file)
	for _, name := range []string{file, real} {
		if d, ok := secretFile(name); ok {
			return d.why
		}
	}
	d, _ := linkedSecret(s.linkedSecrets(s.namedLinks()), real)
	return d.why
}

// linkedSecret says why a file asks that is what a link with the name of a secret leads to, if it
// is.
func (c *call) linkedSecret(real string) (d delicate, ok bool) {
	return linkedSecret(c.secretLinks(), real)
}

// linkedSecret is that of a call, with where the links lead.
func linkedSecret(links []string, real string) (d delicate, ok bool) {
	base := strings.ToLower(path.Base(real))
	for _, to := range links {
		if perhapsInside(to, real) && !exampleName(base) {
			return delicate{base, base, "a link to it has the name of a file that usually holds secrets"}, true
		}
	}
	return d, false
}

// looking looks for files.
type looking struct {
	dirs, last []string // to be listed; last are those with many files that nobody has written
	left       int      // files to look at
	elems      int      // of the patterns
	work       int      // what is left of maxCompared
	on         Directories
	seen       *seen
	matches    func(name string, e fs.DirEntry) bool
}

// seen holds what was found in directories.
type seen struct {
	mu   sync.Mutex
	dirs map[string]*listing
}

// listing is what was found in a directory.
type listing struct {
	state         any
	entries       int
	matches, dirs []string
}

// look returns the files and directories that match, those near the top first.
func (l *looking) look() (found []string) {
	if l.on == nil {
		return nil
	}
	l.seen.mu.Lock()
	defer l.seen.mu.Unlock()
	now := map[string]*listing{}
	defer func() { l.seen.dirs = now }() // what is not there any more is forgotten
	for len(l.dirs)+len(l.last) > 0 {
		if len(l.dirs) == 0 {
			l.dirs, l.last = l.last, nil
		}
		dir := l.dirs[0]
		l.dirs = l.dirs[1:]
		if now[dir] != nil {
			continue // it lies below another one
		}
		in := l.list(dir)
		if l.work < 0 {
			return append(append(append(found, dir), l.dirs...), l.last...)
		}
		if l.left -= in.entries * weight(dir); l.left < 0 {
			return found
		}
		now[dir] = in
		found = append(found, in.matches...)
		for _, name := range in.dirs {
			if slices.Contains([]string{".git", "node_modules", "vendor", "target"}, path.Base(name)) {
				l.last = append(l.last, name)
			} else {
				l.dirs = append(l.dirs, name)
			}
		}
	}
	return found
}

// list returns what is in a directory, from memory if it has not changed.
func (l *looking) list(dir string) *listing {
	state, known := l.on.State(dir)
	if old := l.seen.dirs[dir]; known && old != nil && old.state == state {
		return old
	}
	in := &listing{}
	if known {
		in.state = state
	}
	entries, err := l.on.ReadDir(dir)
	if err != nil {
		return in // then commands cannot list it either
	}
	in.entries = len(entries)
	if l.work -= len(entries) * weight(dir) * l.elems; l.work < 0 {
		return in
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case l.matches(name, e):
			in.matches = append(in.matches, name)
		case e.IsDir():
			in.dirs = append(in.dirs, name)
		}
	}
	return in
}
