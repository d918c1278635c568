package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
		"keeps times and bytes":         fidelity,
		"reads what was there when":     snapshot,
		"does not begin after the end":  contexts,
		"lets one of many writers in":   contention,
		"reads while it is appended to": readers,
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
