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
		{"both: lines that stay keep theirs", "a\nb\r\nc\r\nd\r\ne\nf\r\n", "a\nb\nc\nd\ne\nf", "a\nb\nx\ny\nd\ne\nf",
			false, "a\nb\r\nx\r\ny\r\nd\r\ne\nf\r\n"},
		{"both: a line that is twice", "a\nb\r\n\nb\r\nc\n", "a\nb\n\nb\nc\n", "a\nb\nc\n", false, "a\nb\r\nc\n"},
		{"both: as most of the file has it", "a\r\nb\r\nc\nd\r\n", "b\nc\nd", "x\ny", false, "a\r\nx\r\ny\r\n"},
		{"a carriage return alone is no line end", "a\rb\rc", "b", "B\n", false, "a\rB\n\rc"},
		{"NUL bytes", "a\x00b\n", "a\x00b", "c", false, "c\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFixture(t)
			b.put("f", c.content)
			b.ok(EditFile(), object{"file_path": "f", "old_string": c.old, "new_string": c.new, "replace_all": c.all})
			if got := b.get("f"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestC5_ModeIsKept(t *testing.T) {
	b := newFixture(t)
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
	b := newFixture(t)
	b.put("f", counted(20))
	got := b.ok(EditFile(), object{"file_path": "f", "old_string": "text 10\n", "new_string": "one\ntwo\n"})
	want := "Edited f: replaced 1 occurrence (line 10). It now reads:\n" +
		"  7 | text 7\n  8 | text 8\n  9 | text 9\n 10 | one\n 11 | two\n 12 | text 11\n 13 | text 12\n 14 | text " +
		"13\n 15 | text 14\n"
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
	b := newFixture(t)
	const content = "a\nx\nb\nx\nx x\n"
	b.put("f", content)
	b.fails(EditFile(), object{"file_path": "f", "old_string": "x", "new_string": "y"}, "4 times", "lines 2, 4, 5",
		"replace_all", "nothing was changed")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "x\n", "new_string": "y\n"}, "3 times")
	if b.get("f") != content {
		t.Error("the file was changed")
	}
	b.put("overlap", "aaa")
	b.fails(EditFile(), object{"file_path": "overlap", "old_string": "aa", "new_string": "b"}, "2 times", "line 1")
	b.put("mixed", "hello\r\nworld\r\n---\r\nhello\nworld\n")
	b.fails(EditFile(), object{"file_path": "mixed", "old_string": "hello\nworld\n", "new_string": "x\n"}, "2 times",
		"lines 1, 4")
}

func TestC5_FuzzySteps(t *testing.T) {
	const (
		space  = "except for white space at the ends"
		indent = "except for indentation, to which new_string was adapted"
		typo   = "except for typographic characters"
		both   = "except for white space and typographic"
	)
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		want, how               string
	}{
		{"exact goes first", "a \na\n", "a\n", "b\n", false, "a \nb\n", ""},
		{"spaces in the file", "f(a)  \ng(b)\t\nh\n", "f(a)\ng(b)\n", "f(a)\ng(c)\n", false, "f(a)  \ng(c)\nh\n",
			space},
		{"spaces in the old text", "a\nb\nc\n", "a  \nb", "x\nb", false, "x\nb\nc\n", space},
		{"crlf is kept", "a \r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", false, "x\r\ny\r\nz\r\nc\r\n", space},
		{"no newline at the end, and none comes", "a\nb", "b\n", "c\n", false, "a\nc", space},
		{"deeper", "{\n    a\n      b\n}\n", "a\n  b\n", "a\n  c\n\n  d\n", false, "{\n    a\n      c\n\n      d\n}\n",
			indent},
		{"less deep", "a\n  b\n", "    a\n      b\n", "    a\n      c\n", false, "a\n  c\n", indent},
		{"tabs for spaces", "f {\n\ta {\n\t\tb\n\t}\n}\n", "    a {\n        b\n    }",
			"    a {\n        c {\n            d\n        }\n    }", false,
			"f {\n\ta {\n\t\tc {\n\t\t\td\n\t\t}\n\t}\n}\n", indent},
		{"spaces for tabs", "f {\n  a {\n    b\n  }\n}\n", "f {\n\ta {\n\t\tb\n", "f {\n\ta {\n\t\tc\n", false,
			"f {\n  a {\n    c\n  }\n}\n", indent},
		{"two for four", "f:\n  a:\n    b\n", "f:\n    a:\n        b", "f:\n    a:\n        c\n    d", false,
			"f:\n  a:\n    c\n  d\n", indent},
		{"every place of a step", "  a\n  b\n  a\n  b\n", "a\nb\n", "a\nc\n", true, "  a\n  c\n  a\n  c\n", indent},
		{"quotes within a line", "x = \u201cit\u2019s\u201d + y\n", "\"it's\"", "\"hers\"", false, "x = \"hers\" + y\n",
			typo},
		{"common lines keep theirs", "\u2014 one\n\u2014 two\n\u2014 three\n", "- one\n- two\n- three\n",
			"- one\n- 2\n- three\n", false, "\u2014 one\n- 2\n\u2014 three\n", typo},
		{"a typographic old text", "a - b\n", "a \u2013 b", "c", false, "c\n", typo},
		{"all together", "\tsay(\u2018hi\u2019) \n\tend\n", "say('hi')\nend\n", "say('ho')\nend\n", false,
			"\tsay('ho')\n\tend\n", both},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFixture(t)
			b.put("f", c.content)
			got := b.ok(EditFile(), object{"file_path": "f", "old_string": c.old, "new_string": c.new,
				"replace_all": c.all})
			if b.get("f") != c.want {
				t.Errorf("%q, want %q", b.get("f"), c.want)
			}
			if !strings.Contains(got, c.how) || c.how == "" && strings.Contains(got, "except for") {
				t.Errorf("the result does not say %q: %s", c.how, got)
			}
		})
	}
}

func TestC5_FuzzyStepsRefuse(t *testing.T) {
	b := newFixture(t)
	for _, c := range []struct{ name, content, old, new, want string }{
		{"two places", "  a\n  b\nx\n\ta\n\tb\n", "a\nb\n", "c\n",
			"except for indentation, it occurs 2 times (lines 1, 4)"},
		{"two typographic places", "\u2018a\u2019 \u201ba\u2019\n", "'a'", "c", "it occurs 2 times (line 1)"},
		{"part of a line", "if x {\n\ta\n}\n", "{\n    a\n}", "b", "was not found"},
		{"no rule", "\ta\n\t  b\n", " a\n b\n", "c", "was not found"},
		{"a new line that the rule is not for", "f {\n  a\n}\n", "    f {\n      a\n", "x\n", "was not found"},
		{"one depth, which tells no unit", "\t\t\ta\n", "    a\n", "    b\n", "was not found"},
		{"white space alone", "a\n\nb\n", " \n", "c\n", "was not found"},
		{"a blank line more", "a\nb\n", "a \n\nb\n", "c\n", "was not found"},
		{"a blank line behind the end", "a\n", "a\n\n", "c\n", "was not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.put("f", c.content)
			b.fails(EditFile(), object{"file_path": "f", "old_string": c.old, "new_string": c.new}, c.want,
				"nothing was changed")
			if b.get("f") != c.content {
				t.Error("the file was changed")
			}
		})
	}
}

func TestC5_NotFoundShowsTheNearestPlace(t *testing.T) {
	b := newFixture(t)
	b.put("f.go", "package a\n\nfunc main() {\n\tfmt.Println(\"hello\")\n\treturn\n}\n\nfunc other() {\n}\n")
	for _, c := range []struct {
		name, old string
		want      []string
	}{
		{"other white space", "func  main() {\n    fmt.Println(\"hello\")\n    return\n}",
			[]string{"other white space is at lines 3 to 6", "  4 | \tfmt.Println(\"hello\")\n"}},
		{"one line differs", "func main() {\n\tfmt.Println(\"bye\")\n\treturn\n}",
			[]string{"The nearest place is lines 3 to 6", "  5 | \treturn\n"}},
		{"one line, alike", "\tfmt.Printn(\"helo\")",
			[]string{"The nearest place is line 4", "  4 | \tfmt.Println(\"hello\")\n"}},
		{"nothing alike", "SELECT * FROM users", []string{"Nothing in the file is similar"}},
		{"line numbers", "  4 | \tfmt.Println(\"hello\")\n  5 | \treturn", []string{"line numbers", "leave them out"}},
		{"another agent's line numbers", "     3\tfunc main() {", []string{"line numbers"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			newBench := *b
			newBench.TB = t
			newBench.fails(EditFile(), object{"file_path": "f.go", "old_string": c.old, "new_string": "x"},
				append(c.want, "not found in f.go; nothing was changed")...)
		})
	}
	b.put("empty", "")
	b.fails(EditFile(), object{"file_path": "empty", "old_string": "a\n", "new_string": "x"}, "not found")
}

func TestC5_Refusals(t *testing.T) {
	b := newFixture(t)
	b.put("f", "a\nb\n")
	b.put("dir/x", "")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "", "new_string": "x"}, "old_string is empty",
		"write_file")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a", "new_string": "a"}, "are the same")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a\n", "new_string": "a\r\n"}, "only in line endings",
		"shell")
	b.fails(EditFile(), object{"file_path": "g", "old_string": "a", "new_string": "b"}, "g does not exist",
		"did you mean f")
	b.fails(EditFile(), object{"file_path": "dir", "old_string": "a", "new_string": "b"}, "is a directory")
	b.fails(EditFile(), object{"file_path": "f", "old_string": "a"}, `"new_string" is missing`)
}

func TestC5_Access(t *testing.T) {
	access, err := EditFile().Access(`{"file_path":"x/./y","old_string":"a","new_string":"b"}`)
	if err != nil || access.Effect.String() != "writes" || len(access.Paths) != 1 || access.Paths[0] != "x/y" {
		t.Errorf("%+v, %v", access, err)
	}
}
