package attractor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What PATH finds in a repository around a session is a program of that repository, unless the home
// directory is in it too.
func TestL2_RepositoriesAroundASession(t *testing.T) {
	top := realPath(t.TempDir())
	home, around := filepath.Join(top, "home"), filepath.Join(top, "home/around")
	in := filepath.Join(around, "in")
	work := filepath.Join(in, "work")
	for _, dir := range []string{home, around, in} {
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.ToSlash(in), filepath.ToSlash(around)}
	if got := repositoriesOf(home, work); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := repositoriesOf(work, work); got != nil {
		t.Errorf("repositories of a home directory in them: %q", got)
	}
}
