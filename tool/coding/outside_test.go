package coding

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
)

// outside holds a directory with the tools' root in it, links that lead out of the root, and files
// beside it that nothing may change.
type outside struct {
	dir string
	*fixture
}

func newOutside(t *testing.T) outside {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	for name, content := range map[string]string{"secret": "one\n", "beside/secret": "one\n", "root/a": "one\n",
		"root/d/a": "one\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"up": "..", "d/file": "../../secret", "absolute": filepath.Join(dir,
		"beside"), "new": "../fresh", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	e, err := env.NewLocal(root, env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return outside{dir, &fixture{t, root, e}}
}

// files returns what is beside the root, by name. A directory is an empty text.
func (o outside) files() map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(o.dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == o.fixture.dir:
			return fs.SkipDir
		case d.IsDir():
			found[name] = ""
			return nil
		}
		content, err := os.ReadFile(name)
		found[name] = string(content)
		return err
	})
	if err != nil {
		o.Fatal(err)
	}
	return found
}

// For any path, edit_file, write_file and apply_patch write inside the root or not at all, and do
// not panic.
func FuzzD2_NothingIsWrittenOutside(f *testing.F) {
	for _, name := range []string{"a", "./d//../a", "../secret", "up/secret", "d/file", "d/../../secret",
		"absolute/secret", "new", "new/x", "loop", "", ".", "..", "/",
		"$DIR/secret", "$DIR/root/../secret", "$DIR/root/a", "$DIR/root/up/root/up/secret", "..\\secret", "a/", "a/b",
		"up", "-", "~/x", "x\x00y", "\xff"} {
		f.Add(name, ".")
		f.Add("secret", name)
	}
	f.Fuzz(func(t *testing.T, name, dir string) {
		o := newOutside(t)
		before := o.files()
		name, dir = strings.ReplaceAll(name, "$DIR", o.dir), strings.ReplaceAll(dir, "$DIR", o.dir)
		if filepath.IsAbs(name) && !strings.HasPrefix(name, o.dir) || filepath.IsAbs(dir) &&
			!strings.HasPrefix(dir, o.dir) {
			t.Skip("another place of this machine")
		}
		update := "*** Begin Patch\n*** Update File: " + name + "\n-one\n+two\n*** End Patch\n"
		move := "*** Begin Patch\n*** Update File: a\n*** Move to: " + name + "\n-one\n+two\n*** End Patch\n"
		add := "*** Begin Patch\n*** Add File: " + name + "\n+two\n*** End Patch\n"
		for _, patch := range []string{update, move, add,
			strings.ReplaceAll(update, "Update File: "+name+"\n-one\n+two", "Delete File: "+name)} {
			o.run(ApplyPatch(), object{"patch": patch})
			o.run(ApplyPatch(), object{"patch": "cd '" + dir + "' && apply_patch <<'EOF'\n" + patch + "EOF\n"})
		}
		o.run(EditFile(), object{"file_path": name, "old_string": "one", "new_string": "two"})
		o.run(WriteFile(), object{"file_path": name, "content": "two"})
		o.run(WriteFile(), object{"file_path": filepath.Join(dir, name), "content": "two"})
		if diff := cmp.Diff(before, o.files()); diff != "" {
			t.Errorf("with %q and %q, -before +after:\n%s", name, dir, diff)
		}
	})
}
