package coding

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/tool"
)

// sjis is text in CP932 with CRLF line ends; the last line is one character whose second byte is
// that of a backslash.
const sjis = "\x90\xdd\x92\xe8=\x97L\x8c\xf8\r\nname=abc\r\n\x95\\\r\n"

func TestU5_OnlyASCIIGoesIntoOtherEncodings(t *testing.T) {
	const latin = "# Caf\xe9 menu\nprice: 5\nna\xefve\n"
	patched := func(lines ...string) object {
		return object{
			"patch": "*** Begin Patch\n*** Update File: f\n@@\n" + strings.Join(lines, "\n") + "\n*** End Patch\n",
		}
	}
	b := newFixture(t)
	for _, tt := range []struct {
		name   string
		tool   tool.Tool
		args   object
		before string
		after  string // empty if the call must fail
	}{
		{"edit", EditFile(), object{"file_path": "f", "old_string": "name=abc", "new_string": "name=x\ny=z"}, sjis,
			strings.Replace(sjis, "name=abc", "name=x\r\ny=z", 1)},
		{"edit with other text", EditFile(), object{"file_path": "f", "old_string": "name=abc", "new_string": "表示=日本語"},
			sjis, ""},
		{"edit of a second byte", EditFile(), object{"file_path": "f", "old_string": "\\", "new_string": "/"}, sjis,
			""},
		{"lines that stay", EditFile(), object{"file_path": "f", "old_string": "# Caf\ufffd menu\nprice: 5",
			"new_string": "# Caf\ufffd menu\nprice: 7"}, latin, strings.Replace(latin, "5", "7", 1)},
		{"a line that changes", EditFile(), object{"file_path": "f", "old_string": "# Caf\ufffd menu",
			"new_string": "# Caf\ufffd"}, latin, ""},
		{"patch", ApplyPatch(), patched(" name=abc", "+x=y"), sjis,
			strings.Replace(sjis, "abc\r\n", "abc\r\nx=y\r\n", 1)},
		{"patch with other text", ApplyPatch(), patched(" name=abc", "+追加=はい"), sjis, ""},
		{"patch that replaces it", ApplyPatch(),
			object{"patch": "*** Begin Patch\n*** Add File: f\n+a=b\n*** End Patch"}, sjis, "a=b\r\n"},
		{"patch that replaces it with other text", ApplyPatch(),
			object{"patch": "*** Begin Patch\n*** Add File: f\n+日本\n*** End Patch"}, sjis, ""},
		{"write", WriteFile(), object{"file_path": "f", "content": "a=b\n"}, sjis, "a=b\r\n"},
		{"write other text", WriteFile(), object{"file_path": "f", "content": "設定\n"}, sjis, ""},
		{"other text in UTF-8", EditFile(), object{"file_path": "f", "old_string": "a", "new_string": "é"}, "ä a\n",
			"ä é\n"},
		{"write over a binary file", WriteFile(), object{"file_path": "f", "content": "é\n"}, "\x00\xff\r\n", "é\n"},
	} {
		b.put("f", tt.before)
		want := tt.after
		if want == "" {
			want = tt.before
			text := b.fails(tt.tool, tt.args, "f", "is not UTF-8")
			if tt.name != "edit of a second byte" && !strings.Contains(text, "iconv -f ENCODING -t UTF-8 'f'") {
				t.Errorf("%s: the error does not say how to go on: %s", tt.name, text)
			}
		} else {
			b.ok(tt.tool, tt.args)
		}
		if got := b.get("f"); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

// The line of the error converts the file and back, and the file keeps its mode.
func TestU5_TheWayOutWorks(t *testing.T) {
	peer.Need(t, "iconv")
	b := newFixture(t)
	b.put("it's", sjis)
	if err := os.Chmod(filepath.Join(b.dir, "it's"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := b.fails(WriteFile(), object{"file_path": "it's", "content": "表"})
	_, line, _ := strings.Cut(text, "`")
	line, _, _ = strings.Cut(line, "`")
	for _, script := range []string{
		strings.Replace(line, "ENCODING", "CP932", 1),
		strings.NewReplacer("-f ENCODING", "-f UTF-8", "-t UTF-8", "-t CP932").Replace(line),
	} {
		if strings.Contains(script, "-f UTF-8") {
			b.ok(EditFile(), object{"file_path": "it's", "old_string": "name=abc", "new_string": "name=表"})
		}
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v, %s", script, err, out)
		}
	}
	if got, want := b.get("it's"), strings.Replace(sjis, "abc", "\x95\\", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "it's")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestU5_UTF16IsRefused(t *testing.T) {
	const text = "\xff\xfea\x00\n\x00"
	b := newFixture(t)
	b.put("f", text)
	for _, c := range []struct {
		tool tool.Tool
		args object
	}{
		{ReadFile(), object{"file_path": "f"}},
		{EditFile(), object{"file_path": "f", "old_string": "a", "new_string": "b"}},
		{WriteFile(), object{"file_path": "f", "content": "b\n"}},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch"}},
	} {
		b.fails(c.tool, c.args, "UTF-16", "iconv -f UTF-16 -t UTF-8")
	}
	if got := b.get("f"); got != text {
		t.Errorf("%q", got)
	}
}

// What the text of a file does not show is kept by each tool that changes it.
func TestU5_MarksAndLineEndsAreKept(t *testing.T) {
	const bom = "\ufeff"
	const kept = "It kept its byte-order mark and CRLF line ends"
	b := newFixture(t)
	for _, tt := range []struct {
		name          string
		tool          tool.Tool
		args          object
		before, after string
		says          string
	}{
		{"write", WriteFile(), object{"content": "x\ny\n"}, bom + "a\r\nb\r\nc\n", bom + "x\r\ny\r\n", kept},
		{"write what has both", WriteFile(), object{"content": bom + "x\r\n"}, bom + "a\r\n", bom + "x\r\n",
			"before: 6)."},
		{"write over LF", WriteFile(), object{"content": "x\r\n"}, "a\n", "x\r\n",
			"Its line ends were LF and are CRLF now."},
		{"write over both", WriteFile(), object{"content": "x\n"}, "a\nb\nc\r\n", "x\n",
			"Its line ends were both LF and CRLF and are LF now."},
		{"write a mark", WriteFile(), object{"content": bom + "x\n"}, "a\n", bom + "x\n",
			"It begins with a byte-order mark now."},
		{"write the same", WriteFile(), object{"content": "a\n"}, "a\n", "a\n", "before: 2)."},
		{"edit", EditFile(), object{"old_string": "a\nb", "new_string": "x\ny"}, bom + "  a\r\n  b\r\n",
			bom + "  x\r\n  y\r\n", "new_string was adapted"},
		{"edit with a mark", EditFile(), object{"old_string": bom + "a", "new_string": "b"}, bom + "a\r\n",
			bom + "b\r\n", "line 1"},
		{"edit of a mark within", EditFile(), object{"old_string": bom + "a", "new_string": "a"}, "x\n" + bom + "a\n",
			"x\na\n", "line 2"},
		{"patch", ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch"},
			bom + "a\r\n", bom + "b\r\n", "M f"},
		{"patch that replaces it", ApplyPatch(), object{"patch": "*** Begin Patch\n*** Add File: f\n+b\n*** End Patch"},
			bom + "a\r\n", bom + "b\r\n", "(it kept its byte-order mark and CRLF line ends)"},
		{"patch that deletes and adds it", ApplyPatch(),
			object{"patch": "*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+b\n*** End Patch"},
			bom + "a\r\n", bom + "b\r\n", "(it kept its byte-order mark and CRLF line ends)"},
	} {
		b.put("target", tt.before)
		if err := os.Chmod(filepath.Join(b.dir, "target"), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("target", filepath.Join(b.dir, "f")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		if tt.args["patch"] == nil {
			tt.args["file_path"] = "f"
		}
		said := b.ok(tt.tool, tt.args)
		if !strings.Contains(said, tt.says) {
			t.Errorf("%s: the result does not say %q: %s", tt.name, tt.says, said)
		}
		if got := b.get("target"); got != tt.after {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.after)
		}
		info, err := os.Stat(filepath.Join(b.dir, "target"))
		if err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("%s: %v, %v", tt.name, info, err)
		}
		if link, err := os.Readlink(filepath.Join(b.dir, "f")); err != nil || link != "target" {
			t.Errorf("%s: the link leads to %q, %v", tt.name, link, err)
		}
	}
}

func TestU5_WhatIsLostIsSaid(t *testing.T) {
	for _, c := range []struct {
		tool tool.Tool
		args object
	}{
		{EditFile(), object{"file_path": "f", "old_string": "a", "new_string": "b"}},
		{WriteFile(), object{"file_path": "f", "content": "b\n"}},
		{ApplyPatch(), object{"patch": patchOf("*** Update File: f", "-a", "+b")}},
	} {
		b := newFixture(t)
		b.put("f", "a\n")
		file := filepath.Join(b.dir, "f")
		if err := os.Link(file, filepath.Join(b.dir, "other")); err != nil {
			t.Skip("no hard links: ", err)
		}
		if said := b.ok(c.tool, c.args); !strings.Contains(
			said,
			"[f: it was a hard link of 2 names, of which the others keep the old content]",
		) {
			t.Errorf("%s: %s", c.tool.Name, said)
		}
		b.put("f", "a\n")
		if err := os.Chmod(file, 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		said := b.ok(c.tool, c.args)
		if set := info.Mode()&os.ModeSetuid != 0; strings.Contains(
			said,
			"[f: its set-user-id or set-group-id bit was removed]",
		) != set {
			t.Errorf("%s: set %t: %s", c.tool.Name, set, said)
		}
		b.put("f", "a\n")
		if said := b.ok(c.tool, c.args); strings.Contains(said, "[f:") {
			t.Errorf("%s has lost something again: %s", c.tool.Name, said)
		}
	}
}

func TestU5_ReadingSaysWhatIsNotUTF8(t *testing.T) {
	long := strings.Repeat("é", readBuffer) // characters cross the buffer's end
	b := newFixture(t)
	for name, tt := range map[string]struct {
		content string
		says    bool
	}{
		"ascii": {"a\n", false}, "utf8": {"é\n", false}, "long": {"x" + long, false}, "latin": {"caf\xe9\n", true},
		"cut":    {"caf\xc3", true},
		"behind": {strings.Repeat("a\n", 3*readBuffer) + "\xe9\n", true}, "longlatin": {"x" + long + "\xe9", true},
		"empty": {"", false},
	} {
		b.put(name, tt.content)
		text := b.ok(ReadFile(), object{"file_path": name, "limit": 3})
		line := "\n[" + name + " is not UTF-8: "
		if strings.Count(text, line) != map[bool]int{true: 1}[tt.says] {
			t.Errorf("%s: %s", name, text[max(0, len(text)-500):])
		}
		if tt.says && !strings.HasSuffix(text, "first.]") {
			t.Errorf("%s: the line is not the last one", name)
		}
		if many := b.ok(ReadManyFiles(), object{"paths": []string{name}}); strings.Contains(
			many,
			"is not UTF-8",
		) != tt.says {
			t.Errorf("%s: read_many_files says %s", name, many[max(0, len(many)-500):])
		}
	}
}
