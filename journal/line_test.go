package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/journal"
)

// Other programs can write lines that a Dir reads, and read lines that a Dir writes.
func TestJ8_TheCodecIsTheFormat(t *testing.T) {
	ctx := context.Background()
	path := t.TempDir()
	dir := journal.NewDir(path)
	l, err := dir.Create(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	records := []journal.Record{{N: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Kind: "header <é>",
		Data: json.RawMessage(`{"x":"<é>\u2028"}`)},
		{N: 2, Kind: "more", Data: json.RawMessage(`[1, 2]`)}, {N: 3, Kind: "none"}}
	if err := errors.Join(l.Append(ctx, 1, records[0]), l.Append(ctx, 2, records[1:]...), l.Close()); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(path, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for i, r := range records {
		if lines, err = journal.AppendLine(lines, r, i == 1); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), string(lines)); diff != "" {
		t.Errorf("AppendLine: -Dir +AppendLine\n%s", diff)
	}
	records[1].Data = json.RawMessage(`[1,2]`)
	for i, line := range strings.SplitAfter(strings.TrimSuffix(string(lines), "\n"), "\n") {
		r, more, err := journal.ParseLine([]byte(line))
		if diff := cmp.Diff(records[i], r); err != nil || more != (i == 1) || diff != "" {
			t.Errorf("ParseLine of line %d: more %t, %v\n%s", i+1, more, err, diff)
		}
		for bit := range 8 * len(strings.TrimSuffix(line, "\n")) {
			damaged := []byte(line)
			damaged[bit/8] ^= 1 << (bit % 8)
			if r, _, err := journal.ParseLine(damaged); !errors.Is(err, journal.ErrCorrupt) {
				t.Fatalf("ParseLine of %q = %+v, %v, want ErrCorrupt", damaged, r, err)
			}
		}
	}
}

func TestJ8_TheCodecRefuses(t *testing.T) {
	for _, data := range []string{"", "{", "{}{}", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)} {
		if b, err := journal.AppendLine([]byte("before"), journal.Record{N: 7, Kind: "bad",
			Data: json.RawMessage(data)}, false); err == nil || string(b) != "before" ||
			!strings.Contains(err.Error(), "record 7 (bad)") {
			t.Errorf("AppendLine of %.10q = %q, %v", data, b, err)
		}
	}
	for _, line := range []string{"", "\n", "{", "17", `{"k":"x"}`, `{"c":"00000000","n":1}`} {
		if _, _, err := journal.ParseLine([]byte(line)); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("ParseLine of %q = %v, want ErrCorrupt", line, err)
		}
	}
	if r, _, err := journal.ParseLine([]byte(`{"n":3,"t":"2026-01-02T03:04:05Z","k":"old","d":{}}`)); err != nil ||
		r.N != 3 || r.Kind != "old" {
		t.Errorf("ParseLine of a line of version 1 = %+v, %v", r, err)
	}
}

// The line of data without white space is that of the same data with some.
func FuzzK3_CompactData(f *testing.F) {
	for _, data := range []string{`{}`, `{"a":[1,"\u2028<\n",null]}`, `"a b"`, `[1,]`, `{"a":1} `, `{ "a":1}`,
		"[1,\n2]", `"` + "\n" + `"`, `nul`, `"` + "\xff" + `"`, `1 2`,
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 9_999) + strings.Repeat("]",
			9_999)} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return // a record without data
		}
		line, err := journal.AppendLine(nil, journal.Record{N: 1, Kind: "a", Data: data}, false)
		spaced, spacedErr := journal.AppendLine(nil,
			journal.Record{N: 1, Kind: "a", Data: slices.Concat([]byte("\n"), data, []byte(" "))}, false)
		if (err == nil) != (spacedErr == nil) || !bytes.Equal(line, spaced) {
			t.Fatalf("%q: %q, %v\nwith white space: %q, %v", data, line, err, spaced, spacedErr)
		}
	})
}
