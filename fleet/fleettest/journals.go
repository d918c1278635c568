package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/journal/journaltest"
)

// journalChecks runs the suite of package journaltest, and the checks of writers on several
// machines.
func journalChecks(t *testing.T, fresh func(t *testing.T, o Options) Fleet) {
	options := Options{Tenants: []fleet.Tenant{{Name: fleet.DefaultTenant}}}
	tests := func(run func(t *tester)) func(t *testing.T) {
		return func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			t.Cleanup(cancel)
			run(&tester{T: t, Fleet: fresh(t, options), ctx: ctx})
		}
	}
	t.Run("P4_Journals", func(t *testing.T) {
		t.Parallel()
		journaltest.StoreSuite(t, func(t *testing.T) journal.Store {
			return (&tester{T: t, Fleet: fresh(t, options), ctx: context.Background()}).own().Journals()
		})
	})
	t.Run("P4_JournalOfAZombie", tests(journalOfAZombie))
	t.Run("P4_JournalOfManyWriters", tests(journalOfManyWriters))
	t.Run("P4_JournalElsewhere", tests(journalElsewhere))
}

// appended adds records to the journal of a task, which it makes if necessary.
func (t *tester) appended(s fleet.Space, id string, kinds ...string) journal.Log {
	t.Helper()
	l, err := s.Journals().Open(t.ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = s.Journals().Create(t.ctx, id)
	}
	t.ok(err)
	for _, kind := range kinds {
		t.ok(l.Append(t.ctx, l.Len()+1, journal.Record{Kind: kind, Data: json.RawMessage(`{}`)}))
	}
	return l
}

// kinds returns the kinds of a journal's records.
func (t *tester) kinds(s fleet.Space, id string) string {
	t.Helper()
	r, err := s.Journals().Read(t.ctx, id)
	t.ok(err)
	var kinds []string
	for i, record := range all(t, r.Records(t.ctx, 1)) {
		if record.N != int64(i+1) {
			t.Errorf("record %d has the number %d", i+1, record.N)
		}
		kinds = append(kinds, record.Kind)
	}
	t.ok(r.Close())
	return strings.Join(kinds, " ")
}

// journalOfAZombie checks that a writer that was cut off appends nothing, whatever it believes the
// next number to be.
func journalOfAZombie(t *tester) {
	a, b := t.own(), t.own()
	zombie := t.appended(a, "t", "a", "b")
	owner := t.appended(b, "t")
	if owner.Len() != 2 {
		t.Errorf("the next owner finds %d records, want 2", owner.Len())
	}
	refused := func(when string) {
		t.Helper()
		for next := int64(1); next <= 6; next++ {
			t.is(zombie.Append(t.ctx, next, journal.Record{Kind: "zombie"}), journal.ErrConflict,
				fmt.Sprintf("Append of %d %s", next, when))
		}
	}
	refused("after another Open")
	t.ok(owner.Append(t.ctx, 3, journal.Record{Kind: "c"}))
	refused("after another's Append")
	t.ok(owner.Close())
	refused("after another's Close")
	if got := t.kinds(a, "t"); got != "a b c" {
		t.Errorf("the journal has %q", got)
	}
	t.appended(a, "t", "d")
	if got := t.kinds(b, "t"); got != "a b c d" {
		t.Errorf("opened again, the journal has %q", got)
	}
}

// journalOfManyWriters checks that a journal has exactly the acknowledged records, in order, while
// writers take it from each other.
func journalOfManyWriters(t *tester) {
	spaces := []fleet.Space{t.own(), t.own(), t.own()}
	t.appended(spaces[0], "t", "begin")
	var acknowledged atomic.Int64
	t.in(6, func(i int) {
		for range 8 {
			l, err := spaces[i%3].Journals().Open(t.ctx, "t")
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				err := l.Append(t.ctx, l.Len()+1, journal.Record{Kind: fmt.Sprint("w", i)})
				if errors.Is(err, journal.ErrConflict) {
					break
				} else if err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		}
	})
	if got := len(strings.Fields(t.kinds(spaces[2], "t"))) - 1; got != int(acknowledged.Load()) {
		t.Errorf("%d records were acknowledged and %d are there", acknowledged.Load(), got)
	}
}

// journalElsewhere checks that what one machine writes is on another one at once.
func journalElsewhere(t *tester) {
	a, b := t.own(), t.own()
	l := t.appended(a, "t", "1")
	next, _ := follow(t, func(ctx context.Context) iter.Seq2[journal.Record, error] {
		return b.Journals().Follow(ctx, "t", 1)
	})
	for i := range 20 {
		kind := fmt.Sprint(i + 1)
		if i > 0 {
			t.ok(l.Append(t.ctx, int64(i+1), journal.Record{Kind: kind}))
		}
		if got, ok := next(); !ok || got.Kind != kind || got.N != int64(i+1) {
			t.Fatalf("the follower gets %d %s, %v, want %s", got.N, got.Kind, ok, kind)
		}
		if got := len(strings.Fields(t.kinds(b, "t"))); got != i+1 {
			t.Errorf("a reader has %d records of %d", got, i+1)
		}
		hash, err := l.PutBlob(t.ctx, strings.NewReader(kind))
		t.ok(err)
		if text, err := t.blob(b, "t", hash); err != nil || text != kind {
			t.Errorf("the blob is %q, %v, want %q", text, err, kind)
		}
	}
}

// blob reads a blob of a journal.
func (t *tester) blob(s fleet.Space, id, hash string) (string, error) {
	t.Helper()
	r, err := s.Journals().Read(t.ctx, id)
	t.ok(err)
	defer r.Close()
	b, err := r.Blob(t.ctx, hash)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(b)
	return string(text), errors.Join(err, b.Close())
}
