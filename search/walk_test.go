package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
)

// walked returns the files that a walk from a directory finds, relative to it.
func walked(t *testing.T, e env.Environment, dir string) []string {
	t.Helper()
	names := []string{}
	w := &walker{env: e, visitor: func() visitor {
		return func(_ context.Context, in *folder, files []env.Entry) (func() bool, int) {
			return func() bool {
				for _, f := range files {
					names = append(names, in.rel(f.Name))
				}
				return true
			}, 0
		}
	}}
	must(t, w.walk(context.Background(), absolute(e, dir)))
	return names
}

// walkCase holds a tree, the directory to walk, and the files to find.
type walkCase struct {
	name  string
	files map[string]string
	dir   string
	want  []string
}

func (c walkCase) check(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		if diff := cmp.Diff(c.want, walked(t, plant(t, c.files), c.dir)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC8_WalkIgnores(t *testing.T) {
	for _, c := range []walkCase{
		{
			name: "hidden files are there, .git is not",
			files: map[string]string{".git/config": "", ".github/ci.yml": "", ".env": "", "sub/.git": "gitdir: x\n",
				"sub/a": ""},
			want: []string{".env", ".github/ci.yml", "sub/a"},
		},
		{
			name:  "names in the order of the tree",
			files: map[string]string{"a/x": "", "a-b/x": "", "a.go": "", "B": ""},
			want:  []string{"B", "a/x", "a-b/x", "a.go"},
		},
		{
			name: "a repository inside begins anew",
			files: map[string]string{".git/": "", ".gitignore": "*.log\n", "x.log": "", "vendor/lib/.git/": "",
				"vendor/lib/x.log": "", "vendor/lib/.git/info/exclude": "y\n", "vendor/lib/y": ""},
			want: []string{".gitignore", "vendor/lib/x.log"},
		},
		{
			name: "info/exclude, which comes after .gitignore",
			files: map[string]string{".git/info/exclude": "*.log\nmine\n", ".gitignore": "!x.log\n", "x.log": "",
				"y.log": "", "sub/mine": ""},
			want: []string{".gitignore", "x.log"},
		},
		{
			name:  "a file cannot come back from an ignored directory",
			files: map[string]string{".gitignore": "out/\n!out/keep\n", "out/keep": "", "out2": ""},
			want:  []string{".gitignore", "out2"},
		},
		{
			name:  "a .gitignore that is a directory",
			files: map[string]string{".gitignore/x": "", "y": ""},
			want:  []string{".gitignore/x", "y"},
		},
	} {
		c.check(t)
	}
}

func TestC8_WalkIgnoresWhatTheDirectoriesAboveSay(t *testing.T) {
	for _, c := range []walkCase{
		{
			name: "rules of the parents up to the git root",
			files: map[string]string{".git/": "", ".gitignore": "*.log\n/a/b/top\n",
				"a/.gitignore": "*.tmp\n!keep.log\n", "a/b/x.log": "", "a/b/x.tmp": "", "a/b/top": "",
				"a/b/keep.log": "", "a/b/c": ""},
			dir:  "a/b",
			want: []string{"c", "keep.log"},
		},
		{
			name:  "above the git root nothing counts",
			files: map[string]string{".gitignore": "*.log\n", "repo/.git/": "", "repo/sub/x.log": ""},
			dir:   "repo/sub",
			want:  []string{"x.log"},
		},
		{
			name:  "without a repository the rules from the working directory on",
			files: map[string]string{".gitignore": "*.log\n", "sub/x.log": "", "sub/y": ""},
			dir:   "sub",
			want:  []string{"y"},
		},
		{
			name:  "info/exclude for a directory below",
			files: map[string]string{".git/info/exclude": "sub/mine\n", "sub/mine": "", "sub/other": ""},
			dir:   "sub",
			want:  []string{"other"},
		},
		{
			name: "an ignored directory that is named is entered",
			files: map[string]string{".git/": "", ".gitignore": "node_modules/\n*.log\n", "node_modules/lib/x.js": "",
				"node_modules/lib/x.log": ""},
			dir:  "node_modules/lib",
			want: []string{"x.js"},
		},
	} {
		c.check(t)
	}
}

// TestC8_WalkIgnoresAboveTheWorkingDirectory walks from a working directory below the git root,
// which the host allows to read.
func TestC8_WalkIgnoresAboveTheWorkingDirectory(t *testing.T) {
	repo := plantIn(t, t.TempDir(), map[string]string{".git/": "", ".gitignore": "*.log\n", "sub/x.log": "",
		"sub/y": ""})
	if diff := cmp.Diff([]string{"y"}, walked(t, local(t, repo+"/sub", repo), "")); diff != "" {
		t.Errorf("readable: %s", diff)
	}
	if diff := cmp.Diff([]string{"x.log", "y"}, walked(t, local(t, repo+"/sub"), "")); diff != "" {
		t.Errorf("not readable: %s", diff)
	}
	must(t, os.Remove(repo+"/.git"))
	if diff := cmp.Diff([]string{"x.log", "y"}, walked(t, local(t, repo+"/sub", repo), "")); diff != "" {
		t.Errorf("no repository: %s", diff)
	}
}

func TestC8_GitDirectoryIsNeverSearched(t *testing.T) {
	e := plant(t, map[string]string{".git/hooks/x": "foo\n"})
	for _, dir := range []string{".git", ".git/hooks"} {
		if _, err := Grep(context.Background(), e, Query{Pattern: "foo", Path: dir}); err == nil ||
			!strings.Contains(err.Error(), ".git") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestC8_LinksAreNotFollowed(t *testing.T) {
	e := plant(t, map[string]string{"real/f": "foo\n"})
	must(t, os.Symlink("real", filepath.Join(e.WorkDir(), "alias")))
	must(t, os.Symlink("..", filepath.Join(e.WorkDir(), "real/loop")))
	must(t, os.Symlink("f", filepath.Join(e.WorkDir(), "real/g")))
	must(t, os.Symlink("nowhere", filepath.Join(e.WorkDir(), "real/broken")))
	if got := hits(t, e, Query{Pattern: "foo"}); len(got) != 1 || got[0] != "real/f:1:foo" {
		t.Errorf("grep: %q", got)
	}
	l, err := Glob(context.Background(), e, "**", "")
	must(t, err)
	names := paths(l)
	slices.Sort(names)
	if diff := cmp.Diff([]string{"real/f", "real/g"}, names); diff != "" {
		t.Errorf("glob lists links to files, and nothing else: %s", diff)
	}
	if got := hits(t, e, Query{Pattern: "foo", Path: "alias"}); len(got) != 1 || got[0] != "alias/f:1:foo" {
		t.Errorf("a link that is named: %q", got)
	}
}

func TestC8_PathologicalPatternIsQuick(t *testing.T) {
	// A matcher that tried everything would run into the test's timeout.
	stars := strings.Repeat("*a", 40) + "b"
	name := strings.Repeat("a", 250)
	if parseIgnorePattern(stars).match(name) {
		t.Error("matched")
	}
	if _, ok := NewPattern("**/" + strings.Repeat("[", maxIgnoreFile)); ok { // a class without end
		t.Error("brackets that are not closed match")
	}
	if parseIgnorePattern(strings.Repeat("**/a/", 40) + "b").match(strings.Repeat("a/", 250) + "c") {
		t.Error("matched")
	}
}

// counting is an environment that counts the directories that are read.
type counting struct {
	env.Environment
	mu   sync.Mutex
	dirs []string
}

func (c *counting) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rel, _ := below(c.WorkDir(), name)
	c.dirs = append(c.dirs, rel)
	return c.Environment.ReadDir(ctx, name)
}

func TestC9_OnlyDirectoriesThatMayMatchAreRead(t *testing.T) {
	local := plant(t, map[string]string{"a.go": "", "src/b.go": "", "src/deep/c.go": "", "docs/d.go": "",
		"node_modules/x/e.go": "", ".gitignore": "node_modules\n"})
	for pattern, want := range map[string][]string{
		"*.go":        {""},
		"src/*.go":    {"", "src"},
		"src/**/*.go": {"", "src", "src/deep"},
		"s*/*/*.go":   {"", "src", "src/deep"},
		"**/*.go":     {"", "docs", "src", "src/deep"},
	} {
		e := &counting{Environment: local}
		if _, err := Glob(context.Background(), e, pattern, ""); err != nil {
			t.Fatal(err)
		}
		slices.Sort(e.dirs)
		if diff := cmp.Diff(want, e.dirs); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}

func TestC8_FilesThatAreNone(t *testing.T) {
	for _, mode := range []fs.FileMode{fs.ModeDevice, fs.ModeNamedPipe, fs.ModeSocket,
		fs.ModeCharDevice | fs.ModeDevice} {
		if (&walker{}).wanted(&folder{prefix: "/", base: 1}, env.Entry{Name: "x", Type: mode}) {
			t.Errorf("%v is searched", mode)
		}
	}
}
