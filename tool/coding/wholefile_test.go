package coding

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// readCounter counts the bytes that are read from the files of an environment.
type readCounter struct {
	env.Base
	read *int64
}

func (c readCounter) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := c.Base.Open(ctx, name)
	return countedFile{f, c.read}, err
}

type countedFile struct {
	io.ReadCloser
	read *int64
}

func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	*f.read += int64(n)
	return n, err
}

// TestK7_LargeFiles has files of 100 MiB refused before they are read.
func TestK7_LargeFiles(t *testing.T) {
	b := newFixture(t)
	var read int64
	b.env = readCounter{env.Base{Environment: b.env}, &read}
	calls := []struct {
		tool tool.Tool
		args object
		want string
	}{
		{EditFile(), object{"file_path": "f", "old_string": "first", "new_string": "second"},
			"f is larger than 64 MiB; change it with shell"},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: f\n-first\n+second\n*** End Patch"},
			"it is larger than 64 MiB, so a patch can neither change nor delete it"},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Delete File: f\n*** End Patch"},
			"it is larger than 64 MiB"},
	}
	for _, c := range calls {
		b.put("f", "first\n")
		if err := os.Truncate(filepath.Join(b.dir, "f"), 100<<20); err != nil {
			t.Fatal(err)
		}
		read = 0
		b.fails(c.tool, c.args, c.want)
		if read != 0 {
			t.Errorf("%v: %d bytes were read", c.args, read)
		}
	}
}

// TestK7_LargeEdits has edits refused whose results, or whose work, would not fit into memory: the
// first would take 80 GB.
func TestK7_LargeEdits(t *testing.T) {
	b := newFixture(t)
	long := strings.Repeat("b", 20_000)
	many := strings.Repeat("x", maxPlaces+1)
	tooLarge := "f would be larger than 64 MiB"
	patched := "*** Begin Patch\n*** Update File: f\n@@\n-first\n+second\n*** End Patch"
	for _, c := range []struct {
		name, content, old, new, want string
	}{
		{"exact", strings.Repeat("a", 4<<20), "aaaaaaaa", long, tooLarge},
		{"with carriage returns", strings.Repeat("a\r\n", 1<<18), "a", long + "\n", tooLarge},
		{"white space", strings.Repeat("a \n", 1<<18), "a\n", long + "\n", tooLarge},
		{"typography", strings.Repeat("\u201ca\u201d", 1<<18), `"a"`, long, tooLarge},
		{"many places", many, "x", "y", "more than 1048576 times"},
		{"many lines", strings.ReplaceAll(many, "x", "a \n"), "a\n", "b\n", "or 1048576 lines, so only the very text"},
		{"an absent text in many lines", strings.ReplaceAll(many, "x", "\n"), "a\nb", "c",
			"or 1048576 lines, so only the very text"},
		{"an absent text in many bytes", strings.Repeat("a", maxDividedBytes+1), "b", "c", "more than 16 MiB"},
		{"many quotes", strings.ReplaceAll(many, "x", "\u201c"), `"`, "y", "more than 1048576 times"},
		{"many lines of a patch", "first\n" + strings.Repeat("\n", maxLines), "", "", "more than 1048576 lines"},
	} {
		b.put("f", c.content)
		if c.old == "" {
			b.fails(ApplyPatch(), object{"patch": patched}, c.want)
		} else {
			b.fails(EditFile(), object{"file_path": "f", "old_string": c.old, "new_string": c.new, "replace_all": true},
				c.want)
		}
		if got := b.get("f"); got != c.content {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
}
