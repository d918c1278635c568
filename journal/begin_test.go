package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func ofKilobyte(kind string) Record {
	return Record{Kind: kind, Data: json.RawMessage(`{"text":"` + strings.Repeat(kind, 1000) + `"}`)}
}

// Begin reads a piece of a file, whatever comes behind it: many lines, a very long last line, a
// torn end.
func TestK6_BeginReadsTheBeginning(t *testing.T) {
	ctx := context.Background()
	for name, rest := range map[string]func(f Log) error{
		"many lines": func(f Log) error {
			for f.Len() < 1000 {
				if err := f.Append(ctx, f.Len()+1, ofKilobyte("result")); err != nil {
					return err
				}
			}
			return nil
		},
		"a long line": func(f Log) error {
			return f.Append(ctx, f.Len()+1,
				Record{Kind: "result", Data: json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`)})
		},
	} {
		for _, cut := range []int64{0, 1, 500} {
			dir := NewDir(t.TempDir())
			f := created(t, dir, "s", "header", "input")
			if err := rest(f); err != nil {
				t.Fatal(err)
			}
			closed(t, f)
			path := dir.file("s", linesExt)
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()-cut)
			}
			if err != nil {
				t.Fatal(err)
			}
			sys := &counting{system: disk{}}
			dir.sys = sys
			var kinds []string
			for r, err := range dir.Begin(ctx, "s") {
				if err != nil {
					t.Fatal(err)
				}
				if kinds = append(kinds, r.Kind); len(kinds) == 2 {
					break
				}
			}
			if strings.Join(kinds, " ") != "header input" || sys.read > 64<<10 {
				t.Errorf("%s, cut by %d: %q after %d bytes of %d", name, cut, kinds, sys.read, info.Size())
			}
		}
	}
}

// Data that Begin yields stays as it is until the next record is yielded, in a batch too, and
// buffers are used again.
func TestK6_BeginReusesBuffers(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s")
	long := Record{Kind: "b", Data: json.RawMessage(`"` + strings.Repeat("b", 50_000) + `"`)} // longer than the buffer
	if err := f.Append(ctx, 1, ofKilobyte("a"), long,
		Record{Kind: "c", Data: json.RawMessage(`{"own":1}`)}); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(ctx, 4, Record{Kind: "d", Data: json.RawMessage(`{"own":2}`)}); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	read := func() {
		r := readOf(t, dir, "s")
		var want []Record
		for rec, err := range r.Records(ctx, 1) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, rec)
		}
		i := 0
		for got, err := range dir.Begin(ctx, "s") {
			if err != nil || got.N != want[i].N || got.Kind != want[i].Kind || !bytes.Equal(got.Data, want[i].Data) {
				t.Fatalf("record %d is %+v, %v, want %+v", i+1, got, err, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d records, want %d", i, len(want))
		}
	}
	read()
	read()
	if allocs := testing.AllocsPerRun(50, func() {
		for _, err := range dir.Begin(ctx, "s") {
			if err != nil {
				t.Fatal(err)
			}
		}
	}); allocs > 60 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestK6_BeginOfNothing(t *testing.T) {
	dir := journalOf(t, "")
	for range dir.Begin(context.Background(), "s") {
		t.Error("an empty file has a record")
	}
	if err := failureOf(dir.Begin(context.Background(), "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a journal that does not exist: %v", err)
	}
	if err := failureOf(dir.Begin(context.Background(), "../s")); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("of an invalid id: %v", err)
	}
}

// FuzzK6_Begin checks that Begin, whatever is in the file, yields what Records does. It may only
// stop before an append that is damaged, where Records stops within it.
func FuzzK6_Begin(f *testing.F) {
	for _, seed := range []string{"", one, one + two, oneOfTwo + two, oneOfTwo, one + two[:20], one + "\n" + two,
		one + "\x00\x00", one + three, one + twoOfThree + three[:30] + "\n", oldOne + oldTwo,
		oldOne + two, one + oldTwo, one + flip(two), one + flip(two) + three, `{"n":1,"t":null}` + "\r\n",
		oneOfTwo + flip(two) + three} {
		f.Add([]byte(seed))
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := journalOf(t, string(content))
		var got []Record
		var failure error
		for r, err := range dir.Begin(ctx, "s") {
			if err != nil {
				failure = err
				break
			}
			r.Data = bytes.Clone(r.Data)
			got = append(got, r)
		}
		r, err := dir.Read(ctx, "s")
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || !errors.Is(failure, ErrCorrupt) {
				t.Fatalf("Begin of %q: %v, Read: %v", content, failure, err)
			}
			return
		}
		defer r.Close()
		n := 0
		for want, err := range r.Records(ctx, 1) {
			if err != nil {
				if !errors.Is(failure, ErrCorrupt) {
					t.Fatalf("Begin of %q: %v, Records: %v", content, failure, err)
				}
				return
			}
			if n == len(got) {
				if failure == nil {
					t.Fatalf("Begin of %q ends after %d records, Records has %+v", content, n, want)
				}
				break
			}
			if have := got[n]; have.N != want.N || have.Kind != want.Kind || !have.Time.Equal(want.Time) ||
				!bytes.Equal(have.Data, want.Data) {
				t.Fatalf("Begin of %q has %+v, Records %+v", content, have, want)
			}
			n++
		}
		if n < len(got) {
			t.Fatalf("Begin of %q has %d records, Records %d", content, len(got), n)
		}
	})
}
