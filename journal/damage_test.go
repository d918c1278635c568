package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var flipAll = flag.Bool("flip.all", false,
	"flip every bit of the journal in TestI8, not one of 31, and cut it at every byte")

// version1 returns a directory with the journal s in version 1 of the format. It has each kind of
// record that sessions had then.
func version1(t testing.TB) (dir *Dir, content string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "version1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return journalOf(t, string(data)), string(data)
}

// version2 returns the same journal as this version writes it.
func version2(t testing.TB) string {
	t.Helper()
	dir, content := version1(t)
	f, err := dir.Fork(context.Background(), "s", "new", int64(strings.Count(content, "\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	copied, err := os.ReadFile(dir.file("new", linesExt))
	if err != nil {
		t.Fatal(err)
	}
	return string(copied)
}

// A flipped bit is always noticed: it is an error or, in the last append, a torn end that is cut
// off. Records that are read are those that were written.
func TestI8_EveryBitFlip(t *testing.T) {
	content := []byte(version2(t))
	stride := 31
	if *flipAll {
		stride = 1
	}
	flips, torn := 0, 0
	for bit := 0; bit < 8*len(content); bit += stride {
		content[bit/8] ^= 1 << (bit % 8)
		good, problem, err := survey(context.Background(), bytes.NewReader(content))
		switch {
		case errors.Is(err, ErrCorrupt):
		case err != nil:
			t.Fatalf("bit %d: %v", bit, err)
		case problem == nil || good.size > int64(bit/8):
			t.Fatalf("bit %d of byte %d (%q) has changed without notice", bit%8, bit/8,
				content[max(0, bit/8-20):min(len(content), bit/8+20)])
		default:
			torn++
		}
		content[bit/8] ^= 1 << (bit % 8)
		flips++
	}
	t.Logf("%d flips: %d were cut off as a torn end, the others are errors", flips, torn)
	if flips < 1000 || torn == 0 {
		t.Errorf("%d flips, %d of them in the last line, want more", flips, torn)
	}
}

// A truncated journal has the records before its end. A line that is missing or has moved is
// noticed.
func TestI8_CutAndExchanged(t *testing.T) {
	ctx := context.Background()
	content := version2(t)
	stride := 7
	if *flipAll {
		stride = 1
	}
	for end := 0; end < len(content); end += stride {
		good, problem, err := survey(ctx, strings.NewReader(content[:end]))
		if err != nil || (problem == nil) != (good.size == int64(end)) ||
			int64(strings.LastIndex(content[:end], "\n")+1) < good.size {
			t.Fatalf("cut after %d bytes: good %+v, problem %v, %v", end, good, problem, err)
		}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(content, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	for i := range len(lines) - 1 {
		exchanged := slices.Clone(lines)
		exchanged[i], exchanged[i+1] = lines[i+1], lines[i]
		for name, changed := range map[string][]string{"missing": slices.Delete(slices.Clone(lines), i, i+1),
			"exchanged": exchanged, "twice": slices.Insert(slices.Clone(lines), i, lines[i])} {
			if _, _, err := survey(ctx, strings.NewReader(strings.Join(changed, ""))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("line %d is %s: %v", i+1, name, err)
			}
		}
	}
}

// A journal of version 1 can be read and copied. New lines in it have checksums.
func TestI8_Version1(t *testing.T) {
	ctx := context.Background()
	dir, content := version1(t)
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	n := f.Len()
	if want := int64(strings.Count(content, "\n")); n != want || TornEnd(f) != nil {
		t.Fatalf("%d records, torn %v, want %d", n, TornEnd(f), want)
	}
	if err := f.Append(ctx, n+1, Record{Kind: "new", Data: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	now := contentOf(t, dir)
	if added := strings.TrimPrefix(now, content); added == now || !strings.HasPrefix(added, sumBegin) {
		t.Errorf("what was appended is %q", added)
	}
	r := readOf(t, dir, "s")
	if got := kindsOf(t, r.Records(ctx, n)); !slices.Equal(got, []string{"end", "new"}) {
		t.Errorf("records %q", got)
	}
	damaged := strings.Replace(now, `"k":"new"`, `"k":"now"`, 1)
	if _, torn, err := survey(ctx, strings.NewReader(damaged)); err != nil || torn == nil {
		t.Errorf("a line with a checksum that follows lines without is not checked: %v", err)
	}
}

// A copy has the records of the source, in lines of the present version.
func TestI8_CopiesAreTheRecords(t *testing.T) {
	ctx := context.Background()
	dir := journalOf(t, one+lineOf(2, false)+lineOf(3, true)+lineOf(4, false)+lineOf(5, true)+lineOf(6, false))
	f, err := dir.Fork(ctx, "s", "t", 5, func(r *Record) error {
		if r.N == 1 {
			r.Data[2] = 'X' // in place
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	got, err := os.ReadFile(dir.file("t", linesExt))
	if err != nil {
		t.Fatal(err)
	}
	first := encoded(t, 1, Record{Kind: "k1", Data: json.RawMessage(`{"X":"y"}`)})
	want := first + lineOf(2, false) + lineOf(3, true) + lineOf(4, false) + lineOf(5, false)
	if string(got) != want {
		t.Errorf("the copy has\n%swant\n%s", got, want)
	}
	dir, content := version1(t)
	if f, err = dir.Fork(ctx, "s", "t", 3, nil); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if got, err = os.ReadFile(dir.file("t", linesExt)); err != nil {
		t.Fatal(err)
	}
	old := strings.SplitAfter(content, "\n")
	for i, line := range strings.SplitAfter(strings.TrimSuffix(string(got), "\n"), "\n") {
		if !strings.HasPrefix(line, sumBegin) || strings.TrimSuffix(withoutSum(line),
			"\n") != strings.TrimSuffix(old[i], "\n") {
			t.Errorf("line %d of the copy is\n%s, want\n%s with a checksum", i+1, line, old[i])
		}
	}
}

func encoded(t *testing.T, n int64, r Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := encodeLine(&b, n, r, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
