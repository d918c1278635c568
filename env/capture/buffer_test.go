package capture_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/seed"
)

// awkward generates text from pieces that combine in all ways: characters of every length, parts of
// them, and bytes that belong to none.
func awkward(limit int) *rapid.Generator[[]byte] {
	pieces := rapid.SampledFrom([]string{
		"a", "\n", "word ", strings.Repeat("ascii\n", 30), "ä", "\u07ff", "€", "\u0800", "\ud7ff", "\ue000",
		"\U00010000", "\U0010ffff", "😀",
		"\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98", "\x80", "\xa4", "\xbf", "\xc0\x80", "\xc1\xbf",
		"\xe0\x9f\xbf", "\xe0\xa0",
		"\xed\xa0\x80", "\xed\x9f", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x8f", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "\xff", "\x00",
	})
	return rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(pieces, 0, limit).Draw(t, "text"), ""))
	})
}

// Whatever is written in whatever pieces, head and tail are its beginning and end, the omitted part
// between them is counted exactly.
func TestD5_HeadTailAndCounts(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		sizes := rapid.IntRange(-1, 200)
		opts := capture.Options{Head: sizes.Draw(t, "head"), Tail: sizes.Draw(t, "tail")}
		headSize, tailSize := kept(opts.Head), kept(opts.Tail)
		var all bytes.Buffer
		var counts [3]int64
		c := capture.New(opts)
		for rest := awkward(60).Draw(t, "text"); len(rest) > 0; {
			n := rapid.IntRange(0, min(len(rest), 150)).Draw(t, "piece")
			stream := rapid.IntRange(1, 2).Draw(t, "stream")
			c.Write(stream, rest[:n])
			all.Write(rest[:n])
			counts[stream] += int64(n)
			rest = rest[n:]
			checkEnds(t, c, all.Bytes(), headSize, tailSize)
		}
		if c.Total() != int64(all.Len()) {
			t.Fatalf("total %d of %d", c.Total(), all.Len())
		}
		if c.Count(env.Stdout) != counts[env.Stdout] || c.Count(env.Stderr) != counts[env.Stderr] {
			t.Fatalf("counts are %d and %d, want %v", c.Count(1), c.Count(2), counts)
		}
	})
}

// checkEnds compares a Buffer with everything that was written.
func checkEnds(t *rapid.T, c *capture.Buffer, all []byte, headSize, tailSize int) {
	head, tail := c.Bytes()
	omitted, chars, lines := c.Omission()
	if len(all) <= headSize+tailSize {
		if !bytes.Equal(append(head, tail...), all) || omitted != 0 || chars != 0 || lines != 0 {
			t.Fatalf("kept %q, omitted %d, %d, %d of %q", append(head, tail...), omitted, chars, lines, all)
		}
		return
	}
	if !bytes.HasPrefix(all, head) || !bytes.HasSuffix(all, tail) {
		t.Fatalf("kept %q and %q of %q", head, tail, all)
	}
	// Each cut drops at most part of one character.
	for size, got := range map[int]int{headSize: len(head), tailSize: len(tail)} {
		if got > size || got < size-(utf8.UTFMax-1) {
			t.Fatalf("kept %q and %q of %q, want %d and %d bytes", head, tail, all, headSize, tailSize)
		}
	}
	gap := all[len(head) : len(all)-len(tail)]
	wantChars := utf8.RuneCountInString(strings.ToValidUTF8(string(gap), "\uFFFD"))
	if omitted != int64(len(gap)) || chars != int64(wantChars) || lines != int64(bytes.Count(gap, []byte("\n"))) {
		t.Fatalf("omitted %d bytes, %d characters, %d lines; want %d, %d, %d: %q",
			omitted, chars, lines, len(gap), wantChars, bytes.Count(gap, []byte("\n")), gap)
	}
}

// Valid text is never cut within a character, and all its characters are either kept or counted.
func TestD5_NoCharacterIsCut(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(string(awkward(200).Draw(t, "text")), "\uFFFD")
		c := capture.New(capture.Options{Head: rapid.IntRange(1, 80).Draw(t, "head"),
			Tail: rapid.IntRange(1, 80).Draw(t, "tail")})
		c.Write(env.Stdout, []byte(text))
		head, tail := c.Bytes()
		_, chars, _ := c.Omission()
		if chars == 0 {
			head, tail = append(head, tail...), nil // a character may span both
		}
		if got := utf8.RuneCount(head) + utf8.RuneCount(tail) + int(chars); !utf8.Valid(head) || !utf8.Valid(tail) ||
			got != utf8.RuneCountInString(text) {
			t.Fatalf("%q and %q and %d characters of %q", head, tail, chars, text)
		}
	})
}

func kept(n int) int {
	if n == 0 {
		return capture.DefaultKept
	}
	return max(n, 0)
}

// A reader that follows sees every byte once, in order, or learns how many it missed.
func TestC7_SinceFollows(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		c := capture.New(capture.Options{Head: 7, Tail: 11})
		var all []byte
		var at int64
		follow := func() {
			for {
				p, lost, next := c.Since(at)
				start := at + lost
				if next != start+int64(len(p)) || !bytes.Equal(p, all[start:next]) {
					t.Fatalf("Since(%d) of %d bytes: %q, lost %d, next %d", at, len(all), p, lost, next)
				}
				if at == next {
					break
				}
				at = next
			}
			if at != int64(len(all)) {
				t.Fatalf("the reader stays at %d of %d", at, len(all))
			}
		}
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 30)).Draw(t, "pieces") {
			c.Write(env.Stdout, piece)
			all = append(all, piece...)
			if rapid.Bool().Draw(t, "look") {
				follow()
			}
		}
		follow()
	})
}

func TestD5_Text(t *testing.T) {
	for name, c := range map[string]struct {
		opts capture.Options
		text string
		want string
	}{
		"all":               {capture.Options{Head: 3, Tail: 3}, "abcdef", "abcdef"},
		"all with cut rune": {capture.Options{Head: 3, Tail: 3}, "abäde", "abäde"},
		"omitted":           {capture.Options{Head: 2, Tail: 2}, "abcdef", "ab\n[... 2 bytes omitted ...]\nef"},
		"cut runes":         {capture.Options{Head: 2, Tail: 2}, "aä--€", "a\n[... 7 bytes omitted ...]\n"},
		"cut at the end":    {capture.Options{Head: 4, Tail: -1}, "a😀b", "a\n[... 5 bytes omitted ...]\n"},
		"cut at the start":  {capture.Options{Head: -1, Tail: 4}, "a😀b", "\n[... 5 bytes omitted ...]\nb"},
		"invalid":           {capture.Options{}, "a\xffb", "a\uFFFDb"},
		"invalid at cuts": {capture.Options{Head: 2, Tail: 2}, "a\xff--\xffb",
			"a\uFFFD\n[... 2 bytes omitted ...]\n\uFFFDb"},
		"head only": {capture.Options{Head: 2, Tail: -1}, "abcd", "ab\n[... 2 bytes omitted ...]\n"},
		"empty":     {capture.Options{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			buf := capture.New(c.opts)
			buf.Write(env.Stdout, []byte(c.text))
			if got := buf.Text(); got != c.want || !utf8.ValidString(got) {
				t.Errorf("Text is %q, want %q", got, c.want)
			}
		})
	}
}

// allocated runs f and returns the number of bytes it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestD5_MemoryIsBounded(t *testing.T) {
	piece := bytes.Repeat([]byte("0123456789abcdef"), 2<<10) // 32 KiB
	if n := allocated(func() {
		var c capture.Buffer
		c.Write(env.Stdout, []byte("ten bytes\n"))
	}); n > 64<<10 { // other goroutines allocate a little too
		t.Errorf("ten bytes cost %d", n)
	}
	const more = 128 << 20
	var c capture.Buffer
	c.Write(env.Stdout, make([]byte, 2*capture.DefaultKept)) // full
	if n := allocated(func() {
		for range more / len(piece) {
			c.Write(env.Stdout, piece)
		}
	}); n > 1<<20 {
		t.Errorf("%d bytes more allocated %d", more, n)
	}
	if c.Total() != more+2*capture.DefaultKept {
		t.Errorf("total is %d", c.Total())
	}
	if n := allocated(func() {
		var c capture.Buffer
		for range 1000 {
			c.Write(env.Stdout, piece)
		}
	}); n > 2*capture.DefaultKept+1<<20 {
		t.Errorf("filling it up allocated %d bytes in all", n)
	}
}

// BenchmarkD5_Capture and BenchmarkD5_Copy compare keeping head and tail with discarding the
// output.
func BenchmarkD5_Capture(b *testing.B) {
	c := capture.New(capture.Options{})
	benchmarkWrites(b, func(p []byte) { c.Write(env.Stdout, p) })
}

func BenchmarkD5_Copy(b *testing.B) {
	scratch := make([]byte, 32<<10)
	benchmarkWrites(b, func(p []byte) {
		copy(scratch, p)
		if _, err := io.Discard.Write(p); err != nil {
			b.Fatal(err)
		}
	})
}

func benchmarkWrites(b *testing.B, write func([]byte)) {
	piece := []byte(strings.Repeat("x", 32<<10))
	b.SetBytes(int64(len(piece)))
	b.ReportAllocs()
	for b.Loop() {
		write(piece)
	}
}
