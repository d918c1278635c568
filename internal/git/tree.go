package git

import (
	"context"
	"slices"
	"sort"
	"strings"
)

// staged compares the tree of a commit with the index and collects the paths that differ.
type staged struct {
	r       *repository
	index   *index
	changed map[string]bool
	added   map[string][]string // paths that only the index has, by the id of their content
	gone    []treeEntry         // entries that only the tree has, by their whole path
}

// treeEntry holds one entry of a tree.
type treeEntry struct {
	name, id string
	mode     uint32
}

// compare adds the paths in which the index differs from the tree of a commit to changed. A moved file counts as one change.
func (r *repository) compare(ctx context.Context, head string, x *index, changed map[string]bool) error {
	s := &staged{r: r, index: x, changed: changed, added: map[string][]string{}}
	tree := ""
	if head != "" {
		c, err := r.commit(ctx, head)
		if err != nil {
			return err
		}
		tree = c.tree
	}
	if err := s.dir(ctx, "", tree, x.entries); err != nil {
		return err
	}
	for _, e := range s.gone {
		if at := s.added[e.id]; len(at) > 0 {
			s.added[e.id] = at[1:]
			continue
		}
		changed[e.name] = true
	}
	return nil
}

// dir compares one directory. Tree is "" if the commit does not have it; entries are those of the index below it.
func (s *staged) dir(ctx context.Context, dir, tree string, entries []indexEntry) error {
	if tree != "" && s.index.trees[strings.TrimSuffix(dir, "/")] == tree {
		return nil
	}
	var lines []treeEntry
	if tree != "" {
		data, err := s.r.object(ctx, tree, treeObject)
		if err == nil {
			lines, err = parseTree(string(data), s.r.idLen())
		}
		if err != nil {
			return err
		}
	}
	subtrees := map[string]bool{}
	for _, line := range lines {
		name := dir + line.name
		if len(name) > maxPath {
			return errUnknown
		}
		if line.mode&kindMask == kindDir {
			subtrees[line.name] = true
			_, below := under(entries, name+"/")
			if err := s.dir(ctx, name+"/", line.id, below); err != nil {
				return err
			}
			continue
		}
		i, found := slices.BinarySearchFunc(entries, name, func(e indexEntry, name string) int { return strings.Compare(e.path, name) })
		switch {
		case !found:
			s.gone = append(s.gone, treeEntry{name, line.id, line.mode})
		case entries[i].id != line.id || entries[i].mode != line.mode:
			s.changed[name] = true
		}
	}
	s.additions(dir, lines, subtrees, entries)
	return nil
}

// additions adds the entries of the index that a directory's tree does not have. Those in subtrees were already compared.
func (s *staged) additions(dir string, lines []treeEntry, subtrees map[string]bool, entries []indexEntry) {
	has := make(map[string]bool, len(lines))
	for _, line := range lines {
		has[line.name] = true
	}
	for _, e := range entries {
		name, _, below := strings.Cut(e.path[len(dir):], "/")
		if below && !subtrees[name] || !below && !has[name] {
			s.changed[e.path] = true
			s.added[e.id] = append(s.added[e.id], e.path)
		}
	}
}

// under returns the entries whose paths begin with a prefix, and where they begin.
func under(entries []indexEntry, prefix string) (from int, below []indexEntry) {
	from = sort.Search(len(entries), func(i int) bool { return entries[i].path >= prefix })
	n := sort.Search(len(entries)-from, func(i int) bool { return !strings.HasPrefix(entries[from+i].path, prefix) })
	return from, entries[from : from+n]
}

// parseTree parses the entries of a tree: mode in octal, a space, name, NUL, id.
func parseTree(text string, idLen int) (lines []treeEntry, err error) {
	for text != "" {
		head, rest, ok := strings.Cut(text, "\x00")
		mode, name, isLine := strings.Cut(head, " ")
		if !ok || !isLine || name == "" || strings.Contains(name, "/") || len(mode) > 6 || len(rest) < idLen {
			return nil, errUnknown
		}
		line := treeEntry{name: name, id: rest[:idLen]}
		for _, digit := range []byte(mode) {
			line.mode = line.mode<<3 | uint32(digit-'0')&7
		}
		lines = append(lines, line)
		text = rest[idLen:]
	}
	return lines, nil
}
