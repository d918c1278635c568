package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/journal"
)

// longLog writes a journal of lines of any length, and returns its directory and its file.
func longLog(t testing.TB, sizes func(i int) int, records int) (dir *journal.Dir, path string) {
	t.Helper()
	at := t.TempDir()
	dir = journal.NewDir(at)
	log, err := dir.Create(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		r := journal.Record{Kind: "x", Data: json.RawMessage(fmt.Sprintf(`{"i":%d,"n":"%s"}`, i+1,
			strings.Repeat("x", sizes(i))))}
		if err := log.Append(t.Context(), int64(i+1), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(at, "long.jsonl")
}

// numbers returns the numbers of the records from a number on, and the error at their end.
func numbers(t testing.TB, dir *journal.Dir, from int64) (all []int64, err error) {
	t.Helper()
	log, err := dir.Read(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for r, err := range log.Records(t.Context(), from) {
		if err != nil {
			return all, err
		}
		if !strings.HasPrefix(string(r.Data), fmt.Sprintf(`{"i":%d,`, r.N)) {
			t.Fatalf("record %d has the data %.40s", r.N, r.Data)
		}
		all = append(all, r.N)
	}
	return all, nil
}

// A pass from any record on has that record and all later ones, whatever the lengths of the lines
// are, with checksums and without.
func TestN5_RecordsFromAnywhere(t *testing.T) {
	t.Parallel()
	random := seed.New(t)
	for name, sizes := range map[string]func(int) int{
		"short lines": func(int) int { return 10 },
		"long lines":  func(int) int { return 50_000 },
		"mixed lines": func(int) int { return 1 << random.IntN(19) },
		"a long end":  func(i int) int { return 100 + i/99*1_000_000 },
		"a long head": func(i int) int { return 100 + (99-i)/99*1_000_000 },
	} {
		dir, path := longLog(t, sizes, 100)
		for _, version := range []string{"with checksums", "without checksums"} {
			for _, from := range []int64{0, 1, 2, 3, 4, 17, 33, 49, 50, 51, 64, 80, 97, 98, 99, 100, 101, 102} {
				got, err := numbers(t, dir, from)
				var want []int64
				for n := max(from, 1); n <= 100; n++ {
					want = append(want, n)
				}
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s, %s, from %d: %v, %v", name, version, from, got, err)
				}
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var plain []byte
			for line := range bytes.Lines(content) {
				plain = append(append(plain, '{'), line[len(`{"c":"12345678",`):]...)
			}
			if err := os.WriteFile(path, plain, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A pass finds damage wherever it begins.
func TestN5_RecordsOfADamagedFile(t *testing.T) {
	t.Parallel()
	dir, path := longLog(t, func(int) int { return 10_000 }, 100)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	spoiled := bytes.Replace(lines[19], []byte("xx"), []byte("xy"), 1)
	if err := os.WriteFile(path, bytes.Join(slices.Concat(lines[:19], [][]byte{spoiled}, lines[20:]), nil),
		0o600); err != nil {
		t.Fatal(err)
	}
	for from := range int64(101) {
		if _, err := numbers(t, dir, from); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	for i := 1; i < 99; i++ { // a line that is missing
		if err := os.WriteFile(path, bytes.Join(slices.Concat(lines[:i], lines[i+1:]), nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := numbers(t, dir, int64(i+1)); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("without line %d: %v, %v", i+1, got, err)
		}
	}
}
