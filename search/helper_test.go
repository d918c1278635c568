package search

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// plant makes a directory with files and returns an environment for it. A name with a slash at the
// end is a directory.
func plant(t testing.TB, files map[string]string) *env.Local {
	t.Helper()
	return local(t, plantIn(t, t.TempDir(), files))
}

func plantIn(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if name[len(name)-1] == '/' {
			must(t, os.MkdirAll(file, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
	return dir
}

func local(t testing.TB, dir string, roots ...string) *env.Local {
	t.Helper()
	e, err := env.NewLocal(dir, env.LocalOptions{Roots: roots, Grace: -1})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// goSources returns the directory of Go's own sources.
func goSources(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("there is no go command to ask for its sources: %v", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(src); err != nil {
		t.Skipf("Go's own sources are not here: %v", err)
	}
	return src
}

// age sets a file's modification time, in hours before a fixed time.
func age(t testing.TB, e env.Environment, name string, hours int) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(-time.Duration(hours) * time.Hour)
	must(t, os.Chtimes(filepath.Join(e.WorkDir(), name), at, at))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// paths returns a listing's paths in order.
func paths(l Listing) []string {
	names := []string{}
	for _, f := range l.Files {
		names = append(names, f.Path)
	}
	return names
}
