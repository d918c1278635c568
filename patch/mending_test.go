package patch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestR8_IndentationIsAdapted(t *testing.T) {
	tests := []struct {
		name, before string
		hunk         []string
		after        string
		says         string
	}{
		{"spaces for tabs", "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n", []string{" if a {", "-    b()", "+    c()", "+",
			"+    if d {", "+        e()", "+    }", " }"},
			"func f() {\n\tif a {\n\t\tc()\n\n\t\tif d {\n\t\t\te()\n\t\t}\n\t}\n}\n", "hunk 1"},
		{"one line", "\tx\n", []string{"-    x", "+    y"}, "\ty\n", "hunk 1"},
		{"too little", "class A:\n    def f(self):\n        return 1\n", []string{"-def f(self):", "-    return 1",
			"+def f(self):", "+    return 2"}, "class A:\n    def f(self):\n        return 2\n", "hunk 1"},
		{"too much", "a\n  b\n", []string{"     a", "-      b", "+      c"}, "a\n  c\n", "hunk 1"},
		{"the first place that one rule fits", "a\n b\n  a\n  b\n", []string{" a", "-b", "+c"}, "a\n b\n  a\n  c\n",
			"hunk 1"},
		{"the second hunk", "a\n\tb\n", []string{"-a", "+A", "@@", "-  b", "+  B"}, "A\n\tB\n", "hunk 2"},
		{"two hunks", "\ta\n\tb\n", []string{"-a", "+A", "@@", "-  b", "+  B"}, "\tA\n\tB\n", "hunks 1 and 2"},
		{"with typographic characters", "\t“a”\n", []string{`-  "a"`, `+  "b"`}, "\t\"b\"\n", "hunk 1"},
		{"nothing to adapt", "\ta  \n", []string{"-\ta", "+  b"}, "  b\n", ""},
		{"only lines that go", "a\n b\n", []string{"-  a", "-    b"}, "", ""},
		{"typographic spaces in front", "\u00a0\u00a0a\n", []string{"-  a", "+  b"}, "  b\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTree(map[string]string{"f": tt.before})
			changes, err := run(tr, wrap(append([]string{"*** Update File: f"}, tt.hunk...)...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, tr.contents()["f"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			want := "M f"
			if tt.says != "" {
				want += " (the indentation of " + tt.says + " was adapted to the file's)"
			}
			if got := changes[0].String(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestR8_ReplacedFilesAreNamed(t *testing.T) {
	tr := newTree(map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", "d": "1\n"})
	changes, err := run(tr, wrap("*** Add File: a", "+x", "*** Add File: new", "+x", "*** Update File: b",
		"*** Move to: c", "-1", "+2", "*** Delete File: d", "*** Add File: d", "+x"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.String())
	}
	want := []string{"M a (replaced a file that existed)", "A new", "R b -> c (replaced a file that existed)", "D d",
		"A d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A patch in JSON is accepted if it is the only string.
func TestR8_JSON(t *testing.T) {
	for _, text := range []string{
		`{"patch": "*** Begin Patch\n*** Add File: n\n+\"x\"\n*** End Patch"}`,
		`{"input": "*** Begin Patch\n*** Add File: n\n+\"x\"\n*** End Patch\n"}`,
		`"*** Begin Patch\n*** Add File: n\n+\"x\"\n*** End Patch"`,
		"```json\n" + `{"input": "*** Begin Patch\n*** Add File: n\n+\"x\"\n*** End Patch\n"}` + "\n```",
	} {
		tr := newTree(nil)
		if _, err := run(tr, text); err != nil || tr.contents()["n"] != "\"x\"\n" {
			t.Errorf("%s: %v, %q", text, err, tr.contents())
		}
	}
}

const greet = "import sys\n\nclass Greeter(Base):\n    def greet(self, name):\n        print(\"Hello, \" + name)\n\n" +
	"def main():\n    Greeter().greet(sys.argv[1])\n"

// The error of a patch that cannot be applied names the line and says how to correct it.
func TestR8_ErrorsSayHowToMendThePatch(t *testing.T) {
	update := func(lines ...string) string { return wrap(append([]string{"*** Update File: greet.py"}, lines...)...) }
	tests := []struct{ name, patch, want string }{
		{"a one-line hunk", update(`-        print("Hullo, " + name)`, "+        pass"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
          print("Hullo, " + name)
The nearest line is line 5, which reads
          print("Hello, " + name)
Copy old lines from the file exactly.`},
		{"a wrong line of several", update("     def greet(self, name):", `-        print("Hi")`, "-", "+        pass"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
      def greet(self, name):
          print("Hi")
  ` + `
The nearest place begins at line 4, but from line 5 on the file reads
          print("Hello, " + name)
  ` + `
Copy old lines from the file exactly.`},
		{"nothing like it", update("-quux()", "+x"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
  quux()
Nothing in the file is like them: read the file again.`},
		{"line numbers of read_file", update(`-8 |     Greeter().greet(sys.argv[1])`, "+    pass"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
  8 |     Greeter().greet(sys.argv[1])
They begin with line numbers, which are not part of the file: leave them out.`},
		{"no one rule for the indentation", update("-def greet(self, name):", `-            print("Hello, " + name)`,
			"+x"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
  def greet(self, name):
              print("Hello, " + name)
The same lines with other indentation are at line 4, where the file reads
      def greet(self, name):
          print("Hello, " + name)
Copy old lines from the file exactly.`},
		{"out of order", update("@@ def main():", "-    def greet(self, name):", "+    def greet(self):"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file after line 7:
      def greet(self, name):
They are at line 4. Hunks stand in the order of the file, each below its @@ line.`},
		{"not the end", update("-import sys", "+import os", "*** End of File"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not at the end of the file:
  import sys
They are at line 1. Leave out *** End of File.`},
		{"line numbers after @@", update("@@ -7,2 +7,2 @@", " def main():", "-    Greeter().greet(sys.argv[1])",
			"+    pass"),
			`greet.py, hunk 1, line 3 of the patch: @@ takes no line numbers. Write @@ alone, or @@ and a line of the file above the change, such as @@ def main():`},
		{"line numbers and a function after @@", update("@@ -7,2 +7,2 @@ def main():",
			"-    Greeter().greet(sys.argv[1])", "+    pass"),
			`greet.py, hunk 1, line 3 of the patch: @@ takes no line numbers. Write @@ alone, or @@ and a line of the file above the change, such as @@ def main():`},
		{"part of a line after @@", update("@@ class Greeter", `-        print("Hello, " + name)`, "+        pass"),
			`greet.py, hunk 1, line 3 of the patch: the line "class Greeter" after @@ is not in the file. The nearest line is line 3, which reads
  class Greeter(Base):
Write the whole line after @@, or @@ alone.`},
		{"an unknown function", update("@@ def gret(self, name):", `-        print("Hello, " + name)`, "+        pass"),
			`greet.py, hunk 1, line 3 of the patch: the line "def gret(self, name):" after @@ is not in the file. The nearest line is line 4, which reads
      def greet(self, name):
Write the whole line after @@, or @@ alone.`},
		{"a function like no other", update("@@ func quux() {", `-        print("Hello, " + name)`, "+        pass"),
			`greet.py, hunk 1, line 3 of the patch: the line "func quux() {" after @@ is not in the file. Write a whole line of the file after @@, or @@ alone.`},
		{"a function above the hunk before", update("@@ def main():", "-    Greeter().greet(sys.argv[1])", "+    pass",
			"@@ import sys", "+import os"),
			`greet.py, hunk 2, line 6 of the patch: the line "import sys" after @@ is not in the file after line 8. It is at line 1. Hunks stand in the order of the file.`},
		{"a unified diff", "--- a/greet.py\n+++ b/greet.py\n@@ -1 +1 @@\n-import sys\n+import os\n",
			"line 1 of the patch: this is a unified diff. " +
				"Write *** Begin Patch, then *** Update File: PATH instead of the lines --- and +++, then hunks that " +
				"begin with @@ without line numbers, then *** End Patch"},
		{"a diff of git", "diff --git a/greet.py b/greet.py\nindex 1..2 100644\n--- a/greet.py\n+++ b/greet.py\n",
			"line 1 of the patch: this is a unified diff. " +
				"Write *** Begin Patch, then *** Update File: PATH instead of the lines --- and +++, then hunks that " +
				"begin with @@ without line numbers, then *** End Patch"},
		{"a unified diff in the envelope", wrap("--- a/greet.py", "+++ b/greet.py", "@@ -1 +1 @@", "-import sys",
			"+import os"),
			`line 2 of the patch: expected *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH, got "--- a/greet.py". Write *** Update File: PATH instead of the lines --- and +++`},
		{"a unified diff in an update", update("--- a/greet.py", "+++ b/greet.py", "@@", "-import sys", "+import os"),
			`greet.py, hunk 1, line 3 of the patch: these old lines are not in the file:
  -- a/greet.py
Leave out the lines --- and +++: *** Update File names the file.`},
		{"an unknown operation", wrap("*** Rename File: greet.py"),
			`line 2 of the patch: expected *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH, got "*** Rename File: greet.py"`},
		{"JSON that is none", `{"patch": "*** Begin Patch` + "\n" + `*** End Patch"}`,
			"line 1 of the patch: this is JSON. Write the patch alone, from the line *** Begin Patch to the line *** " +
				"End Patch"},
		{"words before it", "Here it is:\n" + update("-import sys", "+import os"),
			"line 1 of the patch: leave out what is before the line *** Begin Patch"},
		{"words behind it", update("-import sys", "+import os") + "\nDone.",
			"line 6 of the patch: leave out what is after the line *** End Patch. One patch can hold all operations"},
		{"no patch at all", "greet.py",
			`line 1 of the patch: a patch begins with the line *** Begin Patch, got "greet.py"`},
		{"cut", "*** Begin Patch\n*** Add File: n\n+x",
			"line 3 of the patch: the patch does not end with the line *** End Patch, so it may be cut off. Nothing " +
				"was changed; send the whole patch"},
		{"a missing file", wrap("*** Update File: gone.py", "-1", "+2"),
			"gone.py, line 2 of the patch: the file does not exist. To create it, use *** Add File"},
		{"a missing file to delete", wrap("*** Delete File: gone.py"),
			"gone.py, line 2 of the patch: the file does not exist"},
		{"a file that the patch has deleted", wrap("*** Delete File: greet.py", "*** Update File: greet.py", "-1",
			"+2"),
			"greet.py, line 3 of the patch: the file does not exist any more: an operation above has deleted or " +
				"moved it"},
		{"a move alone", update("*** Move to: x.py"),
			"greet.py, line 2 of the patch: the update has no hunks. Write what changes, with @@ before it; to move " +
				"a file unchanged, run mv"},
		{"context without its space", update("@@", "import sys", "+import os"),
			`greet.py, hunk 1, line 4 of the patch: a line of a hunk begins with a space, + or -, got "import sys". Put a space before a line that stays, and leave out what is not in the file`},
		{"a new file without its plus", wrap("*** Add File: n", "x"),
			`n, line 3 of the patch: each line of a new file begins with +, got "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTree(map[string]string{"greet.py": greet})
			_, err := run(tr, tt.patch)
			if err == nil {
				t.Fatal("the patch was applied")
			}
			if diff := cmp.Diff(strings.Split(tt.want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(greet, tr.contents()["greet.py"]); diff != "" {
				t.Errorf("a patch that failed changed the file: %s", diff)
			}
		})
	}
}
