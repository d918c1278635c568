package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	nfc = "caf\u00e9.txt"
	nfd = "cafe\u0301.txt"
)

// files returns the names in a directory.
func (b *fixture) files(dir string) string {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, dir))
	if err != nil {
		b.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, "|")
}

// skipIfAlike skips a test where the file system takes names that look the same for one.
func (b *fixture) skipIfAlike() {
	b.Helper()
	b.put(nfd, "")
	_, err := os.Stat(filepath.Join(b.dir, nfc))
	if err == nil {
		b.Skip("the file system knows no normal forms")
	}
	if err := os.Remove(filepath.Join(b.dir, nfd)); err != nil {
		b.Fatal(err)
	}
}

func TestU6_NamesThatLookTheSameFindTheEntry(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	for given, there := range map[string]string{
		nfc: nfd, nfd: nfc, "at 3 PM.png": "at 3\u202fPM.png", "a b": "a\u00a0b", "it's": "it\u2019s",
		"say \"x\"":     "say \u201cx\u201d",
		"d\u00e9/sub/x": "de\u0301/sub/x",
	} {
		top, _, _ := strings.Cut(there, "/")
		b.put(there, "one\n")
		for _, c := range []struct {
			tool tool.Tool
			args object
			then string
		}{
			{ReadFile(), object{"file_path": given}, "one\n"},
			{EditFile(), object{"file_path": given, "old_string": "one", "new_string": "two"}, "two\n"},
			{WriteFile(), object{"file_path": "./" + given, "content": "three\n"}, "three\n"},
			{ApplyPatch(), object{"patch": patchOf("*** Update File: "+given, "-three", "+four")}, "four\n"},
			{ApplyPatch(), object{"patch": patchOf("*** Add File: "+given, "+five")}, "five\n"},
			{ReadManyFiles(), object{"paths": []string{given}}, "five\n"},
		} {
			said := b.ok(c.tool, c.args)
			if !strings.Contains(said, "looks the same, and was used.]") {
				t.Errorf("%s of %+q does not say what it used: %s", c.tool.Name, given, said)
			}
			if got := b.get(there); got != c.then {
				t.Errorf("%s of %+q: %q, want %q", c.tool.Name, given, got, c.then)
			}
		}
		if got := b.files("."); got != top {
			t.Errorf("%+q: there is %+q, want %+q", given, got, top)
		}
		if err := os.RemoveAll(filepath.Join(b.dir, top)); err != nil {
			t.Fatal(err)
		}
	}
}

// The exact name is never taken for another, and new files are made as before.
func TestU6_TheExactNameComesFirst(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	b.put(nfc, "c\n")
	b.put(nfd, "d\n")
	for name, want := range map[string]string{nfc: "c", nfd: "d"} {
		if got := b.ok(ReadFile(), object{"file_path": name}); got != "  1 | "+want+"\n" {
			t.Errorf("%+q: %q", name, got)
		}
	}
	if err := os.Remove(filepath.Join(b.dir, nfc)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("missing", filepath.Join(b.dir, nfc)); err != nil {
		t.Fatal(err)
	}
	if said := b.fails(ReadFile(), object{"file_path": nfc}, "does not exist"); strings.Contains(said, "look like it") {
		t.Error(said)
	}
	if got := b.ok(WriteFile(), object{"file_path": "n\u00e9w dir/x y", "content": "x"}); !strings.HasPrefix(
		got,
		"Created n\u00e9w dir/x y (1 byte).",
	) {
		t.Error(got)
	}
}

func TestU6_TwoCandidatesAreShown(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	b.put("a\u00a0b", "1")
	b.put("a\u202fb", "2")
	for _, c := range []struct {
		tool tool.Tool
		args object
	}{
		{ReadFile(), object{"file_path": "a b"}},
		{WriteFile(), object{"file_path": "a b", "content": "x"}},
		{EditFile(), object{"file_path": "a b", "old_string": "1", "new_string": "2"}},
		{ApplyPatch(), object{"patch": patchOf("*** Add File: a b", "+x")}},
	} {
		b.fails(c.tool, c.args, `"a\u00a0b" and "a\u202fb"`)
	}
	if got := b.files("."); got != "a\u00a0b|a\u202fb" {
		t.Errorf("%+q", got)
	}
}

// Whoever judges a call sees the entry that it is about, and the call cannot change another one.
func TestU6_AccessNamesTheEntry(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	b.put(nfd, "secret\n")
	for _, x := range []tool.Tool{ReadFile(), WriteFile()} {
		r, err := tool.NewRegistry(x)
		if err != nil {
			t.Fatal(err)
		}
		var asked []string
		hook := func(_ context.Context, req tool.Request) (tool.Decision, error) {
			asked = req.Access.Paths
			return tool.Decision{Verdict: tool.Deny}, nil
		}
		call := llm.ToolCall{ID: "1", Name: x.Name, Args: `{"file_path":"` + nfc + `","content":"x"}`}
		if x.Name == "read_file" {
			call.Args = `{"file_path":"` + nfc + `"}`
		}
		r.Run(t.Context(), call, tool.Call{Env: b.env, Session: new(tool.Plain)}, hook)
		if len(asked) != 1 || path.Base(asked[0]) != nfd {
			t.Errorf("%s asks about %+q", x.Name, asked)
		}
	}
	hook := func(context.Context, tool.Request) (tool.Decision, error) {
		b.put(nfc, "new\n") // after the call was judged
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	r, err := tool.NewRegistry(ReadFile())
	if err != nil {
		t.Fatal(err)
	}
	out := r.Run(
		t.Context(),
		llm.ToolCall{ID: "1", Name: "read_file", Args: `{"file_path":"` + nfc + `"}`},
		tool.Call{Env: b.env, Session: new(tool.Plain)},
		hook,
	)
	if !strings.Contains(out.Model.Text(), "secret") {
		t.Errorf("the call has read what was not judged: %s", out.Model.Text())
	}
}

// A patch does not say that it has renamed a file when the new name means the file itself.
func TestU6_MoveToANameThatLooksTheSame(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	b.put(nfd, "first\n")
	change := "*** Begin Patch\n*** Update File: %s\n*** Move to: %s\n@@\n-first\n+second\n*** End Patch"
	for _, from := range []string{nfd, nfc} {
		out := b.run(ApplyPatch(), map[string]any{"patch": fmt.Sprintf(change, from, nfc)})
		if text := out.Model.Text(); !out.IsError || !strings.Contains(text, "such as mv") || b.files(".") != nfd {
			t.Errorf("%+q: %+q: %s", from, b.files("."), text)
		}
	}
	if out := b.run(ApplyPatch(), map[string]any{"patch": fmt.Sprintf(change, nfd, nfd)}); out.IsError {
		t.Errorf("the file's own name: %s", out.Model.Text())
	}
}

// A second file of the same look is not made either if the first one appears after the call was
// judged.
func TestU6_NoSecondFileAppears(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	for _, c := range []struct {
		tool tool.Tool
		args string
	}{
		{WriteFile(), `{"file_path":"` + nfc + `","content":"x"}`},
		{ApplyPatch(), `{"patch":"*** Begin Patch\n*** Add File: ` + nfc + `\n+x\n*** End Patch"}`},
	} {
		r, err := tool.NewRegistry(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		hook := func(context.Context, tool.Request) (tool.Decision, error) {
			b.put(nfd, "first\n")
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		out := r.Run(
			t.Context(),
			llm.ToolCall{ID: "1", Name: c.tool.Name, Args: c.args},
			tool.Call{Env: b.env, Session: new(tool.Plain)},
			hook,
		)
		if got := b.files("."); !out.IsError || got != nfd {
			t.Errorf("%s: %+q: %s", c.tool.Name, got, out.Model.Text())
		}
		if err := os.Remove(filepath.Join(b.dir, nfd)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestU6_PatternsThatLookTheSame(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	b.put("d/"+nfd, "body "+nfd+"\n")
	b.put("d/"+nfc+".md", "body "+nfc+"\n")
	b.put("it\u2019s 3\u202fPM/x", "x\n")
	got := b.ok(Glob(), object{"pattern": "**/*caf\u00e9*"})
	if !strings.Contains(got, "d/"+nfd+"\n") || !strings.Contains(got, "d/"+nfc+".md\n") ||
		!strings.Contains(got, `[These only look like "**/*caf\u00e9*": "d/cafe\u0301.txt"]`) {
		t.Error(got)
	}
	if got := b.ok(Glob(), object{"pattern": "d/*e\u0301.txt.md"}); !strings.HasPrefix(got, "d/"+nfc+".md\n") {
		t.Error(got)
	}
	if got := b.ok(Glob(), object{"pattern": "it's 3 PM/*"}); !strings.HasPrefix(got, "it\u2019s 3\u202fPM/x\n") {
		t.Error(got)
	}
	got = b.ok(Grep(), object{"pattern": "caf\u00e9", "output_mode": "files_with_matches"})
	if !strings.Contains(got, "d/"+nfd+"\n") || !strings.Contains(got, "d/"+nfc+".md\n") ||
		!strings.Contains(got, "normal forms") {
		t.Error(got)
	}
	if got := b.ok(Grep(), object{"pattern": "body", "glob_filter": nfc}); !strings.HasPrefix(got, "d/"+nfd+":1:") {
		t.Error(got)
	}
}

func TestU6_PatternsThatAreNames(t *testing.T) {
	b := newFixture(t)
	for _, name := range []string{"app/[id]/page.tsx", "app/[id]/b.ts", "app/i/page.tsx", "app/(x)/{y}/z.tsx", "odd[/x",
		"[a].md", "deep/[q].md"} {
		b.put(name, "text\n")
	}
	for pattern, want := range map[string]string{
		"app/[id]/page.tsx":    "app/[id]/page.tsx app/i/page.tsx",
		"app/[id]/*.ts":        "app/[id]/b.ts",
		"app/[id]/**":          "app/[id]/b.ts app/[id]/page.tsx app/i/page.tsx",
		"app/(x)/{y}/*":        "app/(x)/{y}/z.tsx",
		"odd[/x":               "odd[/x",
		"[a].md":               "[a].md",
		b.dir + "/app/[id]/b*": "app/[id]/b.ts",
	} {
		if got := sorted(strings.Fields(b.ok(Glob(), object{"pattern": pattern}))); got != want {
			t.Errorf("glob %s: %s, want %s", pattern, got, want)
		}
		if path.IsAbs(pattern) {
			continue
		}
		found := b.ok(Grep(), object{"pattern": "text", "glob_filter": pattern, "output_mode": "files_with_matches"})
		if got := sorted(strings.Fields(found)); got != want {
			t.Errorf("grep in %s: %s, want %s", pattern, got, want)
		}
	}
	for _, pattern := range []string{"./app/[id]/*.tsx", "app/[id]/*.{js,tsx}"} {
		found := b.ok(Grep(), object{"pattern": "text", "glob_filter": pattern, "output_mode": "files_with_matches"})
		if !strings.Contains(found, "app/[id]/page.tsx") {
			t.Errorf("%s: %s", pattern, found)
		}
	}
	if got := b.ok(Grep(), object{"pattern": "text", "glob_filter": "[q].md",
		"output_mode": "count"}); !strings.HasPrefix(
		got,
		"deep/[q].md:1\n",
	) {
		t.Error(got)
	}
	for _, name := range []string{"app/[id]/page.tsx", "app/[id]/*.tsx"} {
		if got := b.ok(ReadManyFiles(), object{"paths": []string{name}}); !strings.Contains(
			got,
			"--- app/[id]/page.tsx ---",
		) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// folded is an environment whose file system ignores case, like those of macOS.
type folded struct {
	env.Base
	dir string
}

func (e folded) Platform() env.Platform { return env.Platform{OS: "darwin"} }

// real returns the entry that the file system finds for a name.
func (e folded) real(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(e.dir, name)
	}
	rest, below := strings.CutPrefix(path.Clean(name), e.dir+"/")
	if !below {
		return name
	}
	at := e.dir
	for elem := range strings.SplitSeq(rest, "/") {
		entries, _ := os.ReadDir(at) // what cannot be read has no entries
		if i := slices.IndexFunc(entries, func(d os.DirEntry) bool {
			return strings.EqualFold(d.Name(), elem)
		}); i >= 0 {
			elem = entries[i].Name()
		}
		at += "/" + elem
	}
	return at
}

func (e folded) Stat(ctx context.Context, name string) (env.Info, error) {
	return e.Base.Stat(ctx, e.real(name))
}

func (e folded) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return e.Base.Open(ctx, e.real(name))
}

func TestU6_CaseIsFoldedWhereTheSystemDoes(t *testing.T) {
	b := newFixture(t)
	b.put("Docs/README.md", "text\n")
	real := b.env
	b.env = folded{env.Base{Environment: real}, b.dir}
	var asked []string
	hook := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		asked = req.Access.Paths
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	r, err := tool.NewRegistry(WriteFile())
	if err != nil {
		t.Fatal(err)
	}
	out := r.Run(
		t.Context(),
		llm.ToolCall{ID: "1", Name: "write_file", Args: `{"file_path":"docs/readme.MD","content":"new\n"}`},
		tool.Call{Env: b.env, Session: new(tool.Plain)},
		hook,
	)
	if out.IsError || b.get("Docs/README.md") != "new\n" || b.files(".") != "Docs" || b.files("Docs") != "README.md" {
		t.Errorf("%s: %q in %s", out.Model.Text(), b.get("Docs/README.md"), b.files("Docs"))
	}
	if want := path.Join(b.dir, "Docs/README.md"); len(asked) != 1 || asked[0] != want {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	b.ok(WriteFile(), object{"file_path": "docs/new.md", "content": "x"})
	if got := b.files("Docs"); got != "README.md|new.md" {
		t.Error(got)
	}
	b.env = real // which tells the two apart
	b.put("README.md", "upper\n")
	if out := b.run(ReadFile(), object{"file_path": "readme.md"}); !out.IsError {
		t.Error(out.Model.Text())
	}
}

// A patch from the command line finds the entry, too.
func TestU6_PatchWithoutACall(t *testing.T) {
	b := newFixture(t)
	b.skipIfAlike()
	b.put(nfd, "a\n")
	if _, err := Patch(t.Context(), b.env, patchOf("*** Update File: "+nfc, "-a", "+b")); err != nil ||
		b.get(nfd) != "b\n" ||
		b.files(".") != nfd {
		t.Errorf("%v: %q in %+q", err, b.get(nfd), b.files("."))
	}
	b.put("x\u00a0y", "")
	b.put("x\u202fy", "")
	_, err := Patch(t.Context(), b.env, patchOf("*** Add File: x y", "+b"))
	var unclear *env.AmbiguousError
	if !errors.As(err, &unclear) || len(unclear.Entries) != 2 {
		t.Error(err)
	}
}

func TestU20_LongNamesAreRefused(t *testing.T) {
	b := newFixture(t)
	long := strings.Repeat("a/", 20_000)
	for _, c := range []struct {
		tool tool.Tool
		args object
	}{
		{ReadFile(), object{"file_path": long}},
		{WriteFile(), object{"file_path": long + "x", "content": ""}},
		{Glob(), object{"pattern": "*", "path": long}},
		{Grep(), object{"pattern": "x", "path": long}},
		{ListDir(), object{"path": long}},
	} {
		b.fails(c.tool, c.args, "the name has more than 4096 bytes: no file has such a name. Nothing was run.")
	}
}
