package coding

import (
	"strings"
	"testing"
)

func TestC6_ApplyPatchTool(t *testing.T) {
	b := newBench(t)
	b.put("a.sh", "echo one\n")
	b.put("old.txt", "x\n")
	patch := strings.Join([]string{"*** Begin Patch", "*** Update File: a.sh", "@@", "-echo one", "+echo two", "*** Add File: new/n.txt", "+n",
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

func TestC6_PatchAccess(t *testing.T) {
	access, err := ApplyPatch().Access(`{"patch":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n-1\n+2\n*** Delete File: c\n*** End Patch"}`)
	if err != nil || strings.Join(access.Paths, " ") != "a b c" {
		t.Errorf("%+v, %v", access, err)
	}
}

// A model that writes the patch as for a shell means the same. A directory that a shell could not change to is none here either.
func TestC6_ApplyPatchTakesAnInvocation(t *testing.T) {
	b := newBench(t)
	b.put("sub dir/a.txt", "one\n")
	script := func(dir string) string {
		return "cd " + dir + " && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** Add File: b.txt\n+b\n*** End Patch\nEOF\n"
	}
	if got := b.ok(ApplyPatch(), object{"patch": script(`"sub dir"`)}); !strings.Contains(got, "M sub dir/a.txt\nA sub dir/b.txt\n") {
		t.Error(got)
	}
	if a, n := b.get("sub dir/a.txt"), b.get("sub dir/b.txt"); a != "two\n" || n != "b\n" {
		t.Errorf("a.txt %q, b.txt %q", a, n)
	}
	add := "cd %s && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\nEOF"
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "missing", 1)}, "cd missing: ")
	b.fails(ApplyPatch(), object{"patch": "cd missing && apply_patch <<EOF\n*** Begin Patch\n*** Add File: n\n+$n\n*** End Patch\nEOF"}, "cd missing: ")
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "'sub dir/a.txt'", 1)}, "it is no directory")
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "..", 1)})
	if access := PatchAccess(script("x")); strings.Join(access.Paths, " ") != "x/a.txt x/b.txt" {
		t.Errorf("%+v", access)
	}
}
