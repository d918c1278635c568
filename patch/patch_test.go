package patch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/patch"
)

// tree holds files in memory and refuses paths that lead out of it. Writes to broken fail.
type tree struct {
	files  map[string]file
	broken string
	stuck  bool // restoring fails too
}

type file struct {
	Content string
	Mode    fs.FileMode
}

func (t *tree) Read(_ context.Context, name string) ([]byte, fs.FileMode, error) {
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return nil, 0, fmt.Errorf("%s is outside: %w", name, fs.ErrPermission)
	}
	for other := range t.files {
		if strings.HasPrefix(other, name+"/") {
			return nil, 0, fmt.Errorf("%s is a directory", name)
		}
	}
	f, ok := t.files[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return []byte(f.Content), f.Mode, nil
}

var errDisk = errors.New("no space left on device")

func (t *tree) Write(_ context.Context, name string, before *string, data []byte, perm fs.FileMode) error {
	if now, ok := t.files[name]; ok != (before != nil) || ok && now.Content != *before {
		return fmt.Errorf("%s was expected to be another file", name)
	}
	if name == t.broken {
		if t.stuck {
			t.broken = "a.txt"
		}
		return errDisk
	}
	if f, ok := t.files[name]; ok {
		perm = f.Mode
	}
	t.files[name] = file{string(data), perm}
	return nil
}

func (t *tree) Remove(_ context.Context, name, before string) error {
	if now, ok := t.files[name]; !ok || now.Content != before {
		return fmt.Errorf("%s was expected to be another file", name)
	}
	delete(t.files, name)
	return nil
}

func newTree(files map[string]string) *tree {
	t := &tree{files: map[string]file{}}
	for name, content := range files {
		t.files[name] = file{content, 0o644}
	}
	return t
}

func (t *tree) contents() map[string]string {
	contents := map[string]string{}
	for name, f := range t.files {
		contents[name] = f.Content
	}
	return contents
}

func run(t *tree, text string) ([]patch.Change, error) {
	ops, err := patch.Parse(text)
	if err != nil {
		return nil, err
	}
	plan, err := patch.NewPlan(context.Background(), t, ops, nil)
	if err != nil {
		return nil, err
	}
	return plan.Changes, plan.Apply(context.Background())
}

func wrap(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

// TestC6_Rules has a case for each rule. An empty error means success.
func TestC6_Rules(t *testing.T) {
	tests := []struct {
		name   string
		before map[string]string
		patch  string
		after  map[string]string // nil: as before
		errors string
	}{
		{"add, update, delete", map[string]string{"u": "a\nb\n", "d": "x\n"},
			wrap("*** Add File: n/new.txt", "+hi", "*** Update File: u", "@@", " a", "-b", "+c", "*** Delete File: d"),
			map[string]string{"n/new.txt": "hi\n", "u": "a\nc\n"}, ""},
		{"move and change", map[string]string{"a": "x\n", "b": "old\n"},
			wrap("*** Update File: a", "*** Move to: b", "@@", "-x", "+y"), map[string]string{"b": "y\n"}, ""},
		{"a later operation sees an earlier one", map[string]string{"a": "1\n"},
			wrap("*** Update File: a", "-1", "+2", "*** Update File: a", "-2", "+3", "*** Update File: a",
				"*** Move to: b", "-3", "+4", "*** Update File: b", "-4", "+5"),
			map[string]string{"b": "5\n"}, ""},
		{"the same path in two spellings", map[string]string{"d/a": "1\n"}, wrap("*** Update File: d/a", "-1", "+2",
			"*** Update File: ./d//a", "-2", "+3"),
			map[string]string{"d/a": "3\n"}, ""},
		{"all or nothing", map[string]string{"a": "1\n"},
			wrap("*** Add File: n", "+x", "*** Update File: a", "-nope", "+2"), nil, "a, hunk 1"},
		{"hunks in forward order", map[string]string{"a": "x\ny\nx\n"},
			wrap("*** Update File: a", "@@", "-x", "+1", "@@", "-x", "+2"), map[string]string{"a": "1\ny\n2\n"}, ""},
		{"a hunk before the last one", map[string]string{"a": "x\ny\n"},
			wrap("*** Update File: a", "@@", "-y", "+1", "@@", "-x", "+2"), nil, "order of the file"},
		{"hints narrow down", map[string]string{"a": "class A\n  def f\n    1\nclass B\n  def g\n    1\n  def " +
			"f\n    1\n"},
			wrap("*** Update File: a", "@@ class B", "@@ def f", "-    1", "+    2"),
			map[string]string{"a": "class A\n  def f\n    1\nclass B\n  def g\n    1\n  def f\n    2\n"}, ""},
		{"a hint that the hunk repeats", map[string]string{"a": "class A\n  x\n"},
			wrap("*** Update File: a", "@@ class A", " class A", "-  x", "+  y"),
			map[string]string{"a": "class A\n  y\n"}, ""},
		{"a hint that is not there", map[string]string{"a": "x\n"}, wrap("*** Update File: a", "@@ class Z", "-x",
			"+y"), nil, `"class Z"`},
		{"an addition behind its hint", map[string]string{"a": "one\ntwo\n"},
			wrap("*** Update File: a", "@@ one", "+1.5"), map[string]string{"a": "one\n1.5\ntwo\n"}, ""},
		{"an addition without a place goes to the end", map[string]string{"a": "one"},
			wrap("*** Update File: a", "@@", "+two"), map[string]string{"a": "one\ntwo\n"}, ""},
		{"end of file", map[string]string{"a": "x\ny\nx\ny\n"}, wrap("*** Update File: a", " x", "-y", "+z",
			"*** End of File"), map[string]string{"a": "x\ny\nx\nz\n"}, ""},
		{"not the end of file", map[string]string{"a": "x\ny\nz\n"},
			wrap("*** Update File: a", "-x", "+1", "*** End of File"), nil, "end of the file"},
		{"context keeps the file's own spaces", map[string]string{"a": "x  \ny\n"},
			wrap("*** Update File: a", " x", "-y", "+z"), map[string]string{"a": "x  \nz\n"}, ""},
		{"exact before fuzzy", map[string]string{"a": "x \nx\n"}, wrap("*** Update File: a", "-x", "+1"),
			map[string]string{"a": "x \n1\n"}, ""},
		{"typographic characters", map[string]string{"a": "“a” – b\n"}, wrap("*** Update File: a", `-"a" - b`, "+c"),
			map[string]string{"a": "c\n"}, ""},
		{"CRLF, and mixed", map[string]string{"a": "1\r\n2\r\n", "b": "1\r\n2\n3\r\n"}, wrap("*** Update File: a", " 1",
			"+x", "*** Update File: b", "-2", "+y"),
			map[string]string{"a": "1\r\nx\r\n2\r\n", "b": "1\r\ny\n3\r\n"}, ""},
		{"a patch with CRLF", map[string]string{"a": "1\n"}, strings.ReplaceAll(wrap("*** Update File: a", "-1", "+2"),
			"\n", "\r\n"), map[string]string{"a": "2\n"}, ""},
		{"the last line gets its end", map[string]string{"a": "1\n2"}, wrap("*** Update File: a", "-1", "+x"),
			map[string]string{"a": "x\n2\n"}, ""},
		{"everything goes", map[string]string{"a": "1\n"}, wrap("*** Update File: a", "-1"), map[string]string{"a": ""},
			""},
		{"a byte order mark", map[string]string{"a": "\uFEFF1\n2\n"}, wrap("*** Update File: a", "-1", "+x"),
			map[string]string{"a": "\uFEFFx\n2\n"}, ""},
		{"in a heredoc", map[string]string{"a": "1\n"}, "apply_patch <<'EOF'\n" + wrap("*** Update File: a", "-1",
			"+2") + "\nEOF\n", map[string]string{"a": "2\n"}, ""},
		{"in a code fence", map[string]string{"a": "1\n"}, "```diff\n" + wrap("*** Update File: a", "-1",
			"+2") + "\n```", map[string]string{"a": "2\n"}, ""},
		{"an empty new file", nil, wrap("*** Add File: e"), map[string]string{"e": ""}, ""},
		{"blank lines between operations", map[string]string{"a": "1\n"}, wrap("", "*** Add File: n", "+x", "",
			"*** Update File: a", "-1", "+2", "", "*** Add File: m", "+y", ""),
			map[string]string{"a": "2\n", "n": "x\n", "m": "y\n"}, ""},
		{"add replaces", map[string]string{"a": "old\n"}, wrap("*** Add File: a", "+new"),
			map[string]string{"a": "new\n"}, ""},
		{"no begin", nil, "*** Add File: a\n+x\n*** End Patch", nil, "begins with"},
		{"no end", nil, "*** Begin Patch\n*** Add File: a\n+x", nil, "cut"},
		{"nothing in it", nil, "*** Begin Patch\n*** End Patch", nil, "empty"},
		{"nothing at all", nil, "", nil, "begins with"},
		{"an update without hunks", map[string]string{"a": "1\n"}, wrap("*** Update File: a"), nil, "no hunks"},
		{"a hunk that changes nothing", map[string]string{"a": "1\n"}, wrap("*** Update File: a", "@@", " 1"), nil,
			"changes nothing"},
		{"a line without a prefix", map[string]string{"a": "1\n"}, wrap("*** Update File: a", "-1", "oops"), nil,
			"line 4"},
		{"a new file's line without a prefix", nil, wrap("*** Add File: a", "oops"), nil, "begins with +"},
		{"no path", nil, wrap("*** Add File:", "+x"), nil, "path is missing"},
		{"a path with a NUL", nil, wrap("*** Add File: a\x00b", "+x"), nil, "control"},
		{"a path that leads out", nil, wrap("*** Add File: ok", "+x", "*** Add File: ../b", "+x"), nil, "outside"},
		{"a missing file", nil, wrap("*** Update File: a", "-1", "+2"), nil, "does not exist"},
		{"deleted before", map[string]string{"a": "1\n"}, wrap("*** Delete File: a", "*** Update File: a", "-1", "+2"),
			nil, "does not exist"},
		{"a directory", map[string]string{"d/a": "1\n"}, wrap("*** Delete File: d"), nil, "directory"},
		{"a binary file", map[string]string{"a": "1\x00\n"}, wrap("*** Update File: a", "-1", "+2"), nil, "binary"},
		{"the nearest place is shown", map[string]string{"a": "one\ntwo\nthree\n"},
			wrap("*** Update File: a", " one", "-too", "+2"), nil, "from line 2 on the file reads\n  two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTree(tt.before)
			_, err := run(tr, tt.patch)
			if tt.errors == "" && err != nil || tt.errors != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.errors)) {
				t.Fatalf("error %v, want %q", err, tt.errors)
			}
			want := tt.after
			if want == nil {
				want = maps.Clone(tt.before)
			}
			if diff := cmp.Diff(want, tr.contents(), equateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func equateEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

func TestC6_ReportsItsChanges(t *testing.T) {
	tr := newTree(map[string]string{"u": "1\n", "d": "1\n", "m": "1\n"})
	changes, err := run(tr, wrap("*** Add File: a", "+x", "*** Update File: u", "-1", "+2", "*** Delete File: d",
		"*** Update File: m", "*** Move to: n", "-1", "+2"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	if want := []string{"A a", "M u", "D d", "R m -> n"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

// If a write fails, the files written before are restored, and the error names those that are not.
func TestC6_AFailedWritePutsBack(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		before := map[string]string{"a.txt": "1\n", "gone": "x\n", "z": "1\n"}
		tr := newTree(before)
		tr.broken, tr.stuck = "z", stuck
		_, err := run(tr, wrap("*** Update File: a.txt", "-1", "+2", "*** Delete File: gone", "*** Add File: new", "+n",
			"*** Update File: z", "-1", "+2"))
		if !errors.Is(err, errDisk) {
			t.Fatalf("error %v", err)
		}
		if !stuck {
			if diff := cmp.Diff(before, tr.contents()); diff != "" || !strings.Contains(err.Error(),
				"Nothing was changed") {
				t.Errorf("%v\n%s", err, diff)
			}
		} else if !strings.Contains(err.Error(), "a.txt (") {
			t.Errorf("the error does not name what was left: %v", err)
		}
	}
}

// corpusCase holds a case of ../shared/corpora/apply_patch.
type corpusCase struct {
	ID              string
	Input, Expected map[string]json.RawMessage
	Patch, Outcome  *string
	Argv            []string
}

// decidedDifferently holds the reasons for cases in which this package does something else.
var decidedDifferently = map[string]string{
	"fx_015_failure_after_partial_success_leaves_changes": "all or nothing: a patch that fails leaves nothing behind",
}

func TestCorpus_ApplyPatch(t *testing.T) {
	data, err := os.ReadFile("../../shared/corpora/apply_patch/cases.jsonl")
	if err != nil {
		t.Skipf("the case collection is not beside this checkout: %v", err)
	}
	ran := 0
	for line := range strings.Lines(string(data)) {
		var c corpusCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Argv != nil {
			continue // TestCorpus_Invocation
		}
		ran++
		t.Run(c.ID, func(t *testing.T) { c.check(t) })
	}
	t.Logf("%d patch cases ran, %d decided differently", ran, len(decidedDifferently))
}

func (c corpusCase) check(t *testing.T) {
	tr := &tree{files: filesOf(t, c.Input)}
	for name, f := range tr.files {
		if f.Mode == 0 {
			tr.files[name] = file{f.Content, 0o644}
		}
	}
	text := ""
	if c.Patch != nil {
		text = *c.Patch
	}
	_, err := run(tr, text)
	if failed := *c.Outcome == "failure"; (err != nil) != failed {
		t.Fatalf("error %v, want a failure: %v", err, failed)
	}
	want := filesOf(t, c.Expected)
	if reason, ok := decidedDifferently[c.ID]; ok {
		t.Log("decided differently: " + reason)
		want = filesOf(t, c.Input)
	}
	for name, f := range want { // a case without a mode accepts any
		if f.Mode == 0 {
			want[name] = file{f.Content, tr.files[name].Mode}
		}
	}
	if diff := cmp.Diff(want, tr.files); diff != "" {
		t.Errorf("-want +got (error %v):\n%s", err, diff)
	}
}

// filesOf reads a tree. A file is a text, or an object with content and mode. A directory is null,
// and gets a file .keep.
func filesOf(t *testing.T, raw map[string]json.RawMessage) map[string]file {
	files := map[string]file{}
	for name, value := range raw {
		var f file
		var object struct{ Content, Mode string }
		switch {
		case string(value) == "null":
			name += "/.keep"
			name = path.Clean(name)
		case json.Unmarshal(value, &f.Content) == nil:
		case json.Unmarshal(value, &object) == nil:
			f.Content = object.Content
			if _, err := fmt.Sscanf(object.Mode, "%o", &f.Mode); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("%s: %s", name, value)
		}
		files[name] = f
	}
	return files
}

// FuzzPatch checks that no patch causes a panic or writes outside of the tree, and that a patch
// that fails changes nothing.
func FuzzPatch(f *testing.F) {
	f.Add(wrap("*** Update File: a", "@@ x", " 1", "-2", "+3", "*** End of File"), "1\n2\n")
	f.Add(wrap("*** Add File: ../a", "+x", "*** Update File: a", "*** Move to: /b", "-1", "+2"), "1")
	f.Add("cd ../x && apply_patch <<'EOF'\n"+wrap("*** Add File: a", "+x")+"\nEOF", "")
	f.Add("apply_patch <<'EOF'\n"+wrap("*** Delete File: a", "*** Add File: a", "+x", "@@")+"\nEOF",
		"\uFEFF1\r\n\r\r\n")
	f.Fuzz(func(t *testing.T, text, content string) {
		tr := newTree(map[string]string{"a": content})
		before := maps.Clone(tr.files)
		if _, err := run(tr, text); err != nil && !cmp.Equal(before, tr.files) {
			t.Errorf("a patch that failed changed something: %v", err)
		}
		for name := range tr.files {
			if path.IsAbs(name) || strings.HasPrefix(name, "..") {
				t.Errorf("%s was written", name)
			}
		}
	})
}

// What another writer writes while a patch is applied stays, and the error reports what is left of
// the patch.
func TestI6_PatchMeetsAnotherWriter(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(tr *tree)
		after map[string]string
		torn  bool
	}{
		{"in the file that is next", func(tr *tree) { tr.files["z"] = file{"theirs", 0o644} },
			map[string]string{"a": "1\n", "z": "theirs"}, false},
		{"in a file that was written", func(tr *tree) {
			tr.files["a"] = file{"theirs", 0o644}
			tr.broken = "z"
		}, map[string]string{"a": "theirs", "z": "1\n"}, true},
		{"who adds a file", func(tr *tree) { tr.files["new"] = file{"theirs", 0o644} },
			map[string]string{"a": "1\n", "z": "1\n", "new": "theirs"}, false},
		{"who deletes a file", func(tr *tree) { delete(tr.files, "z") }, map[string]string{"a": "1\n"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := &meddled{tree: newTree(map[string]string{"a": "1\n", "z": "1\n"}), spoil: tt.spoil}
			ops, err := patch.Parse(wrap("*** Update File: a", "-1", "+2", "*** Add File: new", "+n",
				"*** Update File: z", "-1", "+2"))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := patch.NewPlan(context.Background(), tr, ops, nil)
			if err != nil {
				t.Fatal(err)
			}
			var failure *patch.Error
			if err := plan.Apply(context.Background()); !errors.As(err, &failure) || failure.Torn != tt.torn {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.after, tr.contents()); diff != "" {
				t.Errorf("%v\n%s", failure, diff)
			}
		})
	}
}

// meddled is a tree that another writer changes after the first write.
type meddled struct {
	*tree
	spoil func(*tree)
}

func (m *meddled) Write(ctx context.Context, name string, before *string, data []byte, perm fs.FileMode) error {
	err := m.tree.Write(ctx, name, before, data, perm)
	if m.spoil != nil {
		m.spoil(m.tree)
		m.spoil = nil
	}
	return err
}

// A read-only file is changed only if the caller allows it.
func TestI6_PatchOfReadOnlyFile(t *testing.T) {
	for _, approved := range []bool{false, true} {
		tr := &tree{files: map[string]file{"f": {"1\n", 0o444}}}
		ops, err := patch.Parse(wrap("*** Update File: f", "-1", "+2"))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := patch.NewPlan(context.Background(), tr, ops, func(name string) bool {
			return approved && name == "f"
		})
		if err == nil {
			err = plan.Apply(context.Background())
		}
		if (err == nil) != approved || (tr.files["f"].Content == "2\n") != approved || tr.files["f"].Mode != 0o444 {
			t.Errorf("approved %v: %v, %+v", approved, err, tr.files)
		}
	}
}

func TestI10_ChangesQuoteNames(t *testing.T) {
	for want, c := range map[string]patch.Change{
		"M a":              {Letter: 'M', Path: "a"},
		`D "a\nM b"`:       {Letter: 'D', Path: "a\nM b"},
		`R a -> "b\x1b[m"`: {Letter: 'R', Path: "a", To: "b\x1b[m"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := (&patch.Error{Path: "a\nb", Text: "x"}).Error(); got != `"a\nb": x` {
		t.Error(got)
	}
}
