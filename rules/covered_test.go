package rules_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	set, err := rules.Load(rules.Dirs{Work: work, Home: home, Local: machine{}},
		rules.Source{Name: "rules.json", Data: []byte(`{"permissions": {
		"deny": ["Read(**/*.secret)", "Read(~/diary/**)", "Read(//srv/data)", "Edit(./src/**)"], "ask": ["Read(./private/**)"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	always := []string{home + "/.ssh", home + "/.netrc", home + "/.aws", home + "/diary", "/srv/data",
		home + "/.config/composer/auth.json", home + "/.cloudflared", home + "/.gradle/gradle.properties",
		home + "/.oci", work + "/private", work + "/a/notes.secret"}
	secrets := []string{work + "/.env", work + "/a/b/key.pem"}
	list := set.Covered()
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

// Where the name of a rule leads is covered too: a command can read it by that name.
func TestU14_CoveredBehindLinks(t *testing.T) {
	p, data := newProject(t, "x"), t.TempDir()
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"all/x", "some/a.txt", "some/b.md"} {
		if err := os.MkdirAll(filepath.Join(data, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.link(data+"/all", "all")
	p.link(data+"/some", "some")
	dirs := p.dirs()
	dirs.Local = machine{}
	set, err := rules.Load(dirs, source(`{"deny": ["Read(./all/**)", "Read(./some/*.txt)"]}`))
	if err != nil {
		t.Fatal(err)
	}
	list := set.Covered()
	for name, want := range map[string]bool{data + "/all": true, data + "/some/a.txt": true, data + "/some/b.md": false,
		data + "/some": false, p.dir + "/all": true} {
		if slices.Contains(list, name) != want {
			t.Errorf("%s is covered: %v", name, !want)
		}
	}
}

// counted counts the directories that are read.
type counted struct {
	machine
	read *int
}

func (c counted) ReadDir(dir string) ([]fs.DirEntry, error) {
	*c.read++
	return c.machine.ReadDir(dir)
}

// TestK13_ManyPatterns has a repository's 1,000 rules not compared with all of its files, which
// would take a minute: what is left is covered.
func TestK13_ManyPatterns(t *testing.T) {
	work := t.TempDir()
	const dirs, files = 20, 100
	for d := range dirs {
		dir := filepath.Join(work, fmt.Sprintf("d%02d", d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf(`"Read(./**/a/**/b/**/c/**/d/**/e/**/f%d)"`, i))
	}
	read := 0
	set, err := rules.Load(rules.Dirs{Work: work, Local: counted{read: &read}}, rules.Source{Name: "rules.json",
		Origin: rules.Project, Data: []byte(`{"permissions": {"deny": [` + strings.Join(list, ",") + `]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	covered := set.Covered()
	if read > dirs/2 || !slices.Contains(covered, work+"/d19") || slices.Contains(covered, work+"/d00") {
		t.Errorf("%d directories were read; covered: %v", read, covered)
	}
}
