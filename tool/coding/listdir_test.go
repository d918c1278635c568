package coding

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestC9_ListDir(t *testing.T) {
	b := newFixture(t)
	b.put("b.txt", "12345")
	b.put("a/x/y/z", "1")
	b.put("a/.hidden", "")
	b.put(".git/config", "")
	b.put(".gitignore", "b.txt\n")
	if err := os.Symlink("a", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args object
		want string
	}{
		{"one level", object{}, ".git/\n.gitignore (6 bytes)\na/\nb.txt (5 bytes)\nempty/\nlink@\n"},
		{"two levels", object{"depth": 2},
			".git/\n.gitignore (6 bytes)\na/\n  .hidden (0 bytes)\n  x/\nb.txt (5 bytes)\nempty/\nlink@\n"},
		{"of a directory", object{"path": "a/", "depth": 10}, ".hidden (0 bytes)\nx/\n  y/\n    z (1 byte)\n"},
		{"without some", object{"depth": 2, "ignore": []string{".*", "x", "*.txt"}}, "a/\nempty/\nlink@\n"},
		{"without any", object{"path": "a/x", "ignore": []string{"?"}}, "(ignore leaves out every entry)\n"},
		{"an empty one", object{"path": "empty"}, "(the directory is empty)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, b.ok(ListDir(), c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
	b.fails(ListDir(), object{"path": "b.txt"}, "is a file, not a directory", "read_file")
	b.fails(ListDir(), object{"path": "empti"}, "does not exist", "did you mean empty")
	b.fails(ListDir(), object{"depth": -1}, "depth is -1", "from 1 to 10")
	b.fails(ListDir(), object{"depth": 11}, "from 1 to 10")
	b.fails(ListDir(), object{"ignore": []string{"[a"}}, "[a", "is not valid")
	for i := range maxDirEntries {
		b.put(fmt.Sprintf("many/%04d", i), "")
	}
	if out := b.run(ListDir(), object{"path": "many"}); strings.Contains(out.Content.Text(), "there are more") {
		t.Error("all of them are listed")
	}
	b.put("many/x", "")
	if out := b.run(ListDir(), object{"path": "many"}); !strings.HasSuffix(out.Content.Text(),
		"[Only the first 2000 entries are listed; there are more.]\n") {
		t.Error("the end is not told")
	}
}
