package trust_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/trust"
)

// leaf is a file of a random tree.
type leaf struct {
	content    string
	executable bool
	link       bool // to the file ../target in the project, whose content is content
}

// trees draws a random tree of hooks. Names, contents and link targets are such that they could be
// confused with each other.
func trees(t *rapid.T, label string) map[string]leaf {
	name := rapid.StringMatching(`(a|b|ab|a/a|a/b|b b|c/\.\.x)`)
	content := rapid.SampledFrom([]string{"", "a", "b", "ab", "a\n", "a\r\n", "a\nb", "\x00", "\xff",
		"\x00\x00\x00\x00\x00\x00\x00\x01a"})
	tree := map[string]leaf{}
	for range rapid.IntRange(0, 4).Draw(t, label+" files") {
		n := name.Draw(t, label+" name")
		if n == "a" && (has(tree, "a/a") || has(tree, "a/b")) || (n == "a/a" || n == "a/b") && has(tree, "a") {
			continue // a file is no directory
		}
		tree[n] = leaf{content.Draw(t, label+" content"), rapid.Bool().Draw(t, label+" executable"),
			rapid.IntRange(0, 3).Draw(t, label+" link") == 0}
	}
	return tree
}

func has(tree map[string]leaf, name string) bool {
	_, ok := tree[name]
	return ok
}

// build makes the directory hold the tree and nothing else.
func build(t *rapid.T, dir string, tree map[string]leaf) *trust.Snapshot {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.RemoveAll(dir))
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		l, at := tree[name], filepath.Join(dir, ".claude/hooks", name)
		must(os.MkdirAll(filepath.Dir(at), 0o700))
		mode := os.FileMode(0o600)
		if l.executable {
			mode = 0o700
		}
		if !l.link {
			must(os.WriteFile(at, []byte(l.content), mode))
			continue
		}
		target := filepath.Join(dir, "targets", name)
		must(os.MkdirAll(filepath.Dir(target), 0o700))
		must(os.WriteFile(target, []byte(l.content), mode))
		rel, err := filepath.Rel(filepath.Dir(at), target)
		must(err)
		must(os.Symlink(rel, at))
	}
	must(os.MkdirAll(dir, 0o700))
	s, err := trust.Scan(dir)
	must(err)
	if len(s.Problems) > 0 {
		t.Fatalf("%v", s.Problems)
	}
	return s
}

// Two trees have the same hash only if they are the same, and the changes between them name the
// files that differ and no others.
func TestL10_HashAndChangesAreExact(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	seed.Check(t, func(t *rapid.T) {
		store := trust.NewStore(filepath.Join(filepath.Dir(dir), "trust"))
		one, two := trees(t, "first"), trees(t, "second")
		if rapid.Bool().Draw(t, "similar") {
			two = maps.Clone(one)
			for name, l := range trees(t, "change") {
				if has(one, name) {
					two[name] = l
				}
			}
		}
		var differ []string
		for name := range two {
			if was, ok := one[name]; !ok || was != two[name] {
				differ = append(differ, name)
			}
		}
		for name := range one {
			if !has(two, name) {
				differ = append(differ, name)
			}
		}
		slices.Sort(differ)
		was := build(t, dir, one)
		if err := store.Grant(was); err != nil {
			t.Fatal(err)
		}
		now := build(t, dir, two)
		if (was.Hash() == now.Hash()) != (len(differ) == 0) {
			t.Fatalf("hashes %s, %s; different: %q", was.Hash(), now.Hash(), differ)
		}
		d, err := store.Decide(now)
		if err != nil || (d.State == trust.Trusted) != (len(differ) == 0 || len(two) == 0) {
			t.Fatalf("%+v, %v; different: %q", d, err, differ)
		}
		if len(two) == 0 {
			return
		}
		var told []string
		for _, c := range d.Changes {
			told = append(told, c.Name[len(".claude/hooks/"):])
			if c.Diff == "" {
				t.Fatalf("%+v shows no difference", c)
			}
		}
		slices.Sort(told)
		if !slices.Equal(told, differ) {
			t.Fatalf("told %q, different: %q", told, differ)
		}
	})
}
