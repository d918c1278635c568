package rules

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
)

// maxTree limits the directory entries that are searched for files which a recursive reader should
// not read. Beyond it nothing is found: most trees are smaller, and asking about every search of a
// large one would not protect anybody.
const maxTree = 5000

// weight returns as how many entries those of a directory count against a limit, because comparing
// a name with patterns takes time in proportion to its depth.
func weight(dir string) int { return 1 + strings.Count(dir, "/")/16 }

// maxTrees limits the trees that are looked at for one call: each takes some milliseconds.
const maxTrees = 200

// treeKey names a tree.
type treeKey struct {
	name                   string
	writes, visible, links bool
}

// branch is a directory of a tree.
type branch struct {
	name    string
	ignores search.Rules
}

// tree returns the question about reading everything in a directory, if there is a secret, or a
// file that a rule denies or asks about. Files that .gitignore excludes do not count for tools,
// which do not read them. If everything may change instead, the question is about a file whose
// change a rule denies or asks about.
func (c *call) tree(f file) (found finding) {
	if f.writes && !c.protects() {
		return found
	}
	key := treeKey{f.place.name(), f.writes, f.visible, f.links}
	found, known := c.trees[key]
	switch {
	case known:
	case len(c.trees) == maxTrees:
		found.why = fmt.Sprintf("it uses everything in more than %d directories", maxTrees)
		for _, r := range c.of(tool.Deny) { // whose file may be in one of them
			if r.path != nil && r.aboutFile(f) {
				found.rule = r
			}
		}
	default:
		found = c.lookInTree(f)
		c.trees[key] = found
	}
	return found
}

// lookInTree returns the question about a tree that was not looked at yet.
func (c *call) lookInTree(f file) (none finding) {
	left := maxTree
	p, ignored := f.place, c.kind == read
	top, real := strings.TrimSuffix(p.name(), "/"), p.name()
	if c.resolve(p) {
		real = p.real
	}
	real = strings.TrimSuffix(real, "/")
	dirs := []branch{{name: p.name()}}
	if ignored {
		dirs[0].ignores = c.ignoresAbove(p.name())
	}
	for len(dirs) > 0 && left > 0 && c.ctx.Err() == nil {
		dir := dirs[0]
		dirs = dirs[1:]
		entries, err := c.env.ReadDir(c.ctx, cmp.Or(real+strings.TrimPrefix(dir.name, top), "/"))
		if err != nil {
			continue // what cannot be read here cannot be read by the command, or it is no directory
		}
		if ignored { // as a search does, which begins anew in each repository
			dir.ignores = c.enter(dir, dir.name == c.dirs.Work || hasGit(entries))
		}
		each := weight(dir.name)
		if room := left / each; len(entries) > room {
			entries, left = entries[:room], 0
		}
		left -= len(entries) * each
		for _, e := range entries {
			if c.ctx.Err() != nil {
				return none
			}
			if f.visible && strings.HasPrefix(e.Name, ".") || dir.ignores.Exclude(strings.TrimSuffix(dir.name, "/")+"/",
				e.Name, e.IsDir()) {
				continue
			}
			name := path.Join(dir.name, e.Name)
			if f.links && e.Mode&fs.ModeSymlink != 0 {
				if found := c.linked(name, f); found.why != "" {
					return found
				}
				continue
			}
			if found := c.inTree(name, real+strings.TrimPrefix(name, top), f.writes); found.why != "" {
				return found
			}
			if e.IsDir() && e.Name != ".git" {
				dirs = append(dirs, branch{name, dir.ignores})
			}
		}
	}
	return none
}

// hasGit reports whether a directory is the top of a repository.
func hasGit(entries []env.Info) bool {
	return slices.ContainsFunc(entries, func(e env.Info) bool { return e.Name == ".git" })
}

// linked returns the question about a symbolic link in a tree whose links are followed.
func (c *call) linked(name string, f file) finding {
	p, top := &place{named: name}, f.place.name()
	if !c.resolve(p) || !inside(top, p.real) || strings.Contains(p.real[len(top):], "/.") {
		return finding{why: "it also reads what the symbolic link " + name + " leads to"}
	}
	return c.inTree(p.real, p.real, f.writes)
}

// ignoresAbove returns the rules of .gitignore files from the working directory down to the
// directory above a path.
func (c *call) ignoresAbove(name string) (r search.Rules) {
	if !inside(c.dirs.Work, name) {
		return r
	}
	at := c.dirs.Work
	for elem := range strings.SplitSeq(strings.TrimPrefix(name[len(at):], "/"), "/") {
		if at == name {
			break
		}
		_, err := c.env.Stat(c.ctx, path.Join(at, ".git"))
		r = c.enter(branch{at, r}, at == c.dirs.Work || err == nil)
		at = path.Join(at, elem)
	}
	return r
}

// enter returns the rules for the files of a directory.
func (c *call) enter(b branch, top bool) search.Rules {
	if r, err := b.ignores.Enter(c.ctx, c.env, b.name, top); err == nil {
		return r
	}
	return b.ignores
}

// protects reports whether a rule with a pattern denies or asks about changes of files.
func (c *call) protects() bool {
	return slices.ContainsFunc(c.restricting, func(r *rule) bool { return r.path != nil && r.kind == edit })
}

// inTree returns the question about a file that is read, or changed, with all others of a
// directory.
func (c *call) inTree(name, real string, writes bool) (none finding) {
	f := file{place: &place{named: name, real: real, known: true, resolved: true}, writes: writes}
	does := map[bool]string{false: "reads", true: "may change"}[writes]
	if c.observed && !writes && !HoldsSecrets(name) {
		return none // what a rule is about is covered where it runs
	}
	for _, r := range c.restricting {
		if r.path != nil && r.aboutFile(f) && c.hits(r, f) {
			return finding{rule: r, why: fmt.Sprintf("it also %s %s, about which there is the rule %s", does, name,
				r.text)}
		}
	}
	if writes {
		return none
	}
	if _, ok := secretFile(name); !ok {
		if _, ok = c.linkedSecret(real); !ok {
			return none
		}
	}
	_, found := c.file(f, false)
	if found.why != "" {
		found.why = "it also reads " + found.why
	}
	return found
}
