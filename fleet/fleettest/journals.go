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

var journalChecks = []check{
	{name: "P4_JournalOfAZombie", run: journalOfAZombie},
	{name: "P4_JournalOfManyWriters", run: journalOfManyWriters},
	{name: "P4_JournalElsewhere", run: journalElsewhere},
}

// journals runs the suite of package journaltest.
func journals(t *testing.T, fresh func(t *testing.T, o Options) Fleet) {
	t.Parallel()
	journaltest.StoreSuite(t, func(t *testing.T) journal.Store {
		return (&tester{T: t, Fleet: fresh(t, onlyTenant), ctx: context.Background()}).own().Journals
	})
}

// appended adds records to the journal of a task, which it makes if necessary.
func (t *tester) appended(s *fleet.Space, id string, kinds ...string) journal.Log {
	t.Helper()
	l, err := s.Journals.Open(t.ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = s.Journals.Create(t.ctx, id)
	}
	t.ok(err)
	for _, kind := range kinds {
		t.ok(l.Append(t.ctx, l.Len()+1, journal.Record{Kind: kind, Data: json.RawMessage(`{}`)}))
	}
	return l
}

// kinds returns the kinds of a journal's records.
func (t *tester) kinds(s *fleet.Space, id string) string {
	t.Helper()
	r, err := s.Journals.Read(t.ctx, id)
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
	for _, after := range []string{"Open", "Append", "Close"} {
		switch after {
		case "Append":
			t.ok(owner.Append(t.ctx, 3, journal.Record{Kind: "c"}))
		case "Close":
			t.ok(owner.Close())
		}
		for next := int64(1); next <= 6; next++ {
			t.is(zombie.Append(t.ctx, next, journal.Record{Kind: "zombie"}), journal.ErrConflict,
				fmt.Sprintf("Append of %d after another's %s", next, after))
		}
	}
	t.appended(a, "t", "d")
	if got := t.kinds(b, "t"); got != "a b c d" {
		t.Errorf("the journal has %q", got)
	}
}

// journalOfManyWriters checks that a journal has exactly the acknowledged records, in order, while
// writers take it from each other.
func journalOfManyWriters(t *tester) {
	spaces := []*fleet.Space{t.own(), t.own(), t.own()}
	t.appended(spaces[0], "t", "begin")
	var acknowledged atomic.Int64
	t.in(6, func(i int) {
		for range 8 {
			l, err := spaces[i%3].Journals.Open(t.ctx, "t")
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
		return b.Journals.Follow(ctx, "t", 1)
	})
	for want := int64(1); want <= 20; want++ {
		if want > 1 {
			t.ok(l.Append(t.ctx, want, journal.Record{Kind: "more"}))
		}
		if got, ok := next(); !ok || got.N != want {
			t.Fatalf("the follower gets record %d, %v, want %d", got.N, ok, want)
		}
		if got := len(strings.Fields(t.kinds(b, "t"))); got != int(want) {
			t.Errorf("a reader has %d records of %d", got, want)
		}
	}
	hash, err := l.PutBlob(t.ctx, strings.NewReader("a blob"))
	t.ok(err)
	if text, err := t.blob(b, "t", hash); err != nil || text != "a blob" {
		t.Errorf("the blob is %q, %v", text, err)
	}
}

// blob reads a blob of a journal.
func (t *tester) blob(s *fleet.Space, id, hash string) (string, error) {
	t.Helper()
	r, err := s.Journals.Read(t.ctx, id)
	t.ok(err)
	defer r.Close()
	b, err := r.Blob(t.ctx, hash)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(b)
	return string(text), errors.Join(err, b.Close())
}
