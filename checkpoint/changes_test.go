package checkpoint_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
)

// differing returns the changes between two lists of plain.
func differing(before, after map[string]string) []string {
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		if a, b := before[name], after[name]; a != b {
			changes = append(changes, fmt.Sprintf("%q: %q %q", name, a, b))
		}
	}
	return changes
}

func union(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// changed returns the changes between two trees in the same form.
func changed(t testing.TB, store checkpoint.Store, a, b env.Hash) []string {
	t.Helper()
	changes, err := checkpoint.Changes(t.Context(), store, a, b)
	must(t, err)
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%q: %q %q", c.Path, shown(t, store, c.Before), shown(t, store, c.After)))
	}
	if !slices.IsSortedFunc(changes, func(a, b checkpoint.Change) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("not sorted: %q", list)
	}
	return list
}

func shown(t testing.TB, store checkpoint.Store, e *checkpoint.Entry) string {
	if e == nil {
		return ""
	}
	text := fmt.Sprint(e.Mode, " ", e.Target)
	if e.Mode.IsRegular() && e.Recorded() {
		text += contentOf(t, store, e.Object)
	}
	return text
}

// TestO3_Changes compares trees.
func TestO3_Changes(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "1", "dir/b": "2", "dir/c": "3", "empty/": "", "l": "->a",
		"dir.x": "4", "d2/x": "5", "d2/y/z": "6"})
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	first := record(t, r, e)
	if got := changed(t, store, first.Root, first.Root); got != nil {
		t.Errorf("%q", got)
	}
	if diff := gocmp.Diff(differing(nil, walked(t, dir)), changed(t, store, env.NoFile, first.Root)); diff != "" {
		t.Error(diff)
	}
	before := walked(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.RemoveAll(at("d2")))
	put(t, dir, "d2", "a file")
	must(t, os.Rename(at("dir/b"), at("moved")))
	must(t, os.Remove(at("l")))
	put(t, dir, "l/x", "->y")
	must(t, os.Remove(at("empty")))
	must(t, os.Chmod(at("dir"), 0o700))
	put(t, dir, "dir.x", "5")
	second := record(t, r, e)
	if diff := gocmp.Diff(differing(before, walked(t, dir)), changed(t, store, first.Root, second.Root)); diff != "" {
		t.Error(diff)
	}
	if _, err := checkpoint.Changes(t.Context(), newMemory(), first.Root, second.Root); err == nil {
		t.Error("a store without the trees gives no error")
	}
}

// TestO3_AnyTree does random things to a tree. After each, the recorder's tree is what the standard
// library sees, is the tree that a recorder without an index sees, and differs from the last one by
// what was done.
func TestO3_AnyTree(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		local, dir := newLocal(t, map[string]string{"new": "has just changed"})
		var e env.Environment = local
		old := rapid.Bool().Draw(rt, "old")
		if old {
			e = aged(local) // so that what is known is used
		}
		store := newMemory()
		index := filepath.Join(t.TempDir(), "index")
		r := newRecorder(t, checkpoint.RecorderOptions{Store: store, Index: index})
		tree := record(t, r, e)
		now := walked(t, dir)
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			if old {
				tick(t, dir)
			}
			for range rapid.IntRange(1, 6).Draw(rt, "steps") {
				step(rt, dir)
			}
			before, was := now, tree
			tree = record(t, r, e)
			now = walked(t, dir)
			if diff := gocmp.Diff(now, plain(t, store, tree.Root)); diff != "" {
				rt.Fatalf("on the disk -, recorded +\n%s", diff)
			}
			plainly := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
			if plainly.Root != tree.Root || plainly.Files != tree.Files || plainly.Bytes != tree.Bytes {
				rt.Fatalf("%+v, without an index %+v", tree, plainly)
			}
			if diff := gocmp.Diff(differing(before, now), changed(t, store, was.Root, tree.Root)); diff != "" {
				rt.Fatal(diff)
			}
			if rapid.IntRange(0, 3).Draw(rt, "restart") == 0 {
				must(rt, r.Close())
				r = newRecorder(t, checkpoint.RecorderOptions{Store: store, Index: index})
			}
		}
	})
}

// tick waits until the clock of the file system goes on, so that the next change has another time
// than the last.
func tick(t *testing.T, dir string) {
	t.Helper()
	probe := dir + "-probe"
	var first time.Time
	for now := first; !now.After(first); {
		put(t, filepath.Dir(probe), filepath.Base(probe), "")
		info, err := os.Lstat(probe)
		must(t, err)
		if now = info.ModTime(); first.IsZero() {
			first = now
		}
	}
}

// step does one thing in a directory.
func step(t *rapid.T, dir string) {
	elems := []string{"a", "b", "B", "\xff", "x y"}
	name := func(label string) string {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "depth") {
			parts = append(parts, rapid.SampledFrom(elems).Draw(t, label))
		}
		return strings.Join(parts, "/")
	}
	at := filepath.Join(dir, name("name"))
	content := rapid.SampledFrom([]string{"", "1", "2", "12345678"}).Draw(t, "content")
	// Errors are of things that cannot be done, such as a file in a file.
	switch rapid.SampledFrom([]string{"write", "write", "write", "mkdir", "remove", "link", "rename", "chmod",
		"hardlink", "append", "touch"}).Draw(t, "what") {
	case "write":
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.Remove(at) // it may have other names
		_ = os.WriteFile(at, []byte(content), 0o644)
	case "append":
		if f, err := os.OpenFile(at, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.WriteString(content)
			_ = f.Close()
		}
	case "mkdir":
		_ = os.MkdirAll(at, 0o700)
	case "remove":
		_ = os.RemoveAll(at)
	case "link":
		_ = os.Symlink("no/such/"+content, at)
	case "rename":
		_ = os.Rename(at, filepath.Join(dir, name("to")))
	case "chmod":
		if info, err := os.Lstat(at); err == nil && info.Mode().Type() != fs.ModeSymlink {
			_ = os.Chmod(at, rapid.SampledFrom([]fs.FileMode{0o700, 0o755, 0o711}).Draw(t, "mode"))
		}
	case "hardlink":
		_ = os.Link(at, filepath.Join(dir, name("to")))
	case "touch":
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
			_ = os.WriteFile(at, []byte(content), 0o644)
			_ = os.Chtimes(at, info.ModTime(), info.ModTime())
		}
	}
}
