package coding

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// counted returns a text of numbered lines.
func counted(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "text %d\n", i)
	}
	return b.String()
}

func TestC3_Lines(t *testing.T) {
	b := newFixture(t)
	b.put("three", "a\n\n\tc\n")
	b.put("open", "a\nb")
	b.put("crlf", "a\r\nb\r\n")
	b.put("bom", "\ufeffa\nb\n")
	b.put("long", counted(3000))
	for _, c := range []struct {
		name string
		args object
		want string
	}{
		{"whole", object{"file_path": "three"}, "  1 | a\n  2 | \n  3 | \tc\n"},
		{"without a last newline", object{"file_path": "open"}, "  1 | a\n  2 | b\n"},
		{"crlf", object{"file_path": "crlf"}, "  1 | a\n  2 | b\n"},
		{"bom", object{"file_path": "bom"}, "  1 | a\n  2 | b\n"},
		{"offset", object{"file_path": "three", "offset": 3}, "  3 | \tc\n"},
		{"limit", object{"file_path": "three", "limit": 1},
			"  1 | a\n\n[Lines 1 to 1 are shown; the file goes on. Use offset 2 to read on.]"},
		{"offset and limit", object{"file_path": "long", "offset": 999, "limit": 2},
			" 999 | text 999\n1000 | text 1000\n\n[Lines 999 to 1000 are shown; the file goes on. Use offset 1001 to " +
				"read on.]"},
		{"up to the end", object{"file_path": "long", "offset": 2999, "limit": 2},
			"2999 | text 2999\n3000 | text 3000\n"},
		{"an absolute path", object{"file_path": filepath.ToSlash(b.dir) + "/open"}, "  1 | a\n  2 | b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, b.ok(ReadFile(), c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestC3_DefaultLimitIs2000Lines(t *testing.T) {
	b := newFixture(t)
	b.put("long", counted(2001))
	text := b.ok(ReadFile(), object{"file_path": "long"})
	if !strings.Contains(text, "\n2000 | text 2000\n") || strings.Contains(text, "2001 |") ||
		!strings.Contains(text, "Use offset 2001") {
		t.Errorf("%q", text[len(text)-200:])
	}
}

func TestC3_EmptyFileAndOffsetPastTheEnd(t *testing.T) {
	b := newFixture(t)
	b.put("empty", "")
	b.put("two", "a\nb")
	b.put("ended", "a\nb\n")
	if text := b.ok(ReadFile(), object{"file_path": "empty"}); !strings.Contains(text, "empty") {
		t.Errorf("%q", text)
	}
	b.fails(ReadFile(), object{"file_path": "two", "offset": 3}, "offset 3 is past the end", "2 lines")
	b.fails(ReadFile(), object{"file_path": "ended", "offset": 3}, "offset 3 is past the end", "2 lines")
	b.fails(ReadFile(), object{"file_path": "ended", "offset": 1000}, "2 lines")
}

func TestC3_Refusals(t *testing.T) {
	b := newFixture(t)
	b.put("dir/config.yaml", "x")
	b.put("dir/main_test.go", "x")
	b.put("dir/REPORT.markdown", "x")
	b.put("binary", "abc\x00def")
	b.put("utf16", "\xff\xfea\x00")
	b.put("big.png", llmtest.PNG+strings.Repeat("x", MaxImage))
	for want, args := range map[string]object{
		"is a directory":                    {"file_path": "dir"},
		"binary file":                       {"file_path": "binary"},
		"UTF-16":                            {"file_path": "utf16"},
		"larger than 32 MiB":                {"file_path": "big.png"},
		"file_path is empty":                {"file_path": ""},
		"offset is -1":                      {"file_path": "dir/config.yaml", "offset": -1},
		"limit is -1":                       {"file_path": "dir/config.yaml", "limit": -1},
		"did you mean dir/config.yaml?":     {"file_path": "dir/config.yml"},
		"did you mean dir/main_test.go?":    {"file_path": "dir/mian_test.go"},
		"did you mean dir/REPORT.markdown?": {"file_path": "dir/Report.TXT"},
		"neither does its directory nodir":  {"file_path": "nodir/x"},
		"dir/else.txt does not exist; find": {"file_path": "dir/else.txt"},
		"outside":                           {"file_path": "/etc/passwd"},
	} {
		b.fails(ReadFile(), args, want)
	}
}

func TestC3_Images(t *testing.T) {
	b := newFixture(t)
	for mime, data := range map[string]string{
		"image/png": llmtest.PNG,
		"image/webp": "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00" +
			"\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00",
	} {
		b.put("pic.bin", data)
		o := b.run(ReadFile(), object{"file_path": "pic.bin"})
		if o.IsError || len(o.Model) != 2 {
			t.Fatalf("%s: %+v", mime, o)
		}
		want := llm.Part(llm.Media{MIME: mime, Data: []byte(data), Name: "pic.bin"})
		if diff := cmp.Diff(want, o.Model[1]); diff != "" {
			t.Errorf("%s: %s", mime, diff)
		}
	}
}

func TestC3_LongLineIsCutAndSaysSo(t *testing.T) {
	b := newFixture(t)
	b.put("min.js", "x x"+strings.Repeat("ä ", maxLineBytes)+"\nnext\n")
	o := b.run(ReadFile(), object{"file_path": "min.js"})
	text := o.Content.Text()
	if want := fmt.Sprintf("[... the line goes on for %d more bytes]\n  2 | next\n",
		2*maxLineBytes+4); !strings.HasSuffix(text, want) {
		t.Errorf("%q", text[len(text)-100:])
	}
	if strings.ContainsRune(text, '\uFFFD') {
		t.Error("the cut went through a character")
	}
}

// TestC3_TenGigabytes reads a little of a file that is far larger than memory: a hole with text at
// its beginning.
func TestC3_TenGigabytes(t *testing.T) {
	b := newFixture(t)
	b.put("huge", counted(200_000))
	if err := os.Truncate(filepath.Join(b.dir, "huge"), 10<<30); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := b.ok(ReadFile(), object{"file_path": "huge", "offset": 100_000, "limit": 3})
	runtime.ReadMemStats(&after)
	if !strings.HasPrefix(text, "100000 | text 100000\n") || !strings.Contains(text, "Use offset 100003") {
		t.Errorf("%q", text)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d bytes allocated", allocated)
	}
}

func TestC3_AnswerIsBounded(t *testing.T) {
	b := newFixture(t)
	line := strings.Repeat("x", 1<<10) + "\n"
	b.put("wide", strings.Repeat(line, 3*maxReadBytes/len(line)))
	o := b.run(ReadFile(), object{"file_path": "wide", "limit": 1_000_000})
	text := o.Content.Text()
	if len(text) > 2*maxReadBytes || !strings.Contains(text[len(text)-200:],
		"The result is full after line 4096; the file goes on. Use offset 4097") {
		t.Errorf("%d bytes: %q", len(text), text[len(text)-200:])
	}
}

func TestC3_ReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, read := range []func(*bufio.Reader) error{
		func(r *bufio.Reader) error { _, err := skipLines(ctx, r, 5); return err },
		func(r *bufio.Reader) error { _, err := readLine(ctx, r); return err },
	} {
		if err := read(bufio.NewReader(strings.NewReader("a\nb\n"))); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// TestC3_LinesAreThoseOfTheFile compares the lines with those of the whole text, split.
func TestC3_LinesAreThoseOfTheFile(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\r\n", "a", "bcdefghij", "\r",
			strings.Repeat("x", 40)}), 1, 40).Draw(t, "text"), "")
		first := rapid.IntRange(1, 20).Draw(t, "first")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		all := strings.SplitAfter(text, "\n")
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		want := excerpt{}
		for i := first - 1; i < len(all) && len(want.lines) < limit; i++ {
			line := all[i]
			if ended, ok := strings.CutSuffix(line, "\n"); ok {
				line = strings.TrimSuffix(ended, "\r")
			}
			want.lines = append(want.lines, line)
		}
		want.more = first-1+limit < len(all)
		// With a small buffer, lines and skips cross its end.
		got, err := readLines(context.Background(), bufio.NewReaderSize(piecemeal{strings.NewReader(text)}, 16), first,
			limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(want.lines) == 0 && got.total != len(all) {
			t.Fatalf("total %d, want %d", got.total, len(all))
		}
		got.total = 0
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(excerpt{})); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

// piecemeal is a reader that returns a few bytes at a time.
type piecemeal struct{ r io.Reader }

func (o piecemeal) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 7)]) }

func TestC3_Access(t *testing.T) {
	access, err := ReadFile().Access(`{"file_path":"./a/../b//c.go"}`)
	if err != nil || access.Effect.String() != "read_only" || len(access.Paths) != 1 || access.Paths[0] != "b/c.go" {
		t.Errorf("%+v, %v", access, err)
	}
}
