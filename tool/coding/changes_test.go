package coding

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/tool"
)

// changed returns a change of a file between two contents. The content none means that there is no
// file.
func (b *fixture) changed(kind tool.ChangeKind, name, before, after string) tool.Change {
	b.Helper()
	return tool.Change{Kind: kind, Path: b.real(name), Before: hashed(before), After: hashed(after)}
}

// real returns a file's path in the form of results.
func (b *fixture) real(name string) string {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		b.Fatal(err)
	}
	return filepath.ToSlash(filepath.Join(dir, name))
}

const none = "(no file)"

func hashed(content string) env.Hash {
	if content == none {
		return env.NoFile
	}
	return env.HashOf([]byte(content))
}

func (b *fixture) changes(what string, out *tool.Outcome, want ...tool.Change) {
	b.Helper()
	if diff := gocmp.Diff(want, out.Changes); diff != "" {
		b.Errorf("%s: %s\n-want +got\n%s", what, out.Model.Text(), diff)
	}
}

func TestJ4_ChangesOfSingleFiles(t *testing.T) {
	b := newFixture(t)
	b.changes("created", b.run(WriteFile(), object{"file_path": "d/new", "content": "n\n"}),
		b.changed(tool.Created, "d/new", none, "n\n"))
	b.changes("created empty", b.run(WriteFile(), object{"file_path": "empty", "content": ""}),
		b.changed(tool.Created, "empty", none, ""))
	b.changes("replaced", b.run(WriteFile(), object{"file_path": "d/new", "content": "m\n"}),
		b.changed(tool.Modified, "d/new", "n\n", "m\n"))
	same := b.run(WriteFile(), object{"file_path": "d/new", "content": "m\n"})
	b.changes("replaced by the same", same)
	if len(same.Seen) != 1 || same.Seen[0] != (tool.Seen{Path: b.real("d/new"), Hash: hashed("m\n")}) {
		t.Errorf("what was written is not seen: %+v", same.Seen)
	}
	b.changes("edited", b.run(EditFile(), object{"file_path": "d/new", "old_string": "m", "new_string": "o"}),
		b.changed(tool.Modified, "d/new", "m\n", "o\n"))
	b.changes("not edited", b.run(EditFile(), object{"file_path": "d/new", "old_string": "m", "new_string": "o"}))
	b.changes("not written", b.run(WriteFile(), object{"file_path": "d", "content": ""}))
	b.changes("read", b.run(ReadFile(), object{"file_path": "d/new"}))

	if err := os.Symlink("d/new", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	b.changes("through a link", b.run(WriteFile(), object{"file_path": "link", "content": "l\n"}),
		b.changed(tool.Modified, "d/new", "o\n", "l\n"))
}

func patchOf(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

func TestJ4_ChangesOfPatches(t *testing.T) {
	moved := func(b *fixture, from, to, before, after string) tool.Change {
		c := b.changed(tool.Moved, to, before, after)
		c.From = b.real(from)
		return c
	}
	for name, tt := range map[string]struct {
		files map[string]string
		patch string
		want  func(b *fixture) []tool.Change
	}{
		"each kind": {map[string]string{"a": "1\n", "b": "2\n", "c": "3\n"},
			patchOf("*** Update File: a", "@@", "-1", "+one", "*** Add File: new", "+n", "*** Delete File: b",
				"*** Update File: c", "*** Move to: d", "-3", "+three"),
			func(b *fixture) []tool.Change {
				return []tool.Change{b.changed(tool.Modified, "a", "1\n", "one\n"), b.changed(tool.Created, "new", none,
					"n\n"), b.changed(tool.Deleted, "b", "2\n", none), moved(b, "c", "d", "3\n", "three\n")}
			}},
		"a file twice": {map[string]string{"a": "1\n2\n"}, patchOf("*** Update File: a", "@@", "-1", "+one",
			"*** Update File: a", "@@", "-2", "+two"),
			func(b *fixture) []tool.Change {
				return []tool.Change{b.changed(tool.Modified, "a", "1\n2\n", "one\ntwo\n")}
			}},
		"added over a file": {map[string]string{"a": "1\n"}, patchOf("*** Add File: a", "+2"),
			func(b *fixture) []tool.Change { return []tool.Change{b.changed(tool.Modified, "a", "1\n", "2\n")} }},
		"added and deleted": {nil, patchOf("*** Add File: a", "+2", "*** Delete File: a"),
			func(*fixture) []tool.Change { return nil }},
		"added as it was": {map[string]string{"a": "1\n"}, patchOf("*** Add File: a", "+1"),
			func(*fixture) []tool.Change { return nil }},
		"moved and moved again": {map[string]string{"a": "1\n"}, patchOf("*** Update File: a", "*** Move to: b", "-1",
			"+2", "*** Update File: b", "*** Move to: c", "-2", "+3"),
			func(b *fixture) []tool.Change { return []tool.Change{moved(b, "a", "c", "1\n", "3\n")} }},
		"moved over a file": {map[string]string{"a": "1\n", "b": "2\n"}, patchOf("*** Update File: a", "*** Move to: b",
			"-1", "+3"),
			func(b *fixture) []tool.Change {
				return []tool.Change{b.changed(tool.Deleted, "a", "1\n", none),
					b.changed(tool.Modified, "b", "2\n", "3\n")}
			}},
		"moved away and added anew": {map[string]string{"a": "1\n"}, patchOf("*** Update File: a", "*** Move to: b",
			"-1", "+2", "*** Add File: a", "+3"),
			func(b *fixture) []tool.Change {
				return []tool.Change{b.changed(tool.Modified, "a", "1\n", "3\n"),
					b.changed(tool.Created, "b", none, "2\n")}
			}},
		"refused": {map[string]string{"a": "1\n"}, patchOf("*** Add File: new", "+n", "*** Update File: a", "@@", "-2",
			"+3"), func(*fixture) []tool.Change { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			for name, content := range tt.files {
				b.put(name, content)
			}
			b.changes(name, b.run(ApplyPatch(), object{"patch": tt.patch}), tt.want(b)...)
		})
	}
	b := newFixture(t)
	script := "apply_patch <<'EOF'\n" + patchOf("*** Add File: new", "+n") + "\nEOF"
	out := b.run(sh(), object{"command": script})
	b.changes("by shell", out, b.changed(tool.Created, "new", none, "n\n"))
	if out.Ran != nil {
		t.Errorf("a patch ran as a command: %+v", out.Ran)
	}
}

// stuckFile is an environment in which one file cannot be replaced, and another cannot be restored.
type stuckFile struct {
	env.Environment
	replaced map[string]int
}

func (s *stuckFile) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	s.replaced[name]++
	if name == "stuck" || name == "torn" && s.replaced[name] > 1 {
		return errors.New("the disk is full")
	}
	return env.Replace(ctx, s.Environment, name, was, data, perm)
}

func (s *stuckFile) Delete(ctx context.Context, name string, was env.Hash) error {
	return env.Delete(ctx, s.Environment, name, was)
}

// A patch that fails halfway lists the files that it left changed, and not those that it restored.
func TestJ4_ChangesOfATornPatch(t *testing.T) {
	b := newFixture(t)
	for _, name := range []string{"fine", "torn", "stuck"} {
		b.put(name, "1\n")
	}
	b.env = &stuckFile{b.env, map[string]int{}}
	out := b.run(ApplyPatch(), object{"patch": patchOf("*** Update File: fine", "@@", "-1", "+2",
		"*** Update File: torn", "@@", "-1", "+2", "*** Update File: stuck", "@@", "-1", "+2")})
	if !out.IsError || b.get("fine") != "1\n" || b.get("torn") != "2\n" {
		t.Fatalf("%s: fine %q, torn %q", out.Model.Text(), b.get("fine"), b.get("torn"))
	}
	b.changes("torn", out, b.changed(tool.Modified, "torn", "1\n", "2\n"))
}

// A diff is made only if the call asks for one. git can apply it, and it is no longer than allowed.
func TestJ4_Diffs(t *testing.T) {
	git := peer.Need(t, "git")
	b := newFixture(t)
	var original strings.Builder
	for range 30 {
		original.WriteString("a line\n")
	}
	original.WriteString("the end") // without a line break
	files := map[string]string{"edited": original.String(), "deleted": "gone\n", "moved": "1\n2\n", "empty": ""}
	copied := t.TempDir()
	for name, content := range files {
		b.put(name, content)
		if err := os.WriteFile(filepath.Join(copied, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	diffs := ""
	for _, c := range []struct {
		tool tool.Tool
		args object
	}{
		{EditFile(), object{"file_path": "edited", "old_string": "the end", "new_string": "an end\nand more\n"}},
		{WriteFile(), object{"file_path": "d/new", "content": "n\n"}},
		{WriteFile(), object{"file_path": "empty", "content": "no more\n"}},
		{WriteFile(), object{"file_path": filepath.Join(b.dir, "absolute"), "content": "n"}},
		{ApplyPatch(), object{"patch": patchOf("*** Delete File: deleted", "*** Update File: moved",
			"*** Move to: there", "-1", "+one")}},
	} {
		for _, change := range b.runCall(t.Context(), c.tool, c.args, tool.Call{Diffs: 1 << 20}).Changes {
			if change.Diff == "" || change.DiffCut {
				t.Errorf("%s: %+v", change.Path, change)
			}
			diffs += change.Diff
		}
	}
	cmd := exec.Command(git, "apply", "-")
	cmd.Dir, cmd.Stdin = copied, strings.NewReader(diffs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v %s\n%s", err, out, diffs)
	}
	for _, name := range []string{"edited", "d/new", "empty", "absolute", "there"} {
		if got, err := os.ReadFile(filepath.Join(copied, name)); err != nil || string(got) != b.get(name) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, b.get(name))
		}
	}
	for _, name := range []string{"deleted", "moved"} {
		if _, err := os.Stat(filepath.Join(copied, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJ4_DiffsHaveALimit(t *testing.T) {
	b := newFixture(t)
	write := func(name, content string, diffs int) tool.Change {
		t.Helper()
		out := b.runCall(t.Context(), WriteFile(), object{"file_path": name, "content": content},
			tool.Call{Diffs: diffs})
		if len(out.Changes) != 1 {
			t.Fatalf("%s", out.Model.Text())
		}
		return out.Changes[0]
	}
	lines := strings.Repeat("line\n", 100)
	if c := write("none", lines, 0); c.Diff != "" || c.DiffCut {
		t.Errorf("nobody asked for %q", c.Diff)
	}
	if c := write("negative", lines, -1); c.Diff != "" {
		t.Errorf("less than nothing is %q", c.Diff)
	}
	c := write("cut", lines, 100)
	if want := "--- /dev/null\n+++ b/cut\n@@ -0,0 +1,100 @@\n" + strings.Repeat("+line\n", 9); c.Diff != want ||
		!c.DiffCut {
		t.Errorf("cut %v: %q, want %q", c.DiffCut, c.Diff, want)
	}
	for name, content := range map[string]string{"binary": "a\x00b\n", "long": strings.Repeat("line\n",
		maxDiffBytes/5+1)} {
		if c := write(name, content, 1<<20); c.Diff != "" || c.DiffCut || c.After != hashed(content) {
			t.Errorf("%s: %.100q", name, c.Diff)
		}
		if c := write(name, "x\n", 1<<20); c.Diff != "" || c.Before != hashed(content) {
			t.Errorf("%s replaced: %.100q", name, c.Diff)
		}
	}
	b.put("no text", "\xff\xfd\n")
	if c := write("no text", "x\n", 1<<20); c.Diff != "" || c.Before != hashed("\xff\xfd\n") {
		t.Errorf("%q", c.Diff)
	}
	out := b.runCall(t.Context(), ApplyPatch(), object{"patch": patchOf("*** Add File: p", "+1", "*** Add File: q",
		"+1")}, tool.Call{Diffs: 60})
	if len(out.Changes) != 2 || out.Changes[0].DiffCut || !out.Changes[1].DiffCut ||
		len(out.Changes[0].Diff)+len(out.Changes[1].Diff) > 60 {
		t.Errorf("the limit is not the call's: %+v", out.Changes)
	}
}

// longer is an environment whose files are longer than it says.
type longer struct {
	env.Environment
	size int64
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (e longer) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(zeros{}, e.size)), nil
}

// A file that is longer than the environment says is hashed, and not held in memory.
func TestO1_LongerThanItSays(t *testing.T) {
	const size = 64 << 20
	want, err := env.HashFrom(io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, _, err := contentOfFile(t.Context(), &tool.Call{Env: longer{size: size}, Diffs: 100}, "a", 3)
	runtime.ReadMemStats(&after)
	if err != nil || c.hash != want || !c.opaque || c.text != "" {
		t.Errorf("%v, opaque %t, %d bytes, %v", c.hash, c.opaque, len(c.text), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size/4 {
		t.Errorf("%d bytes were allocated for a file of %d", used, size)
	}
}
