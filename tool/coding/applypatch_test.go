package coding

import (
	"strings"
	"testing"
)

func TestC6_ApplyPatchTool(t *testing.T) {
	b := newFixture(t)
	b.put("a.sh", "echo one\n")
	b.put("old.txt", "x\n")
	patch := strings.Join([]string{"*** Begin Patch", "*** Update File: a.sh", "@@", "-echo one", "+echo two",
		"*** Add File: new/n.txt", "+n",
		"*** Update File: old.txt", "*** Move to: moved.txt", "-x", "+y", "*** End Patch"}, "\n")
	o := b.run(ApplyPatch(), object{"patch": patch})
	if got := o.Content.Text(); o.IsError || !strings.Contains(got, "M a.sh\nA new/n.txt\nR old.txt -> moved.txt\n") {
		t.Fatalf("%v %s", o.IsError, got)
	}
	for name, want := range map[string]string{"a.sh": "echo two\n", "new/n.txt": "n\n", "moved.txt": "y\n"} {
		if got := b.get(name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	o = b.run(ApplyPatch(), object{"patch": strings.Replace(patch, "-echo one", "-echo three", 1)})
	if got := o.Content.Text(); !o.IsError || !strings.Contains(got, "a.sh, hunk 1") {
		t.Errorf("%v %s", o.IsError, got)
	}
	o = b.run(ApplyPatch(), object{"patch": "*** Begin Patch\n*** Add File: ../out.txt\n+x\n*** End Patch"})
	if !o.IsError {
		t.Error("a file outside was written")
	}
}

// A patch may name a file in several ways. The operations follow each other as with one name.
func TestC6_OneFileWithTwoNames(t *testing.T) {
	b := newFixture(t)
	b.put("a.txt", "one\ntwo\n")
	o := b.run(ApplyPatch(), object{"patch": strings.Join([]string{"*** Begin Patch", "*** Update File: a.txt", "-one",
		"+1",
		"*** Update File: " + b.env.WorkDir() + "/a.txt", "-two", "+2", "*** Update File: ./a.txt",
		"*** Move to: b.txt", "-1", "+I",
		"*** Add File: " + b.env.WorkDir() + "/a.txt", "+new", "*** End Patch"}, "\n")})
	if o.IsError || b.get("b.txt") != "I\n2\n" || b.get("a.txt") != "new\n" {
		t.Errorf("%s", o.Content.Text())
	}
}

func TestC6_PatchAccess(t *testing.T) {
	access, err := ApplyPatch().Access(
		`{"patch":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n-1\n+2\n*** Delete File: c\n*** End Patch"}`)
	if err != nil || strings.Join(access.Paths, " ") != "a b c" {
		t.Errorf("%+v, %v", access, err)
	}
}

// A patch written as a shell command is applied too. Its cd fails if a shell's would.
func TestC6_ApplyPatchTakesAnInvocation(t *testing.T) {
	b := newFixture(t)
	b.put("sub dir/a.txt", "one\n")
	script := func(dir string) string {
		return "cd " + dir + " && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** Add " +
			"File: b.txt\n+b\n*** End Patch\nEOF\n"
	}
	if got := b.ok(ApplyPatch(), object{"patch": script(`"sub dir"`)}); !strings.Contains(got,
		"M sub dir/a.txt\nA sub dir/b.txt\n") {
		t.Error(got)
	}
	if a, n := b.get("sub dir/a.txt"), b.get("sub dir/b.txt"); a != "two\n" || n != "b\n" {
		t.Errorf("a.txt %q, b.txt %q", a, n)
	}
	add := "cd %s && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\nEOF"
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "missing", 1)}, "cd missing: ")
	b.fails(ApplyPatch(), object{"patch": "cd missing && apply_patch <<EOF\n*** Begin Patch\n*** Add File: n\n+$n\n" +
		"*** End Patch\nEOF"}, "cd missing: ")
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "'sub dir/a.txt'", 1)}, "it is not a directory")
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "..", 1)})
	if access := PatchAccess(script("x")); strings.Join(access.Paths, " ") != "x/a.txt x/b.txt" {
		t.Errorf("%+v", access)
	}
}

// The result says if a patch was applied differently than written, or not at all.
func TestR8_ApplyPatchTexts(t *testing.T) {
	tests := []struct{ name, patch, want string }{
		{"indentation", "*** Update File: src/main.go\n@@ func main() {\n-    run()\n+    run(1)\n+    stop()",
			"Done. The patch changed these files:\n" +
				"M src/main.go (the indentation of hunk 1 was adapted to the file's)\n"},
		{"a replaced file", "*** Add File: old.txt\n+new",
			"Done. The patch changed these files:\nM old.txt (replaced a file that existed)\n"},
		{"a missing file", "*** Update File: src/mian.go\n-run()\n+stop()",
			"Error: src/mian.go, line 2 of the patch: the file does not exist. " +
				"To create it, use *** Add File. Files with similar names: src/main.go"},
		{"a missing file to delete", "*** Delete File: src/quux",
			"Error: src/quux, line 2 of the patch: the file does not exist"},
		{"a missing directory", "*** Delete File: lib/main.go",
			"Error: lib/main.go, line 2 of the patch: the file does not exist"},
		{"a deleted file", "*** Delete File: old.txt\n*** Update File: old.txt\n-x\n+y",
			"Error: old.txt, line 3 of the patch: the file does not exist any more: " +
				"an operation above has deleted or moved it"},
		{"a one-line hunk", "*** Update File: src/main.go\n-func mian() {\n+func run() {",
			"Error: src/main.go, hunk 1, line 3 of the patch: these old lines are not in the file:\n" +
				"  func mian() {\nThe nearest line is line 1, which reads\n  func main() {\nCopy old lines from the " +
				"file exactly."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.put("src/main.go", "func main() {\n\trun()\n}\n")
			b.put("old.txt", "x\n")
			o := b.run(ApplyPatch(), object{"patch": "*** Begin Patch\n" + tt.patch + "\n*** End Patch"})
			if got := o.Model.Text(); got != tt.want {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
			if tt.name == "indentation" && b.get("src/main.go") != "func main() {\n\trun(1)\n\tstop()\n}\n" {
				t.Errorf("the file holds %q", b.get("src/main.go"))
			}
		})
	}
}

// The permission hook also sees the paths of a patch in JSON.
func TestR8_AccessOfAPatchInJSON(t *testing.T) {
	if access := PatchAccess(`{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`); strings.Join(
		access.Paths, " ") != "a" {
		t.Errorf("%+v", access)
	}
}

func TestR8_TheExampleInTheDescriptionApplies(t *testing.T) {
	_, example, _ := strings.Cut(ApplyPatch().Description, ":\n")
	example, _, ended := strings.Cut(example, "*** End Patch\n")
	if lines := strings.Count(example, "\n") + 1; !ended || lines != 6 {
		t.Errorf("the example has %d lines", lines)
	}
	b := newFixture(t)
	b.put("src/app.py", "def part():\n    print(\"Hi\")\n\ndef greet():\n    print(\"Hi\")\n")
	b.ok(ApplyPatch(), object{"patch": example + "*** End Patch"})
	if got := b.get("src/app.py"); got != "def part():\n    print(\"Hi\")\n\ndef greet():\n    print(\"Hello\")\n" {
		t.Errorf("src/app.py holds %q", got)
	}
}
