package coding

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestC9_ReadManyFiles(t *testing.T) {
	b := newFixture(t)
	b.put("a.go", "one\ntwo\n")
	b.put("src/b.go", "three\n")
	b.put("src/b_test.go", "four\n")
	b.put("src/empty", "")
	b.put("src/skip.log", "log\n")
	b.put(".gitignore", "*.log\n")
	b.put("bin", "a\x00b")
	b.put("odd[1].go", "odd\n")
	for _, c := range []struct {
		name string
		args object
		want string
	}{
		{"files, as they are named, once", object{"paths": []string{"src/b.go", "a.go", "./a.go"}},
			"--- src/b.go ---\n  1 | three\n--- a.go ---\n  1 | one\n  2 | two\n"},
		{"a directory, by name, without what is ignored", object{"paths": []string{"src"}},
			"--- src/b.go ---\n  1 | three\n--- src/b_test.go ---\n  1 | four\n--- src/empty ---\n(the file is " +
				"empty)\n"},
		{"a pattern, and what is left out", object{"paths": []string{"**/b*.go"}, "exclude": []string{"**/*_test.go"}},
			"--- src/b.go ---\n  1 | three\n"},
		{"a file that looks like a pattern", object{"paths": []string{"odd[1].go"}}, "--- odd[1].go ---\n  1 | odd\n"},
		{"an ignored file that is named", object{"paths": []string{"src/skip.log"}},
			"--- src/skip.log ---\n  1 | log\n"},
		{"what cannot be read is told", object{"paths": []string{"a.go", "bin", "b.go", "*.rs"}},
			"--- a.go ---\n  1 | one\n  2 | two\n[b.go does not exist; did you mean a.go?]\n[*.rs: there are no such " +
				"files]\n[bin: is not a text file; read_file reads images, and says more about other files]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, b.ok(ReadManyFiles(), c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
	b.fails(ReadManyFiles(), object{"paths": []string{}}, "paths is empty")
	b.fails(ReadManyFiles(), object{"paths": []string{"nowhere/x", "*.rs"}}, "no file could be read",
		"nowhere/x does not exist", "*.rs: there are no such files", "glob")
	b.fails(ReadManyFiles(), object{"paths": []string{"a["}}, "glob pattern")
}

func TestC9_ReadManyFilesIsBounded(t *testing.T) {
	b := newFixture(t)
	for i := range maxManyFiles + 5 {
		b.put(fmt.Sprintf("many/%03d", i), "x\n")
	}
	if text := b.run(ReadManyFiles(), object{"paths": []string{"many"}}).Content.Text(); !strings.HasSuffix(text,
		"--- many/099 ---\n  1 | x\n[5 more files were not read, from many/100 on: name fewer at once]\n") {
		t.Errorf("it ends %q", text[max(0, len(text)-200):])
	}
	b.put("big/1", counted(defaultReadLines+1))
	b.put("big/2", strings.Repeat(strings.Repeat("x", 999)+"\n", maxManyBytes/1000))
	b.put("big/3", "y\n")
	text := b.run(ReadManyFiles(), object{"paths": []string{"big"}}).Content.Text()
	for _, want := range []string{"[Lines 1 to 2000 are shown; the file goes on. Use read_file with offset 2001 to " +
		"read on.]\n--- big/2", "[1 more files were not read, from big/3 on"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// What is read behind a wildcard is what the access says, and links in a directory lead nowhere.
func TestC9_ReadManyFilesElsewhere(t *testing.T) {
	b := newFixture(t)
	b.put("src/a.txt", "ordinary\n")
	b.put("secret", "hidden\n")
	if err := os.Symlink("../secret", filepath.Join(b.dir, "src/b.txt")); err != nil {
		t.Fatal(err)
	}
	access, err := ReadManyFiles().Access(`{"paths":["src/*/../../secret","src/{a,b}/../../x/*"]}`)
	if diff := cmp.Diff([]string{"secret", "x"}, access.Paths); err != nil || diff != "" {
		t.Error(diff, err)
	}
	for _, name := range []string{"src", "src/*.txt"} {
		text := b.run(ReadManyFiles(), object{"paths": []string{name}}).Content.Text()
		if strings.Contains(text, "hidden") || !strings.Contains(text, "ordinary") ||
			!strings.Contains(text, "symbolic links were left out (1)") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestC9_ReadManyFilesAccess(t *testing.T) {
	access, err := ReadManyFiles().Access(`{"paths":["a/./b","src/**/*.go","*.go","/x/{a,b}"]}`)
	if err != nil || access.Effect.String() != "read_only" {
		t.Errorf("%v, %v", access.Effect, err)
	}
	if diff := cmp.Diff([]string{"a/b", "src", ".", "/x"}, access.Paths); diff != "" {
		t.Error(diff)
	}
}
