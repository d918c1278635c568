package natsfleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/journal"
)

// Random calls by several writers of several logs do what they do in a MemoryStore that fences.
func TestP4_JournalsDoAsMemoryDoes(t *testing.T) {
	t.Parallel()
	server := oneServer(t)
	machines := []*journals{journalsOf(t, server.connect()), journalsOf(t, server.connect())}
	run := 0
	seed.Check(t, func(rt *rapid.T) {
		run++
		m := &storeModel{machines: machines, prefix: fmt.Sprintf("run%d.", run), want: journal.NewMemoryStore(true),
			logs: map[string][]twoLogs{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create, "open": m.open, "append": m.append, "append again": m.append, "blob": m.blob,
			"fork": m.fork, "remove": m.remove,
			"close": m.close, "check": m.check,
		})
		m.check(rt)
	})
}

// twoLogs is one log, opened in both stores.
type twoLogs struct{ got, want journal.Log }

// storeModel holds the stores that have to equal each other.
type storeModel struct {
	machines []*journals
	prefix   string // of the ids of this run
	want     *journal.MemoryStore
	logs     map[string][]twoLogs // all that were opened, also those that were fenced off since
	hashes   []string
}

func (m *storeModel) id(rt *rapid.T) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b", "a.b", "A"}).Draw(rt, "id")
}

func (m *storeModel) machine(rt *rapid.T) *journals {
	return rapid.SampledFrom(m.machines).Draw(rt, "machine")
}

// agree compares two errors.
func agree(rt *rapid.T, what string, got, want error) {
	rt.Helper()
	for _, kind := range []error{nil, fs.ErrExist, fs.ErrNotExist, fs.ErrClosed, fs.ErrInvalid, journal.ErrConflict} {
		if errors.Is(got, kind) != errors.Is(want, kind) {
			rt.Fatalf("%s = %v, want %v", what, got, want)
		}
	}
}

func (m *storeModel) opened(rt *rapid.T, what, id string, got journal.Log, gotErr error, want journal.Log,
	wantErr error) {
	agree(rt, what+" "+id, gotErr, wantErr)
	if gotErr != nil {
		return
	}
	if got.Len() != want.Len() {
		rt.Fatalf("%s %s has %d records, want %d", what, id, got.Len(), want.Len())
	}
	m.logs[id] = append(m.logs[id], twoLogs{got, want})
}

// create creates a log and appends to it, because MemoryStore takes one without records for none.
func (m *storeModel) create(rt *rapid.T) {
	id := m.id(rt)
	got, gotErr := m.machine(rt).Create(context.Background(), id)
	want, wantErr := m.want.Create(context.Background(), id)
	if m.opened(rt, "Create", id, got, gotErr, want, wantErr); gotErr == nil {
		m.add(rt, id, twoLogs{got, want}, 1)
	}
}

func (m *storeModel) open(rt *rapid.T) {
	id := m.id(rt)
	got, gotErr := m.machine(rt).Open(context.Background(), id)
	want, wantErr := m.want.Open(context.Background(), id)
	m.opened(rt, "Open", id, got, gotErr, want, wantErr)
}

// any returns a log that was opened, perhaps long ago.
func (m *storeModel) any(rt *rapid.T) (string, twoLogs) {
	var ids []string
	for id := range m.logs {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		rt.Skip("nothing is open")
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(rt, "of")
	return id, rapid.SampledFrom(m.logs[id]).Draw(rt, "log")
}

func (m *storeModel) append(rt *rapid.T) {
	id, l := m.any(rt)
	m.add(rt, id, l, rapid.IntRange(1, 3).Draw(rt, "records"))
}

func (m *storeModel) add(rt *rapid.T, id string, l twoLogs, count int) {
	var records []journal.Record
	for range count {
		records = append(records, entry(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "kind")))
	}
	next := l.got.Len() + 1
	if r, err := m.want.Read(context.Background(), id); err == nil && rapid.Bool().Draw(rt, "knows") {
		next = r.Len() + 1 // somebody may have told it how far the others are
	}
	got, want := l.got.Append(context.Background(), next, records...), l.want.Append(context.Background(), next,
		records...)
	if errors.Is(got, journal.ErrConflict) && errors.Is(want, fs.ErrNotExist) {
		return // the log was removed, and the writer has learned before that it is not its own any more
	}
	agree(rt, fmt.Sprintf("Append to %s from %d", id, next), got, want)
}

func (m *storeModel) blob(rt *rapid.T) {
	id, l := m.any(rt)
	data := rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, "data")
	if _, err := m.want.Read(context.Background(), id); err != nil {
		return // blobs of removed logs are nobody's
	}
	hash, err := l.got.PutBlob(context.Background(), strings.NewReader(data))
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, journal.ErrConflict) || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	current := m.logs[id][len(m.logs[id])-1] // an older one may be of a log that was removed
	if _, err := current.want.PutBlob(context.Background(), strings.NewReader(data)); err != nil {
		rt.Fatal(err)
	}
	if !slices.Contains(m.hashes, hash) {
		m.hashes = append(m.hashes, hash)
	}
}

func (m *storeModel) fork(rt *rapid.T) {
	from, to, n := m.id(rt), m.id(rt), rapid.Int64Range(0, 5).Draw(rt, "n")
	edit := func(r *journal.Record) error { r.Kind += "'"; return nil }
	got, gotErr := m.machine(rt).Fork(context.Background(), from, to, n, edit)
	want, wantErr := m.want.Fork(context.Background(), from, to, n, edit)
	m.opened(rt, "Fork", to, got, gotErr, want, wantErr)
}

func (m *storeModel) remove(rt *rapid.T) {
	id := m.id(rt)
	agree(rt, "Remove "+id, m.machine(rt).Remove(context.Background(), id), m.want.Remove(context.Background(), id))
}

func (m *storeModel) close(rt *rapid.T) {
	_, l := m.any(rt)
	agree(rt, "Close", l.got.Close(), l.want.Close())
}

// check compares what everybody can read.
func (m *storeModel) check(rt *rapid.T) {
	got, err := m.machine(rt).List(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(e journal.Entry) bool { return !strings.HasPrefix(e.ID, m.prefix) })
	want, err := m.want.List(context.Background())
	if err != nil || len(got) != len(want) {
		rt.Fatalf("List has %d logs, want %d, %v", len(got), len(want), err)
	}
	for i, e := range want {
		if got[i].ID != e.ID || got[i].Size == 0 || got[i].Modified.IsZero() {
			rt.Fatalf("List has %+v, want %s", got[i], e.ID)
		}
		m.compare(rt, e.ID)
	}
}

func (m *storeModel) compare(rt *rapid.T, id string) {
	got, err := m.machine(rt).Read(context.Background(), id)
	if err != nil {
		rt.Fatal(err)
	}
	want, err := m.want.Read(context.Background(), id)
	if err != nil {
		rt.Fatal(err)
	}
	wanted := slices.Collect(func(yield func(journal.Record) bool) {
		for r := range want.Records(context.Background(), 1) {
			if !yield(r) {
				return
			}
		}
	})
	n := 0
	for r, err := range got.Records(context.Background(), 1) {
		if err != nil || n >= len(wanted) || r.N != wanted[n].N || r.Kind != wanted[n].Kind ||
			!bytes.Equal(r.Data, wanted[n].Data) {
			rt.Fatalf("%s: record %d is %+v, %v", id, n+1, r, err)
		}
		n++
	}
	if n != len(wanted) {
		rt.Fatalf("%s has %d records, want %d", id, n, len(wanted))
	}
	for _, hash := range m.hashes {
		g, gotErr := blobOf(got, hash)
		w, wantErr := blobOf(want, hash)
		if agree(rt, "Blob of "+id, gotErr, wantErr); !bytes.Equal(g, w) {
			rt.Fatalf("%s: a blob is %q, want %q", id, g, w)
		}
	}
}
