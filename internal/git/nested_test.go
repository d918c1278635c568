package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/git"
)

// What is remembered of directories is looked up again where they have changed.
func TestU17_NestedRepositoriesThatCome(t *testing.T) {
	dir := t.TempDir()
	var nesting git.Nesting
	check := func(want ...string) {
		t.Helper()
		for i := range want {
			want[i] = filepath.Join(dir, want[i])
		}
		for range 2 {
			if got := nesting.Below(dir); !slices.Equal(got, want) {
				t.Errorf("found are %q, not %q", got, want)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check()
	must(os.MkdirAll(filepath.Join(dir, "a/node_modules/b/.git"), 0o755))
	must(os.MkdirAll(filepath.Join(dir, "c/d/e"), 0o755))
	check("a/node_modules/b")
	must(os.Mkdir(filepath.Join(dir, "c/d/e/.git"), 0o755))
	check("c/d/e", "a/node_modules/b")
	must(os.Rename(filepath.Join(dir, "c/d"), filepath.Join(dir, "c/f")))
	check("c/f/e", "a/node_modules/b")
	must(os.RemoveAll(filepath.Join(dir, "a")))
	check("c/f/e")
	old := time.Now().Add(-time.Hour) // as if the directory had settled
	must(os.Chtimes(filepath.Join(dir, "c/f"), old, old))
	check("c/f/e")
	must(os.Mkdir(filepath.Join(dir, "c/f/.git"), 0o755))
	check("c/f", "c/f/e")
}
