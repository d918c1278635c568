package protocol

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/attractor-go/attractor/internal/texts"
)

// A line that is too long is skipped whole, in bounded memory, and those around it are read.
func TestN2_OversizedLine(t *testing.T) {
	megabyte := strings.Repeat("x", 1<<20)
	parts := []io.Reader{strings.NewReader("one\n")}
	for range 256 {
		parts = append(parts, strings.NewReader(megabyte))
	}
	in := texts.NewLines(io.MultiReader(append(parts, strings.NewReader("\ntwo"))...), 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, want := range []string{"one", "", "two"} {
		line, err := in.Next()
		if want != "" && string(line) != want || (err != nil) != (want == "") ||
			err != nil && !errors.Is(err, texts.ErrTooLong) ||
			in.N != i+1 {
			t.Errorf("line %d is %.20q, %v, want %q", in.N, line, err, want)
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d MiB for a line of 256 MiB", used>>20)
	}
}

// A line of exactly the most bytes is read, whatever its end is, and one byte more is too much.
func TestN2_LongestLine(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", ""} {
		in := texts.NewLines(iotest.OneByteReader(strings.NewReader(strings.Repeat("x",
			100-len(strings.TrimSuffix(end, "\n")))+end)), 100)
		if line, err := in.Next(); err != nil || len(line) < 99 {
			t.Errorf("%q: %d bytes, %v", end, len(line), err)
		}
	}
	in := texts.NewLines(strings.NewReader(strings.Repeat("x", 101)), 100)
	if _, err := in.Next(); !errors.Is(err, texts.ErrTooLong) {
		t.Error(err)
	}
}

// FuzzN2_Lines compares the reader with a split of the whole text, and decodes every line.
func FuzzN2_Lines(f *testing.F) {
	for _, seed := range []string{"", "\n", "a\nb", "a\r\n\r\nb\n", "\ufeff{}\n\ufeff",
		strings.Repeat("x", 70_000) + "\ny", `{"type":"user","text":"x"}`,
		`{"type":"approve","ask":"a-1","decision":"allow","args":{},"id":1}`,
		`{"type":"set","max_rounds":1,"answer_timeout":"1s","mode":"plan"}`,
		`{"type":"answer","ask":"a-1","content":{"a":[1]},"id":"x"}`,
		`{"type":"user","images":[{"media_type":"image/png","data":"AAAA"},{"path":"x"}]}`} {
		f.Add([]byte(seed))
	}
	const most = 66_000 // more than the buffer
	f.Fuzz(func(t *testing.T, data []byte) {
		in := texts.NewLines(iotest.HalfReader(bytes.NewReader(data)), most)
		rest := data
		for first := true; len(rest) > 0; first = false {
			want, more, _ := bytes.Cut(rest, []byte("\n"))
			rest = more
			line, err := in.Next()
			if len(want) > most {
				if !errors.Is(err, texts.ErrTooLong) {
					t.Fatalf("a line of %d bytes: %v", len(want), err)
				}
				continue
			}
			if first {
				want = bytes.TrimPrefix(want, []byte("\ufeff"))
			}
			if err != nil || !bytes.Equal(line, bytes.TrimRight(want, "\r")) {
				t.Fatalf("%q, %v, want %q", line, err, want)
			}
			if decoded, err := decode(line); err == nil && (decoded.Type == "" || decoded.check() != nil) {
				t.Errorf("%q is decoded as %+v", line, decoded)
			}
		}
		if _, err := in.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Every member that a type has can be set, and no type has a member that is stored nowhere.
func TestN2_MembersAreFields(t *testing.T) {
	stored := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[fields]()) {
		stored[f.Tag.Get("json")] = true
	}
	for _, kind := range Types() {
		for _, name := range Members(kind) {
			if !stored[name] {
				t.Errorf("%s of %s is stored nowhere", name, kind)
			}
		}
	}
}
