package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// The limits of what patterns of file names are expanded to.
const (
	maxMatches = 500
	maxListed  = 20_000 // entries of directories that are compared
)

// expand returns the words of a command with its patterns replaced by the files that match now, and
// these alone.
func expand(ctx context.Context, e env.Environment, c Command) (words, matched []string, why string) {
	g := &globber{ctx: ctx, env: e, left: maxListed}
	for i, word := range c.Words {
		if !slices.Contains(c.Globs, i) {
			words = append(words, word)
			continue
		}
		matches, why := g.glob(c.Dir, word)
		if why != "" {
			return nil, nil, why
		}
		if len(matches) == 0 {
			matches = []string{word}
		}
		matched = append(matched, matches...)
		if words = append(words, matches...); len(words) > maxMatches {
			return nil, nil, fmt.Sprintf("the pattern %s matches more than %d files", word, maxMatches)
		}
	}
	return words, matched, ""
}

// globber finds the files that match patterns.
type globber struct {
	ctx  context.Context
	env  env.Environment
	left int
}

// glob returns the files that match a pattern, in the form in which the shell writes them.
func (g *globber) glob(dir, pattern string) (found []string, why string) {
	if dir == "" && !path.IsAbs(pattern) {
		return nil, "it is not known in which directory it runs"
	}
	found = []string{""}
	for i, element := range strings.SplitAfter(pattern, "/") {
		name, slash := strings.TrimSuffix(element, "/"), strings.HasSuffix(element, "/")
		if !strings.ContainsAny(name, "*?[") {
			for j := range found {
				found[j] += element
			}
			continue
		}
		var next []string
		for _, before := range found {
			in, _ := absolute(dir, before+".")
			matches, why := g.list(in, strings.ReplaceAll(name, "[!", "[^"), slash)
			if why != "" {
				return nil, why
			}
			for _, m := range matches {
				if slash {
					m += "/"
				}
				next = append(next, before+m)
			}
		}
		if found = next; len(found) > maxMatches || i > 100 {
			return nil, fmt.Sprintf("the pattern %s matches more than %d files", pattern, maxMatches)
		}
	}
	return found, ""
}

// plainFiles returns why the matches of patterns may be others to the shell, or more to a program
// than names of files that it reads. Any of them may come first, and a name can be an option, a
// script or a filter. So a pattern must stand behind these, in a program that reads any number of
// files. What ? and a set of characters match depends on the language as well.
func (m *Machine) plainFiles(program string, c Command, matches []string) string {
	for _, i := range c.Globs {
		if strings.ContainsAny(c.Words[i], "?[") {
			return "it depends on the language what the pattern " + c.Words[i] + " matches: use only *"
		}
	}
	for _, name := range []string{"GLOBIGNORE", "BASHOPTS", "SHELLOPTS"} {
		if m.variable(name) != "" {
			return "the variable " + name + " may change which files a pattern matches"
		}
	}
	if foreignLocale(m.Vars) != "" {
		return "it depends on the locale what a pattern matches"
	}
	if program == "echo" {
		return ""
	}
	s, ok := specOf(program)
	p, why := s.parse(c.Words[1:c.Globs[0]])
	if !ok || why != "" || s.single || s.kind == text || s.max != math.MaxInt || s.first &&
		len(p.operands)+len(p.values(s.other)) == 0 {
		return "a pattern may stand for more than names of files that " + program + " reads: quote it if it is no " +
			"pattern of files, or write it behind all options and other arguments"
	}
	for _, name := range matches {
		if len(name) > 1 && strings.IndexByte("-+@", name[0]) >= 0 {
			return fmt.Sprintf("a pattern matches %s, which may be no file to %s: write ./ in front of the pattern",
				name, program)
		}
	}
	return ""
}

// isDir reports whether a name may be that of a directory.
func (g *globber) isDir(name string) bool {
	info, err := g.env.Stat(g.ctx, name)
	return err == nil && info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// list returns the names in a directory that match, or only those of directories.
func (g *globber) list(dir, pattern string, onlyDirs bool) (names []string, why string) {
	entries, err := g.env.ReadDir(g.ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "it is not known what matches in " + dir
	}
	if g.left -= len(entries); g.left < 0 {
		return nil, fmt.Sprintf("patterns of file names are compared with at most %d files", maxListed)
	}
	all := []string{".", ".."}
	for _, entry := range entries {
		all = append(all, entry.Name)
	}
	for _, name := range all {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
			continue
		}
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, "the pattern " + pattern + " is not known here"
		}
		if ok && (!onlyDirs || g.isDir(dir+"/"+name)) {
			names = append(names, name)
		}
	}
	return names, ""
}
