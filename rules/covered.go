package rules

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// maxLookedAt is how many files Covered compares with patterns.
const maxLookedAt = 20_000

// Covered returns the files and directories that a command does not need to see of which nobody was asked: where programs keep secrets in
// the home directory, and what rules deny or ask to read. Some of them may not exist. readDir lists a directory of this machine. Patterns
// with wildcards are compared with the first 20,000 files of the session's directories, and of the directories that they name. With named,
// files of these whose names are those of secrets are covered as well: a command that the built-in table does not know does not say that it
// reads them.
func (s *Set) Covered(readDir func(dir string) ([]fs.DirEntry, error), named bool) (list []string) {
	if s.dirs.Home != "" {
		for _, name := range slices.Concat(secretPlaces(), secretsAtHome()) {
			list = append(list, path.Join(s.dirs.Home, name))
		}
	}
	l := &looking{dirs: slices.Clone(s.dirs.Roots), left: maxLookedAt, readDir: readDir, matches: func(name string) bool { return named && HoldsSecrets(name) }}
	patterns := false
	for _, r := range slices.Concat(s.of(tool.Deny), s.of(tool.Ask)) {
		switch {
		case r.plain() && kindOf(r.name) == read: // all files
			list = append(list, s.dirs.Roots...)
		case r.kind != read || r.path == nil:
		default:
			name, all := r.path.literal()
			if all {
				list = append(list, name)
				continue
			}
			if !s.insideRoots(name) && name != "/" {
				l.dirs = append(l.dirs, name)
			}
			others := l.matches
			l.matches = func(name string) bool { return others(name) || r.path.matches(name, s.dirs.FoldCase) }
			patterns = true
		}
	}
	if named || patterns {
		list = append(list, l.look()...)
	}
	return list
}

// looking looks for files.
type looking struct {
	dirs, last []string // to be listed; last are those with many files that nobody has written
	left       int      // files to look at
	readDir    func(dir string) ([]fs.DirEntry, error)
	matches    func(name string) bool
}

// look returns the files and directories that match, those near the top first.
func (l *looking) look() (found []string) {
	for len(l.dirs)+len(l.last) > 0 {
		if len(l.dirs) == 0 {
			l.dirs, l.last = l.last, nil
		}
		dir := l.dirs[0]
		l.dirs = l.dirs[1:]
		entries, err := l.readDir(dir)
		if err != nil {
			continue // then commands cannot list it either
		}
		for _, e := range entries {
			if l.left--; l.left < 0 {
				return found
			}
			name := path.Join(dir, e.Name())
			switch {
			case l.matches(name):
				found = append(found, name)
			case !e.IsDir():
			case slices.Contains([]string{".git", "node_modules", "vendor", "target"}, e.Name()):
				l.last = append(l.last, name)
			default:
				l.dirs = append(l.dirs, name)
			}
		}
	}
	return found
}

// literal returns the path in front of the wildcards of a pattern, and reports whether that is all: then the pattern matches it alone, and
// everything in it.
func (p *pathPattern) literal() (name string, all bool) {
	name = path.Join("/", p.base)
	if p.tree {
		return name, true
	}
	rest := strings.TrimPrefix(p.line, "/")
	if rest == p.line && !strings.Contains(rest, "/") {
		return name, false // it matches at any depth
	}
	for elem := range strings.SplitSeq(rest, "/") {
		if strings.ContainsAny(elem, `*?[\`) {
			return name, false
		}
		name = path.Join(name, elem)
	}
	return name, true
}
