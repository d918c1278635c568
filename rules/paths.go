package rules

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/search"
)

// pathPattern holds a pattern for files, as in .gitignore.
type pathPattern struct {
	base       string // the directory in which it matches; "" for the root of the file system
	foldedBase string // base, folded
	tree       bool   // matches base and everything in it
	line       string // the pattern below base, as in .gitignore
	lines      search.Pattern
	folded     search.Pattern // the same, folded
	elems      []string       // of the pattern as written
}

// maxElems is the most elements of a pattern, where several ** in a row count as one. With it the
// time for a path is in proportion to the path.
const maxElems = 64

// parsePath reads a pattern. dir is the directory of the file with the rule.
func parsePath(text, dir string, dirs *Dirs) (p pathPattern, err error) {
	p.elems = strings.Split(text, "/")
	line := text
	switch {
	case text == "":
		return p, errors.New("it is empty; the name of the tool alone matches every file")
	case strings.ContainsAny(text, "\x00\n\r"):
		return p, errors.New("it contains a control character")
	case strings.HasPrefix(text, "!"):
		return p, errors.New("it begins with !; exceptions are not possible, because a deny rule always wins")
	case strings.HasPrefix(text, "//"):
		line = text[1:]
	case text == "~", strings.HasPrefix(text, "~/"):
		if dirs.Home == "" {
			return p, errors.New("it begins with ~, but there is no home directory; begin it with // for an " +
				"absolute path")
		}
		p.base, line = dirs.Home, "/"+strings.TrimPrefix(text[1:], "/")
	case strings.HasPrefix(text, "/"):
		if p.base = dir; dir == "" {
			p.base = dirs.Work
		}
	default:
		p.base, line = fromWork(text, dirs.Work)
	}
	p.base = strings.TrimSuffix(path.Clean("/"+p.base), "/")
	p.foldedBase = texts.FoldedPath(p.base)
	if prefix, ok := strings.CutSuffix(line, "/**"); ok { // also the directory itself
		line = prefix
		if !strings.HasPrefix(line, "/") {
			line = "/" + line
		}
	}
	if line == "/" || line == "" || line == "/**" || line == "//**" {
		p.tree = true
		return p, nil
	}
	p.line = line
	return p, p.compile(line)
}

// fromWork returns the directory and the line for a pattern that starts at the working directory
// or, with .., above it.
func fromWork(text, work string) (base, line string) {
	anchored := strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || text == "." || text == ".."
	for base = work; anchored; {
		elem, rest, more := strings.Cut(text, "/")
		if elem == ".." {
			base = path.Dir(base)
		} else if elem != "." {
			break
		}
		if text = rest; !more {
			break
		}
	}
	switch {
	case anchored:
		return base, "/" + text
	case strings.HasPrefix(text, "#"):
		return base, `\` + text
	}
	return base, text
}

func (p *pathPattern) compile(line string) error {
	n, last := 0, ""
	for elem := range strings.SplitSeq(line, "/") {
		if elem != "**" || last != "**" {
			n++
		}
		last = elem
	}
	if n > maxElems {
		return fmt.Errorf("it has more than %d elements", maxElems)
	}
	var ok1, ok2 bool
	p.lines, ok1 = search.NewPattern(line)
	p.folded, ok2 = search.NewPattern(texts.FoldedPath(line))
	if !ok1 || !ok2 {
		return errors.New("it can match nothing; a [ needs its ], and a backslash needs the character after it")
	}
	return nil
}

// matches reports whether the pattern matches a path or a directory above it. With fold it also
// matches other names by which some file system finds the same file, such as those in another case.
func (p *pathPattern) matches(name string, fold bool) bool {
	return p.matchesIn(p.base, name, p.lines) || fold && p.matchesIn(p.foldedBase, texts.FoldedPath(name), p.folded)
}

func (p *pathPattern) matchesIn(base, name string, lines search.Pattern) bool {
	if !inside(base+"/", name+"/") {
		return false
	}
	return p.tree || len(name) > len(base)+1 && lines.Covers(name[len(base)+1:])
}

// split returns the path in front of the wildcards of a pattern, and the line behind it. Without
// such a line the pattern matches the path alone, and everything in it.
func (p *pathPattern) split() (name, rest string) {
	name = path.Join("/", p.base)
	rest = strings.TrimPrefix(p.line, "/")
	if rest == p.line && !strings.Contains(rest, "/") {
		return name, rest // it matches at any depth
	}
	for rest != "" {
		elem, more, _ := strings.Cut(rest, "/")
		if strings.ContainsAny(elem, `*?[\`) {
			return name, "/" + rest
		}
		name, rest = path.Join(name, elem), more
	}
	return name, ""
}

// resolved returns the pattern for where its name leads, or nil if it has no links. Of a machine
// that is not this one, to which each question takes time, only base is resolved.
func (p *pathPattern) resolved(l looked, here bool) *pathPattern {
	name, rest := path.Join("/", p.base), p.line
	real := l.far
	if here {
		name, rest = p.split()
		real = l.here
	}
	to := real(name)
	if to == name {
		return nil
	}
	base := strings.TrimSuffix(to, "/")
	r := &pathPattern{base: base, foldedBase: texts.FoldedPath(base), tree: rest == "", line: rest}
	if !r.tree && r.compile(rest) != nil {
		return nil // a part of a pattern is one
	}
	return r
}

// names reports whether the pattern was written for files like one of the table: it names them, and
// does not just match them among others.
func (p *pathPattern) names(d delicate) bool {
	for _, elem := range p.elems {
		if elem == "" || strings.IndexByte("*?[", elem[0]) >= 0 && !strings.HasPrefix(d.entry, "*") {
			continue
		}
		if strings.Trim(elem, "*") != "" && starred(strings.ToLower(elem)).match(d.elem) {
			return true
		}
	}
	return false
}
