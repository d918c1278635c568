package journaltest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/journal"
)

// Open opens a log. It is empty the first time; after it was closed, it has what was appended to
// it.
type Open func() (journal.Log, error)

// Suite checks that a log keeps the contract of journal.Log. Fresh returns the Open of a new log
// and is called often. The suite closes every log that it opens. It does not test crashes.
func Suite(t *testing.T, fresh func() Open) {
	for name, test := range map[string]func(t *testing.T, open Open){
		"appends in order":               appends,
		"refuses conflicts":              conflicts,
		"refuses data that is not JSON":  badData,
		"keeps times and bytes":          fidelity,
		"reads what was there when":      snapshot,
		"keeps blobs":                    blobs,
		"does not begin after the end":   contexts,
		"lets one of many writers in":    contention,
		"reads while it is appended to":  readers,
		"has everything after reopening": reopened,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh()) })
	}
	t.Run("does as Memory does", func(t *testing.T) { model(t, fresh) })
}

func opened(t *testing.T, open Open) journal.Log {
	t.Helper()
	l, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Close = %v", err)
		}
	})
	return l
}

func record(kind, data string) journal.Record {
	return journal.Record{Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Kind: kind, Data: json.RawMessage(data)}
}

func add(t *testing.T, l journal.Log, kinds ...string) {
	t.Helper()
	var records []journal.Record
	for _, kind := range kinds {
		records = append(records, record(kind, `{}`))
	}
	if err := l.Append(context.Background(), l.Len()+1, records...); err != nil {
		t.Fatal(err)
	}
}

func kinds(t *testing.T, l journal.Reader, from int64) string {
	t.Helper()
	var s string
	for r, err := range l.Records(context.Background(), from) {
		if err != nil {
			t.Fatal(err)
		}
		s += r.Kind
	}
	return s
}

func appends(t *testing.T, open Open) {
	l := opened(t, open)
	if got := kinds(t, l, 1); got != "" || l.Len() != 0 {
		t.Errorf("a new log has %d records: %q", l.Len(), got)
	}
	add(t, l, "a", "b")
	add(t, l, "c")
	add(t, l)
	for from, want := range map[int64]string{-1: "abc", 0: "abc", 1: "abc", 2: "bc", 3: "c", 4: "", 9: ""} {
		if got := kinds(t, l, from); got != want {
			t.Errorf("records from %d = %q, want %q", from, got, want)
		}
	}
	n := int64(0)
	for r, err := range l.Records(context.Background(), 1) {
		if n++; err != nil || r.N != n {
			t.Errorf("record %d has the number %d, %v", n, r.N, err)
		}
	}
	if l.Len() != 3 {
		t.Errorf("Len = %d, want 3", l.Len())
	}
}

func conflicts(t *testing.T, open Open) {
	l := opened(t, open)
	add(t, l, "a")
	for _, next := range []int64{-1, 0, 1, 3} {
		for _, records := range [][]journal.Record{{record("x", `{}`)}, {}} {
			if err := l.Append(context.Background(), next, records...); !errors.Is(err, journal.ErrConflict) {
				t.Errorf("Append(%d) of %d records = %v, want ErrConflict", next, len(records), err)
			}
		}
	}
	if got := kinds(t, l, 1); got != "a" {
		t.Errorf("records = %q, want a", got)
	}
}

func badData(t *testing.T, open Open) {
	l := opened(t, open)
	for _, data := range []string{``, `{`, `{}{}`, `1,"n":7`, "\n", `nul`} {
		err := l.Append(context.Background(), 1, record("good", `{}`), record("bad", data))
		if err == nil || errors.Is(err, journal.ErrConflict) {
			t.Errorf("Append of %q = %v, want an error of its own", data, err)
		}
	}
	if got := kinds(t, l, 1); got != "" {
		t.Errorf("records = %q, want none: all or none", got)
	}
	add(t, l, "a") // and the log goes on
}

// fidelity checks that bodies come back byte for byte, because they hold what a model was sent.
func fidelity(t *testing.T, open Open) {
	l := opened(t, open)
	zone := time.FixedZone("zone", 3600)
	want := []journal.Record{
		{N: 1, Time: time.Date(2026, 5, 6, 7, 8, 9, 123456789, zone), Kind: "a",
			Data: json.RawMessage(`{"a":"<b>&\u2028\\u00e9 é 😀\u0000\ud800"}`)},
		{N: 2, Time: time.Time{}, Kind: "b \"<&>\n", Data: json.RawMessage("\"\xff\u2028\"")},
		{N: 3, Kind: "none"},
		{N: 4, Kind: "", Data: json.RawMessage(`null`)},
		{N: 5, Kind: "number", Data: json.RawMessage(`123456789012345678901234567890.10e+5`)},
		{N: 6, Kind: "more", Data: json.RawMessage(`{"more":true,"n":99,"more":[]}`)},
	}
	if err := l.Append(context.Background(), 1, want...); err != nil {
		t.Fatal(err)
	}
	want[0].Time = want[0].Time.UTC()
	if diff := cmp.Diff(want, all(t, l)); diff != "" {
		t.Errorf("-appended +read:\n%s", diff)
	}
}

func all(t failer, l journal.Log) []journal.Record {
	t.Helper()
	var records []journal.Record
	for r, err := range l.Records(context.Background(), 1) {
		if err != nil {
			t.Fatalf("Records: %v", err)
		}
		records = append(records, r)
	}
	return records
}

// failer is implemented by tests of packages testing and rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func snapshot(t *testing.T, open Open) {
	l := opened(t, open)
	add(t, l, "a", "b")
	before := l.Records(context.Background(), 1)
	add(t, l, "c")
	var got string
	for r, err := range before {
		if err != nil {
			t.Fatal(err)
		}
		got += r.Kind
		add(t, l, "d") // no lock is held
	}
	if got != "ab" {
		t.Errorf("records = %q, want the two that were there", got)
	}
	for range l.Records(context.Background(), 1) {
		break
	}
	if got := kinds(t, l, 1); got != "abcdd" {
		t.Errorf("records = %q, want abcdd", got)
	}
}

func blobs(t *testing.T, open Open) {
	ctx := context.Background()
	l := opened(t, open)
	data := []byte("large")
	hash, err := l.PutBlob(ctx, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hash != hex.EncodeToString(sum[:]) {
		t.Errorf("hash = %q, want the SHA-256 in hex", hash)
	}
	for range 2 {
		if got, err := blob(l, hash); err != nil || got != "large" {
			t.Errorf("Blob = %q, %v", got, err)
		}
		if again, err := l.PutBlob(ctx, strings.NewReader("large")); err != nil || again != hash {
			t.Errorf("PutBlob of the same = %s, %v, want %s", again, err, hash)
		}
	}
	empty, err := l.PutBlob(ctx, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := blob(l, empty); err != nil || len(got) != 0 {
		t.Errorf("Blob of nothing = %q, %v", got, err)
	}
	for _, hash := range []string{"", "none", "../x", hash + "0", hash[1:] + "0"} {
		if _, err := blob(l, hash); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Blob(%q) = %v, want fs.ErrNotExist", hash, err)
		}
	}
}

// blob returns the content of a blob.
func blob(r journal.Reader, hash string) (text string, err error) {
	b, err := r.Blob(context.Background(), hash)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(b)
	return string(data), errors.Join(err, b.Close())
}

func contexts(t *testing.T, open Open) {
	l := opened(t, open)
	add(t, l, "a", "b")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	read := 0
	for _, err := range l.Records(ctx, 1) {
		if read++; read == 1 {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("Records after the end of its context = %v", err)
		}
	}
	if read != 2 {
		t.Errorf("%d steps of Records, want a record and an error", read)
	}
	if err := l.Append(ctx, 3, record("c", `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("Append after the end of its context = %v", err)
	}
	if got := kinds(t, l, 1); got != "ab" {
		t.Errorf("records = %q, want ab", got)
	}
}

// contention checks that writers that share a log are serialized by the numbers that they expect.
func contention(t *testing.T, open Open) {
	const writers, each = 4, 25
	l := opened(t, open)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; i < each; {
				kind := fmt.Sprintf("%d/%d", w, i)
				err := l.Append(context.Background(), l.Len()+1, record(kind, `{}`), record(kind, `{}`))
				switch {
				case err == nil:
					i++
				case !errors.Is(err, journal.ErrConflict):
					t.Error(err)
					return
				}
				if err := l.Sync(context.Background()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	records := all(t, l)
	if len(records) != 2*writers*each {
		t.Fatalf("%d records, want %d", len(records), 2*writers*each)
	}
	var done [writers]int
	for i := 0; i < len(records); i += 2 {
		var w, n int
		if _, err := fmt.Sscanf(records[i].Kind, "%d/%d", &w, &n); err != nil {
			t.Fatal(err)
		}
		if records[i+1].Kind != records[i].Kind || n != done[w] {
			t.Fatalf("records %d, %d are %s and %s, want %d/%d twice", i+1, i+2, records[i].Kind, records[i+1].Kind, w,
				done[w])
		}
		done[w]++
	}
}

// readers checks that readers see complete records and complete appends.
func readers(t *testing.T, open Open) {
	l := opened(t, open)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for running := true; running; {
				select {
				case <-stop:
					running = false
				default:
				}
				n := int64(0)
				for r, err := range l.Records(context.Background(), 1) {
					if n++; err != nil || r.N != n {
						t.Errorf("record %d: %d, %v", n, r.N, err)
						return
					}
				}
				if n%3 != 0 {
					t.Errorf("%d records, appended by threes", n)
				}
			}
		})
	}
	for range 50 {
		add(t, l, "a", "b", "c")
	}
	close(stop)
	wg.Wait()
}

func reopened(t *testing.T, open Open) {
	ctx := context.Background()
	l := opened(t, open)
	add(t, l, "a", "b")
	hash, err := l.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = opened(t, open)
	if got := kinds(t, l, 1); got != "ab" || l.Len() != 2 {
		t.Errorf("records = %q, Len = %d, want ab", got, l.Len())
	}
	if got, err := blob(l, hash); err != nil || got != "large" {
		t.Errorf("Blob = %q, %v", got, err)
	}
	if err := l.Append(ctx, 1, record("x", `{}`)); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("Append(1) = %v, want ErrConflict", err)
	}
	add(t, l, "c")
	if err := l.Sync(ctx); err != nil {
		t.Error(err)
	}
	if got := kinds(t, l, 1); got != "abc" {
		t.Errorf("records = %q, want abc", got)
	}
}
