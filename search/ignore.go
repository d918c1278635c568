package search

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// What is read of a .gitignore: bytes, and rules, each of which is compared with each name.
const (
	maxIgnoreFile  = 1 << 20
	maxIgnoreRules = 5000
)

// rule holds one line of a .gitignore.
type rule struct {
	pattern  ignorePattern
	negated  bool
	dirOnly  bool
	anywhere bool // no slash: it matches the last path element at any depth
}

// parseRules parses a .gitignore as git does.
func parseRules(text string) []rule {
	var rules []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = trimTrailingSpaces(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		var r rule
		line, r.negated = strings.CutPrefix(line, "!")
		line, r.dirOnly = strings.CutSuffix(line, "/")
		if line == "" {
			continue
		}
		r.anywhere = !strings.Contains(line, "/")
		r.pattern = parseIgnorePattern(strings.TrimPrefix(line, "/"))
		if rules = append(rules, r); len(rules) == maxIgnoreRules {
			break
		}
	}
	return rules
}

// trimTrailingSpaces removes the spaces at the end of a line that no backslash protects.
func trimTrailingSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
			end = min(i+1, len(line))
		case ' ':
		default:
			end = i + 1
		}
	}
	return line[:end]
}

// match reports whether the rule matches a file, given its directory's path from that of the rule.
func (r *rule) match(rel, name string, isDir bool) bool {
	switch {
	case r.dirOnly && !isDir:
		return false
	case r.anywhere:
		return r.pattern[0].match(name)
	case len(r.pattern) == 1 && !r.pattern[0].double: // it has no more elements than a path in the rule's own directory
		return rel == "" && r.pattern[0].match(name)
	}
	return r.pattern.match(rel + name)
}

// Rules holds the rules of the .gitignore files that apply to the files of a directory. The zero
// value excludes nothing.
type Rules struct{ nearest *dirRules }

// dirRules holds the rules of a directory, which take precedence over those of the directories
// above it.
type dirRules struct {
	dir   string // absolute, or "" for the root of the file system
	rules []rule
	above *dirRules
}

// NewRules returns the rules of a single pattern, as if it were the only line of a .gitignore in a
// directory. dir is absolute, or empty for the root of the file system. ok is false if the pattern
// can match nothing.
func NewRules(dir, pattern string) (r Rules, ok bool) {
	p, ok := NewPattern(pattern)
	if !ok {
		return Rules{}, false
	}
	return Rules{}.with(dir, []rule{p.rule}), true
}

// with returns rules of which some take precedence over the others.
func (r Rules) with(dir string, rules []rule) Rules {
	if len(rules) == 0 {
		return r
	}
	return Rules{&dirRules{dir: strings.TrimSuffix(dir, "/"), rules: rules, above: r.nearest}}
}

// Exclude reports whether a file is excluded, given its directory's absolute path with a slash at
// the end. The last matching rule of the nearest directory decides. It does not check the
// directories above the file, because a walk enters none that is excluded.
func (r Rules) Exclude(dir, name string, isDir bool) bool {
	for l := r.nearest; l != nil; l = l.above {
		rel := dir[len(l.dir)+1:]
		for i := len(l.rules) - 1; i >= 0; i-- {
			if l.rules[i].match(rel, name, isDir) {
				return !l.rules[i].negated
			}
		}
	}
	return false
}

// RulesAbove returns the rules of the directories above dir, given its absolute path: from the top
// of its repository down to dir's parent or, without a repository, from the working directory down.
// Directories that cannot be read have no rules.
func RulesAbove(ctx context.Context, e env.Environment, dir string) (Rules, error) {
	var above []string // dir's parents, nearest first
	inRepository := false
	for d := path.Dir(dir); !inRepository && d != path.Dir(d); d = path.Dir(d) {
		above = append(above, d)
		inRepository = isGitRoot(ctx, e, d)
	}
	var all Rules
	for i := len(above) - 1; i >= 0; i-- {
		if _, ok := below(e.WorkDir(), above[i]); !ok && !inRepository {
			continue
		}
		var err error
		if all, err = all.Enter(ctx, e, above[i], inRepository && i == len(above)-1); err != nil {
			return Rules{}, err
		}
	}
	return all, nil
}

// Enter returns the rules for the files of a directory below, given its absolute path. The top of a
// repository has only its own rules and those of .git/info/exclude.
func (r Rules) Enter(ctx context.Context, e env.Environment, dir string, top bool) (Rules, error) {
	if top {
		exclude, err := readRules(ctx, e, path.Join(dir, ".git/info/exclude"))
		if err != nil {
			return Rules{}, err
		}
		r = Rules{}.with(dir, exclude)
	}
	rules, err := readRules(ctx, e, path.Join(dir, ".gitignore"))
	return r.with(dir, rules), err
}

func isGitRoot(ctx context.Context, e env.Environment, dir string) bool {
	_, err := e.Stat(ctx, path.Join(dir, ".git"))
	return err == nil
}

// readRules reads an ignore file. Like git, it takes one that is missing, is no file or cannot be
// read for empty. A lost connection says nothing about the file.
func readRules(ctx context.Context, e env.Environment, name string) ([]rule, error) {
	f, err := e.Open(ctx, name)
	switch {
	case errors.Is(err, env.ErrLost):
		return nil, err
	case err != nil:
		return nil, context.Cause(ctx)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err := errors.Join(err, f.Close()); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return parseRules(string(text)), nil
}
