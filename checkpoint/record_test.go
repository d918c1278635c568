package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// TestO3_Everything records every kind of file, and compares with what the standard library sees.
func TestO3_Everything(t *testing.T) {
	e, dir := newLocal(t, map[string]string{
		"a": "1", "dir/b": "2", "dir/sub/c": "", "empty/inner/": "", "link": "->dir/b", "dangling": "->no/where",
		"out": "->/", "dirlink": "->dir",
		"caf\xe9": "latin1", "line\nbreak": "x", "tab\t\x1b": "y", "~": "home", "-e": "z", "dir/\xff/\xfe": "bytes",
		".hidden/.f": "h", "A": "upper",
		"big": strings.Repeat("0123456789", 300_000),
	})
	must(t, os.Chmod(filepath.Join(dir, "a"), 0o755))
	must(t, os.Chmod(filepath.Join(dir, "empty"), 0o700))
	must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "hard")))
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	tree := record(t, r, e)
	if diff := gocmp.Diff(walked(t, dir), plain(t, store, tree.Root)); diff != "" {
		t.Errorf("on the disk -, recorded +\n%s", diff)
	}
	if tree.Files != 23 || tree.Bytes != 3_000_027 {
		t.Errorf("%d files, %d bytes", tree.Files, tree.Bytes)
	}
	puts := store.puts
	if again := record(t, r, e); again.Root != tree.Root || store.puts != puts || store.commits != 1 {
		t.Errorf("%+v after %+v, %d objects after %d, %d commits", again, tree, store.puts, puts, store.commits)
	}
	must(t, os.Rename(filepath.Join(dir, "A"), filepath.Join(dir, "aa")))
	must(t, os.RemoveAll(filepath.Join(dir, "dir")))
	must(t, os.Chmod(filepath.Join(dir, "empty"), 0o755))
	if diff := gocmp.Diff(walked(t, dir), plain(t, store, record(t, r, e).Root)); diff != "" {
		t.Errorf("after changes: on the disk -, recorded +\n%s", diff)
	}
}

// TestO3_EmptyTree records a directory without files.
func TestO3_EmptyTree(t *testing.T) {
	e, _ := newLocal(t, nil)
	store := newMemory()
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
	if got := plain(t, store, tree.Root); len(got) != 0 || tree.Files != 0 {
		t.Errorf("%v, %+v", got, tree)
	}
}

// TestO3_Ignored checks what .gitignore files, repositories within the tree and
// RecorderOptions.Include leave out.
func TestO3_Ignored(t *testing.T) {
	files := map[string]string{
		".gitignore": "*.log\n!keep.log\n/build/\nsecret\n", "x.log": "", "keep.log": "", "build/out": "",
		"build/deep/bin/tool": "", "secret": "",
		"src/.gitignore": "!x.log\ngen\n", "src/x.log": "", "src/gen/a": "", "src/build/kept": "",
		".git/info/exclude": "excluded\n", ".git/HEAD": "ref: refs/heads/main", "excluded": "", "src/excluded": "",
		"nested/.git/HEAD": "", "nested/.git/info/exclude": "own\n", "nested/y.log": "", "nested/own": "",
		"nested/.gitignore": "rule\n", "nested/rule": "",
		"sub/.git": "gitdir: ../.git/modules/sub", "sub/f": "", "sub/z.log": "",
	}
	e, _ := newLocal(t, files)
	for name, test := range map[string]struct {
		include []string
		left    []string
	}{
		"all": {nil, []string{"build/", "excluded", "nested/own", "nested/rule", "secret", "src/excluded", "src/gen/",
			"x.log"}},
		"included": {[]string{"/build/deep/bin", "secret", "src/gen/", "*.none", ""},
			[]string{"build/out", "excluded", "nested/own", "nested/rule", "src/excluded", "x.log"}},
		"directories": {[]string{"secret/", "excluded/", "/x.log/", "build/deep/bin/tool/", "src/gen/a/"},
			[]string{"build/deep/bin/tool", "build/out", "excluded", "nested/own", "nested/rule", "secret",
				"src/excluded", "src/gen/a", "x.log"}},
		"anywhere": {[]string{"**/tool", "build/**/nothing"}, []string{"build/out", "excluded", "nested/own",
			"nested/rule", "secret", "src/excluded", "src/gen/a", "x.log"}},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMemory()
			tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store, Include: test.include}), e)
			if diff := gocmp.Diff(checkpoint.Names{First: test.left, Count: len(test.left)},
				tree.Left.Ignored); diff != "" {
				t.Errorf("ignored: %s", diff)
			}
			got := plain(t, store, tree.Root)
			for name := range files {
				inGit := strings.HasPrefix(name, ".git/") || strings.Contains(name, "/.git")
				ignored := slices.ContainsFunc(test.left, func(left string) bool {
					return left == name || strings.HasSuffix(left, "/") && strings.HasPrefix(name, left)
				})
				if strings.HasSuffix(name, "/.gitignore") {
					inGit = false
				}
				if _, ok := got[name]; ok == (inGit || ignored) {
					t.Errorf("%s: recorded %v", name, ok)
				}
			}
		})
	}
}

// TestO3_IgnoredFromAbove checks that the rules of directories above the working directory hold.
func TestO3_IgnoredFromAbove(t *testing.T) {
	_, dir := newLocal(t, map[string]string{".git/HEAD": "", ".gitignore": "*.tmp\n", "work/a.tmp": "", "work/a": ""})
	store := newMemory()
	e, err := env.NewLocal(filepath.Join(dir, "work"),
		env.LocalOptions{Roots: []string{dir}, Containment: env.ContainGroup})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
	if got := plain(t, store, tree.Root); len(got) != 1 || tree.Left.Ignored.Count != 1 {
		t.Errorf("%v, %+v", got, tree.Left)
	}
}

// TestO3_ManyLeft checks that the first names are kept and all are counted, whatever the order of
// the walk.
func TestO3_ManyLeft(t *testing.T) {
	files := map[string]string{".gitignore": "*.o\n"}
	var want checkpoint.Names
	for i := range 500 {
		files[fmt.Sprintf("d%03d/f.o", i)] = ""
		if want.Count++; i < 10 {
			want.First = append(want.First, fmt.Sprintf("d%03d/f.o", i))
		}
	}
	e, _ := newLocal(t, files)
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: newMemory()}), e)
	if diff := gocmp.Diff(want, tree.Left.Ignored); diff != "" {
		t.Error(diff)
	}
}

// TestO3_Limits checks that too large trees are refused with the number that was reached, and large
// files left out and named.
func TestO3_Limits(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "12345", "b/c": "1234567890", "d": "1"})
	for _, test := range []struct {
		options checkpoint.RecorderOptions
		told    string
	}{
		{checkpoint.RecorderOptions{MaxFiles: 3}, "more than 3 files and directories"},
		{checkpoint.RecorderOptions{MaxBytes: 15}, "more than 15 bytes (16 in the first 4 files)"},
	} {
		store := newMemory()
		test.options.Store = store
		_, err := newRecorder(t, test.options).Record(t.Context(), e)
		if err == nil || !strings.Contains(err.Error(), test.told) || store.commits != 0 {
			t.Errorf("%v, %d commits", err, store.commits)
		}
	}
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store, MaxFiles: 4, MaxBytes: 16, MaxFile: 9})
	tree := record(t, r, e)
	if diff := gocmp.Diff(checkpoint.Names{First: []string{"b/c"}, Count: 1}, tree.Left.Large); diff != "" ||
		tree.Files != 3 || tree.Bytes != 6 {
		t.Errorf("%+v\n%s", tree, diff)
	}
	c, err := checkpoint.Lookup(t.Context(), store, tree.Root, "b/c")
	if err != nil || c == nil || c.Recorded() {
		t.Errorf("the large file is %+v, %v", c, err)
	}
	put(t, dir, "b/c", "small")
	again := record(t, r, e)
	changes, err := checkpoint.Changes(t.Context(), store, tree.Root, again.Root)
	must(t, err)
	if again.Left.Large.Count != 0 || len(changes) != 1 || changes[0].Path != "b/c" || changes[0].Before.Recorded() ||
		!changes[0].After.Recorded() {
		t.Errorf("%+v\n%+v", again, changes)
	}
}

// TestO3_Skip checks that a directory such as the store's is left out.
func TestO3_Skip(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "1", "state/checkpoints/pack": "x", "state/other": "y"})
	store := newMemory()
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store,
		Skip: []string{filepath.Join(dir, "state/checkpoints"), "/elsewhere"}}), e)
	if got := plain(t, store, tree.Root); len(got) != 3 || got["state/other"] == "" || tree.Left.Ignored.Count != 0 {
		t.Errorf("%v, %+v", got, tree.Left)
	}
}

// TestO3_Placeholders leaves out what a sandbox puts in the place of missing files: an undo would
// make it, and git takes a directory with HEAD and objects for a repository once it has refs.
func TestO3_Placeholders(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"HEAD": "ref: refs/heads/x", "objects/": ""})
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	before := record(t, r, e)
	for name, mode := range map[string]fs.FileMode{"refs": env.PlaceholderDir, "moving": env.PlaceholderDir | 0o200} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	put(t, dir, "commondir", ".\n")
	must(t, os.Chmod(filepath.Join(dir, "commondir"), env.PlaceholderFile))
	if tree := record(t, r, e); tree.Root != before.Root {
		t.Errorf("recorded: %v", plain(t, store, tree.Root))
	}
	put(t, dir, "read-only", "what a command has made\n")
	must(t, os.Chmod(filepath.Join(dir, "read-only"), env.PlaceholderFile))
	put(t, dir, "full/x", "x")
	must(t, os.Chmod(filepath.Join(dir, "full"), env.PlaceholderDir))
	t.Cleanup(func() { must(t, os.Chmod(filepath.Join(dir, "full"), 0o700)) })
	if got := plain(t, store, record(t, r, e).Root); len(got) != 5 {
		t.Errorf("recorded: %v", got)
	}
}

// TestO3_Memory records an environment that is not on a file system.
func TestO3_Memory(t *testing.T) {
	e := envtest.NewMemory(map[string]string{"a": "1", "dir/b": "2", "x.tmp": "3", ".gitignore": "*.tmp"})
	must(t, e.Mkdir(t.Context(), "empty", 0o700))
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	first := record(t, r, e)
	want := map[string]string{".gitignore": "-rw-r--r-- *.tmp", "a": "-rw-r--r-- 1", "dir": "drwxr-xr-x ",
		"dir/b": "-rw-r--r-- 2", "empty": "drwx------ "}
	if diff := gocmp.Diff(want, plain(t, store, first.Root)); diff != "" {
		t.Error(diff)
	}
	must(t, e.WriteFile(t.Context(), "a", []byte("9"), 0)) // of the same size, at nearly the same time
	if got := plain(t, store, record(t, r, e).Root)["a"]; got != "-rw-r--r-- 9" {
		t.Errorf("a is %q", got)
	}
}

// noTree is an environment without Tree.
type noTree struct{ env.Environment }

// TestO3_NoTree checks that an environment that cannot show links is refused.
func TestO3_NoTree(t *testing.T) {
	e, _ := newLocal(t, map[string]string{"a": "1"})
	_, err := newRecorder(t, checkpoint.RecorderOptions{Store: newMemory()}).Record(t.Context(), noTree{e})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "env.Tree") {
		t.Errorf("%v", err)
	}
}

// TestO3_Failures checks that errors of the store and ended contexts end a recording, and that the
// next one is whole.
func TestO3_Failures(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint(i)
	}
	e, dir := newLocal(t, files)
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	store.fail = fmt.Errorf("%w: no room", checkpoint.ErrFull)
	if _, err := r.Record(t.Context(), e); !errors.Is(err, checkpoint.ErrFull) || store.commits != 0 {
		t.Errorf("%v, %d commits", err, store.commits)
	}
	store.fail = nil
	ctx, cancel := context.WithCancel(t.Context())
	store.stored = func(string) { cancel() }
	if _, err := r.Record(ctx, e); !errors.Is(err, context.Canceled) || store.commits != 0 {
		t.Errorf("%v, %d commits", err, store.commits)
	}
	store.stored = nil
	if diff := gocmp.Diff(walked(t, dir), plain(t, store, record(t, r, e).Root)); diff != "" {
		t.Error(diff)
	}
	put(t, dir, "new", "has just changed")
	record(t, r, aged(e))
	read := watch(store)
	record(t, r, aged(e))
	sameReads(t, "unchanged", read, "has just changed")
	clear(store.objects) // somebody has removed the store
	if diff := gocmp.Diff(walked(t, dir), plain(t, store, record(t, r, aged(e)).Root)); diff != "" {
		t.Error(diff)
	}
}

// TestO3_TouchedBack checks that a file with another content, the same size and the old time is
// read again.
func TestO3_TouchedBack(t *testing.T) {
	local, dir := newLocal(t, map[string]string{"new": "x", "dir/b": "one"})
	e := aged(local)
	old := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(filepath.Join(dir, "dir/b"), old, old))
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	record(t, r, e)
	tick(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "dir/b"), []byte("two"), 0))
	must(t, os.Chtimes(filepath.Join(dir, "dir/b"), old, old))
	if got := plain(t, store, record(t, r, e).Root)["dir/b"]; got != "-rw-r--r-- two" {
		t.Errorf("recorded %q", got)
	}
}

// TestO3_SameTick checks that a change right after a recording is seen although the clock of the
// file system has not gone on.
func TestO3_SameTick(t *testing.T) {
	local, dir := newLocal(t, map[string]string{"a": "one"})
	tick := time.Now()
	e := hooked{Local: local, lstat: func(node *env.Node) { node.ModTime, node.Changed = tick, tick }}
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	for _, content := range []string{"one", "two", "six"} {
		must(t, os.WriteFile(filepath.Join(dir, "a"), []byte(content), 0))
		if got := plain(t, store, record(t, r, e).Root)["a"]; got != "-rw-r--r-- "+content {
			t.Errorf("recorded %q, want %q", got, content)
		}
	}
}

// TestO3_WrongInclude checks that a pattern that includes nothing is not taken for one that does.
func TestO3_WrongInclude(t *testing.T) {
	e, _ := newLocal(t, map[string]string{"!x": "1", "#y": "2", ".gitignore": "*"})
	store := newMemory()
	for _, pattern := range []string{"!x", "#y"} {
		if _, err := newRecorder(t, checkpoint.RecorderOptions{Store: store,
			Include: []string{"a", pattern}}).Record(t.Context(), e); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store, Include: []string{`\!x`, `\#y`}}), e)
	if got := plain(t, store, tree.Root); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestO3_FullStoreMakesRoom checks that a recording that is larger than the room that is left takes
// that of sessions that have ended.
func TestO3_FullStoreMakesRoom(t *testing.T) {
	noise := make([]byte, 1_200_000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	var evicted []string
	store, err := checkpoint.OpenDir(t.TempDir(),
		checkpoint.DirOptions{Max: 1 << 20, Evicted: func(owner string) { evicted = append(evicted, owner) }})
	must(t, err)
	first, _ := newLocal(t, map[string]string{"a": string(noise[:600_000])})
	record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store, Owner: "first"}), first)
	second, _ := newLocal(t, map[string]string{"a": string(noise[600_000:])})
	record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store, Owner: "second"}), second)
	if !slices.Equal(evicted, []string{"first"}) {
		t.Errorf("evicted %v", evicted)
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
