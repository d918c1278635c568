package checkpoint_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
)

// TestO3_OnlySomePaths records paths of a tree, and checks that everything else stays as it was in
// the tree.
func TestO3_OnlySomePaths(t *testing.T) {
	files := map[string]string{"a": "1", "dir/b": "2", "dir/c": "3", "dir/sub/d": "4", "other/e": "5", "gone/f": "6",
		"gone/g/h": "7", "swap/x": "8", "file": "9",
		"link": "->dir", ".gitignore": "*.o\n"}
	for name, test := range map[string]struct {
		paths  []string
		do     func(t *testing.T, dir string)
		beside bool // what is done beside the paths is seen, too
	}{
		"nothing":  {paths: []string{"a", "no/where", "dir/no"}, do: func(*testing.T, string) {}},
		"no paths": {do: func(*testing.T, string) {}},
		"a file":   {paths: []string{"dir/b"}, do: func(t *testing.T, dir string) { put(t, dir, "dir/b", "new") }},
		"several": {paths: []string{"dir/b", "./dir/../a", "dir/sub/d"}, do: func(t *testing.T, dir string) {
			put(t, dir, "dir/b", "n")
			put(t, dir, "a", "n")
			put(t, dir, "dir/sub/d", "n")
		}},
		"a new file": {paths: []string{"new/deep/f"}, do: func(t *testing.T, dir string) {
			put(t, dir, "new/deep/f",
				"new")
		}},
		"a deleted one": {paths: []string{"dir/b"},
			do: func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "dir/b"))) }},
		"a deleted tree": {paths: []string{"gone/f", "gone/g/h"}, do: func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "gone/g")))
			must(t, os.Remove(filepath.Join(dir, "gone/f")))
		}},
		"a directory": {paths: []string{"gone"}, do: func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "gone")))
			put(t, dir, "gone/z/z", "zz")
		}},
		"within a tree": {paths: []string{"gone/g", "gone"}, do: func(t *testing.T, dir string) {
			put(t, dir, "gone/z",
				"zz")
		}},
		"dir to file": {paths: []string{"swap"}, do: func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "swap")))
			put(t, dir, "swap", "f")
		}},
		"file to dir": {paths: []string{"file/x"}, do: func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "file")))
			put(t, dir, "file/x", "f")
		}},
		"a mode": {paths: []string{"dir/b"},
			do: func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, "dir/b"), 0o755)) }},
		"ignored": {paths: []string{"dir/b.o"}, do: func(t *testing.T, dir string) {
			put(t, dir, "dir/b.o",
				"object")
		}},
		"outside": {paths: []string{"../x", "/etc/passwd", ".git/config"}, do: func(*testing.T, string) {}},
		"through a link": {paths: []string{"link/b"}, do: func(t *testing.T, dir string) {
			put(t, dir, "dir/b",
				"new")
		}, beside: true},
		"the rules": {paths: []string{".gitignore"}, do: func(t *testing.T, dir string) {
			put(t, dir, ".gitignore",
				"other\n")
		}, beside: true},
		"the whole": {paths: []string{"."}, do: func(t *testing.T, dir string) { put(t, dir, "dir/b", "new") },
			beside: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, dir := newLocal(t, files)
			store := newMemory()
			r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
			before := record(t, r, e)
			test.do(t, dir)
			whole := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
			put(t, dir, "dir/c", "by somebody else")
			put(t, dir, "stranger", "by somebody else")
			if test.beside {
				whole = record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
			}
			for i, path := range test.paths {
				if i%2 == 1 && !filepath.IsAbs(path) {
					test.paths[i] = filepath.Join(dir, path)
				}
			}
			got, err := r.RecordPaths(t.Context(), e, before, test.paths...)
			must(t, err)
			if diff := gocmp.Diff(plain(t, store, whole.Root), plain(t, store, got.Root)); diff != "" {
				t.Errorf("the whole tree -, recorded by paths +\n%s", diff)
			}
			if got.Root != whole.Root || got.Files != whole.Files || got.Bytes != whole.Bytes {
				t.Errorf("%+v, want %+v", got, whole)
			}
			if diff := gocmp.Diff(walked(t, dir), plain(t, store, record(t, r, e).Root)); diff != "" &&
				name != "ignored" && name != "the rules" {
				t.Errorf("the next recording: %s", diff)
			}
		})
	}
}

// TestO3_LeftIsCountedOnce checks that what is left out of a part again and again does not count
// again, also where it is not among the names.
func TestO3_LeftIsCountedOnce(t *testing.T) {
	files := map[string]string{".gitignore": "*.o\n"}
	for i := range 20 {
		files[fmt.Sprintf("f%02d.o", i)] = ""
	}
	e, _ := newLocal(t, files)
	r := newRecorder(t, checkpoint.RecorderOptions{Store: newMemory()})
	tree := record(t, r, e)
	for _, name := range []string{"f00.o", "f19.o"} {
		again, err := r.RecordPaths(t.Context(), e, tree, name)
		must(t, err)
		if diff := gocmp.Diff(tree.Left, again.Left); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestO3_IncludedAndWritten checks that what is ignored and included gets to another place with the
// tree, and nothing else that is ignored.
func TestO3_IncludedAndWritten(t *testing.T) {
	e, _ := newLocal(t, map[string]string{".gitignore": "out/\n.env\n", "out/report.txt": "r", "out/junk": "j",
		".env": "K", "src/a.go": "a", "empty/": ""})
	o := checkpoint.RecorderOptions{Store: newMemory(), Include: []string{"out/report.txt", ".env"}}
	tree := record(t, newRecorder(t, o), e)
	there, dir := newLocal(t, nil)
	made, err := checkpoint.Write(t.Context(), o.Store, tree.Root, there)
	must(t, err)
	if made != 7 || tree.Files != 7 {
		t.Errorf("%d made of %d", made, tree.Files)
	}
	want := []string{".env", ".gitignore", "empty", "out", "out/report.txt", "src", "src/a.go"}
	if got := slices.Sorted(maps.Keys(walked(t, dir))); !slices.Equal(got, want) {
		t.Errorf("written: %q", got)
	}
	if again := record(t, newRecorder(t, o), there); again.Root != tree.Root {
		t.Errorf("%+v, want %+v", again, tree)
	}
}
