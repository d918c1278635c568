package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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
	records := []journal.Record{{N: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Kind: "header <é>", Data: json.RawMessage(`{"x":"<é>\u2028"}`)},
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
		if b, err := journal.AppendLine([]byte("before"), journal.Record{N: 7, Kind: "bad", Data: json.RawMessage(data)}, false); err == nil || string(b) != "before" ||
			!strings.Contains(err.Error(), "record 7 (bad)") {
			t.Errorf("AppendLine of %.10q = %q, %v", data, b, err)
		}
	}
	for _, line := range []string{"", "\n", "{", "17", `{"k":"x"}`, `{"c":"00000000","n":1}`} {
		if _, _, err := journal.ParseLine([]byte(line)); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("ParseLine of %q = %v, want ErrCorrupt", line, err)
		}
	}
	if r, _, err := journal.ParseLine([]byte(`{"n":3,"t":"2026-01-02T03:04:05Z","k":"old","d":{}}`)); err != nil || r.N != 3 || r.Kind != "old" {
		t.Errorf("ParseLine of a line of version 1 = %+v, %v", r, err)
	}
}
