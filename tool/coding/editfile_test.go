package coding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestC5_Edit(t *testing.T) {
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		want                    string
	}{
		{"a word", "hello world\n", "world", "moon", false, "hello moon\n"},
		{"dollars are no templates", "price value", "value", "$$1 $& ${x} \\1", false, "price $$1 $& ${x} \\1"},
		{"delete a line", "a\nb\nc\n", "b\n", "", false, "a\nc\n"},
		{"all of them", "x x", "x", "xx", true, "xx xx"},
		{"all, overlapping ones from the left", "aaa", "aa", "b", true, "ba"},
		{"without a last newline", "a\nb", "b", "c", false, "a\nc"},
		{"bom", "\ufeffusing System;\n", "using System;", "using Up;", false, "\ufeffusing Up;\n"},
		{"crlf, one line", "a\r\nold\r\nc", "old", "new", false, "a\r\nnew\r\nc"},
		{"crlf, two lines by lf", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", false, "x\r\ny\r\nz\r\nc\r\n"},
		{"crlf, more lines for one", "a\r\nb\r\n", "b", "b1\nb2", false, "a\r\nb1\r\nb2\r\n"},
		{"crlf, all", "a\r\nb\r\na\r\nb\r\n", "a\nb", "a\nc", true, "a\r\nc\r\na\r\nc\r\n"},
		{"a line end alone", "a\r\nb\r\n", "a\n", "a", false, "ab\r\n"},
		{"lf, with crlf given", "a\nb\n", "a\r\nb", "a\r\nc", false, "a\nc\n"},
		{"both: as the place has it", "a\r\nb\r\nc\nd\n", "c\nd", "x\ny", false, "a\r\nb\r\nx\ny\n"},
		{"both: as most of the file has it", "a\r\nb\r\nc\nd\r\n", "b\nc\nd", "x\ny", false, "a\r\nx\r\ny\r\n"},
		{"a carriage return alone is no line end", "a\rb\rc", "b", "B\n", false, "a\rB\n\rc"},
		{"NUL bytes", "a\x00b\n", "a\x00b", "c", false, "c\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.put("f", c.content)
			b.ok(EditFile(), object{"file_path": "f", "old_string": c.old, "new_string": c.new, "replace_all": c.all})
			if got := b.get("f"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestC5_ModeIsKept(t *testing.T) {
	b := newBench(t)
	b.put("run.sh", "echo a\n")
	if err := os.Chmod(filepath.Join(b.dir, "run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	b.ok(EditFile(), object{"file_path": "run.sh", "old_string": "a", "new_string": "b"})
	if info, err := os.Stat(filepath.Join(b.dir, "run.sh")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestC5_ResultShowsThePlace(t *testing.T) {
	b := newBench(t)
	b.put("f", counted(20))
	got := b.ok(EditFile(), object{"file_path": "f", "old_string": "text 10\n", "new_string": "one\ntwo\n"})
	want := "Edited f: replaced 1 occurrence (line 10). It now reads:\n" +
		"  7 | text 7\n  8 | text 8\n  9 | text 9\n 10 | one\n 11 | two\n 12 | text 11\n 13 | text 12\n 14 | text 13\n 15 | text 14\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	got = b.ok(EditFile(), object{"file_path": "f", "old_string": "text", "new_string": "TEXT", "replace_all": true})
	if want := "Edited f: replaced 19 occurrences (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, ...)."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	b.put("g", "a\nb\n")
	if got := b.ok(EditFile(), object{"file_path": "g", "old_string": "a\nb\n", "new_string": ""}); b.get("g") != "" {
		t.Errorf("%q", got)
	}
	b.put("h", "a\nb\n")
	got = b.ok(EditFile(), object{"file_path": "h", "old_string": "b", "new_string": counted(500)})
	if n := strings.Count(got, "\n"); n > maxSnippetLines+5 || !strings.Contains(got, "\n...\n") {
		t.Errorf("%d lines shown", n)
	}
}

func TestC5_NotUnique(t *testing.T) {
	b := newBench(t)
	const content = "a\nx\nb\nx\nx x\n"
	b.put("f", content)
	b.fails(EditFile(), object{"file_path": "f", "old_string": "x", "new_string": "y"}, "4 times", "lines 2, 4, 5", "replace_all", "nothing was changed")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "x\n", "new_string": "y\n"}, "3 times")
	if b.get("f") != content {
		t.Error("the file was changed")
	}
	b.put("overlap", "aaa")
	b.fails(EditFile(), object{"file_path": "overlap", "old_string": "aa", "new_string": "b"}, "2 times", "line 1")
	b.put("mixed", "hello\r\nworld\r\n---\r\nhello\nworld\n")
	b.fails(EditFile(), object{"file_path": "mixed", "old_string": "hello\nworld\n", "new_string": "x\n"}, "2 times", "lines 1, 4")
}

func TestC5_NotFoundShowsTheNearestPlace(t *testing.T) {
	b := newBench(t)
	b.put("f.go", "package a\n\nfunc main() {\n\tfmt.Println(\"hello\")\n\treturn\n}\n\nfunc other() {\n}\n")
	for _, c := range []struct {
		name, old string
		want      []string
	}{
		{"other white space", "func main() {\n    fmt.Println(\"hello\")\n    return\n}", []string{"other white space is at lines 3 to 6", "  4 | \tfmt.Println(\"hello\")\n"}},
		{"one line differs", "func main() {\n\tfmt.Println(\"bye\")\n\treturn\n}", []string{"The nearest place is lines 3 to 6", "  5 | \treturn\n"}},
		{"one line, alike", "\tfmt.Printn(\"helo\")", []string{"The nearest place is line 4", "  4 | \tfmt.Println(\"hello\")\n"}},
		{"nothing alike", "SELECT * FROM users", []string{"Nothing in the file is like it"}},
		{"line numbers", "  4 | \tfmt.Println(\"hello\")\n  5 | \treturn", []string{"line numbers", "leave them out"}},
		{"another agent's line numbers", "     3\tfunc main() {", []string{"line numbers"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			newBench := *b
			newBench.TB = t
			newBench.fails(EditFile(), object{"file_path": "f.go", "old_string": c.old, "new_string": "x"}, append(c.want, "not found in f.go; nothing was changed")...)
		})
	}
	b.put("empty", "")
	b.fails(EditFile(), object{"file_path": "empty", "old_string": "a\n", "new_string": "x"}, "not found")
}

func TestC5_Refusals(t *testing.T) {
	b := newBench(t)
	b.put("f", "a\nb\n")
	b.put("dir/x", "")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "", "new_string": "x"}, "old_string is empty", "write_file")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a", "new_string": "a"}, "are the same")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a\n", "new_string": "a\r\n"}, "line endings alone", "shell")
	b.fails(EditFile(), object{"file_path": "g", "old_string": "a", "new_string": "b"}, "g does not exist", "did you mean f")
	b.fails(EditFile(), object{"file_path": "dir", "old_string": "a", "new_string": "b"}, "is a directory")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a"}, `"new_string" is missing`)
	if err := os.Truncate(filepath.Join(b.dir, "f"), maxEditBytes+1); err != nil {
		t.Fatal(err)
	}
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a", "new_string": "b"}, "larger than 64 MiB")
}

func TestC5_Access(t *testing.T) {
	access, err := EditFile().Access(`{"file_path":"x/./y","old_string":"a","new_string":"b"}`)
	if err != nil || access.Effect.String() != "writes" || len(access.Paths) != 1 || access.Paths[0] != "x/y" {
		t.Errorf("%+v, %v", access, err)
	}
}
