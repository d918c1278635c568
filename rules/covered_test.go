package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/rules"
)

// machine reads each directory anew.
type machine struct{}

func (machine) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

func (machine) State(string) (any, bool) { return nil, false }

func TestU14_Covered(t *testing.T) {
	work, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"a/b/key.pem", "a/notes.secret", "a/c/x", ".env", "src/.env.example", "src/main.go",
		"private/x"} {
		full := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := rules.Load(rules.Dirs{Work: work, Home: home}, rules.Source{Name: "rules.json", Data: []byte(`{"permissions": {
		"deny": ["Read(**/*.secret)", "Read(~/diary/**)", "Read(//srv/data)", "Edit(./src/**)"], "ask": ["Read(./private/**)"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	always := []string{home + "/.ssh", home + "/.netrc", home + "/.aws", home + "/diary", "/srv/data",
		work + "/private", work + "/a/notes.secret"}
	secrets := []string{work + "/.env", work + "/a/b/key.pem"}
	list := set.Covered(machine{})
	for _, name := range append(always, secrets...) {
		if !slices.Contains(list, name) {
			t.Errorf("%s is not covered", name)
		}
	}
	for _, name := range []string{work + "/src", work + "/src/main.go", work + "/src/.env.example", work + "/a"} {
		if slices.Contains(list, name) {
			t.Errorf("%s is covered", name)
		}
	}
}
