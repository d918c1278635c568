package env_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/env"
)

// Whatever is written in whatever pieces, head and tail are the beginning and the end of it, the counts are exact and the spill
// is everything.
func TestD5_HeadTailAndCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := env.CaptureOptions{Head: rapid.IntRange(-1, 40).Draw(t, "head"), Tail: rapid.IntRange(-1, 40).Draw(t, "tail")}
		headSize, tailSize := kept(opts.Head), kept(opts.Tail)
		var spill, all bytes.Buffer
		var counts [3]int64
		opts.Spill = &spill
		c := env.NewCapture(opts)
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 60)).Draw(t, "pieces") {
			stream := rapid.IntRange(1, 2).Draw(t, "stream")
			c.Write(stream, piece)
			all.Write(piece)
			counts[stream] += int64(len(piece))
		}
		head, tail := c.Bytes()
		wantHead := all.Bytes()[:min(headSize, all.Len())]
		rest := all.Bytes()[len(wantHead):]
		wantTail := rest[max(len(rest)-tailSize, 0):]
		if !bytes.Equal(head, wantHead) || !bytes.Equal(tail, wantTail) {
			t.Fatalf("kept %q and %q, want %q and %q", head, tail, wantHead, wantTail)
		}
		if c.Total() != int64(all.Len()) || c.Omitted() != int64(all.Len()-len(head)-len(tail)) {
			t.Fatalf("total %d, omitted %d of %d", c.Total(), c.Omitted(), all.Len())
		}
		if c.Count(env.Stdout) != counts[env.Stdout] || c.Count(env.Stderr) != counts[env.Stderr] {
			t.Fatalf("counts are %d and %d, want %v", c.Count(1), c.Count(2), counts)
		}
		if !bytes.Equal(spill.Bytes(), all.Bytes()) {
			t.Fatalf("%d of %d bytes were spilled", spill.Len(), all.Len())
		}
	})
}

func kept(n int) int {
	if n == 0 {
		return env.DefaultKept
	}
	return max(n, 0)
}

// A reader that follows sees every byte once, in order, or is told how many it missed.
func TestC7_SinceFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := env.NewCapture(env.CaptureOptions{Head: 7, Tail: 11})
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
		opts env.CaptureOptions
		text string
		want string
	}{
		"all":               {env.CaptureOptions{Head: 3, Tail: 3}, "abcdef", "abcdef"},
		"all with cut rune": {env.CaptureOptions{Head: 3, Tail: 3}, "abäde", "abäde"},
		"omitted":           {env.CaptureOptions{Head: 2, Tail: 2}, "abcdef", "ab\n[... 2 bytes omitted ...]\nef"},
		"cut runes":         {env.CaptureOptions{Head: 2, Tail: 2}, "aä--€", "a\n[... 7 bytes omitted ...]\n"},
		"invalid":           {env.CaptureOptions{}, "a\xffb", "a\uFFFDb"},
		"invalid at cuts":   {env.CaptureOptions{Head: 2, Tail: 2}, "a\xff--\xffb", "a\uFFFD\n[... 2 bytes omitted ...]\n\uFFFDb"},
		"head only":         {env.CaptureOptions{Head: 2, Tail: -1}, "abcd", "ab\n[... 2 bytes omitted ...]\n"},
		"empty":             {env.CaptureOptions{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			capture := env.NewCapture(c.opts)
			capture.Write(env.Stdout, []byte(c.text))
			if got := capture.Text(); got != c.want || !utf8.ValidString(got) {
				t.Errorf("Text is %q, want %q", got, c.want)
			}
		})
	}
}

// failing is a writer that cannot.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestD5_SpillErrorStopsTheSpillOnly(t *testing.T) {
	full := errors.New("disk full")
	c := env.NewCapture(env.CaptureOptions{Spill: failing{full}})
	c.Write(env.Stdout, []byte("one"))
	c.Write(env.Stderr, []byte("two"))
	if !errors.Is(c.SpillErr(), full) || c.Text() != "onetwo" {
		t.Errorf("SpillErr %v, text %q", c.SpillErr(), c.Text())
	}
}

// allocated runs a function and returns how many bytes it allocated, in all.
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
		var c env.Capture
		c.Write(env.Stdout, []byte("ten bytes\n"))
	}); n > 64<<10 { // other goroutines allocate a little too
		t.Errorf("ten bytes cost %d", n)
	}
	var c env.Capture
	c.Write(env.Stdout, make([]byte, 2*env.DefaultKept)) // full
	if n := allocated(func() {
		for range 1 << 30 / len(piece) {
			c.Write(env.Stdout, piece)
		}
	}); n > 1<<20 {
		t.Errorf("1 GiB more allocated %d bytes", n)
	}
	if c.Total() != 1<<30+2*env.DefaultKept {
		t.Errorf("total is %d", c.Total())
	}
	if n := allocated(func() {
		var c env.Capture
		for range 1000 {
			c.Write(env.Stdout, piece)
		}
	}); n > 40<<20 {
		t.Errorf("filling it up allocated %d bytes in all", n)
	}
}

// BenchmarkD5_Capture against BenchmarkD5_Copy: what keeping head and tail costs over throwing the output away.
func BenchmarkD5_Capture(b *testing.B) {
	c := env.NewCapture(env.CaptureOptions{})
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
