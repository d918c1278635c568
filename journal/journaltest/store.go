package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/journal"
)

// StoreSuite checks that a store keeps the contract of journal.Store, and its logs the contract of
// journal.Log. Fresh returns an empty store and is called often. The store may refuse a second
// writer or fence the first.
func StoreSuite(t *testing.T, fresh func(t *testing.T) journal.Store) {
	for name, test := range map[string]func(t *testing.T, s journal.Store){
		"makes, opens, reads and removes":  lifecycle,
		"has one writer":                   oneWriter,
		"refuses ids":                      refusesIDs,
		"lists":                            lists,
		"follows":                          follows,
		"follows until the log is removed": followsToTheEnd,
		"forks":                            forks,
		"refuses forks":                    refusesForks,
		"does not begin after the end":     storeContexts,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
	t.Run("holds logs", func(t *testing.T) {
		made := 0
		s := fresh(t)
		Suite(t, func() Open {
			made++
			id := fmt.Sprint(made)
			return func() (journal.Log, error) {
				l, err := s.Open(context.Background(), id)
				if errors.Is(err, fs.ErrNotExist) {
					l, err = s.Create(context.Background(), id)
				}
				return l, err
			}
		})
	})
}

func created(t *testing.T, s journal.Store, id string, kinds ...string) journal.Log {
	t.Helper()
	l := opened(t, func() (journal.Log, error) { return s.Create(context.Background(), id) })
	for _, kind := range kinds {
		add(t, l, kind)
	}
	return l
}

func closed(t *testing.T, l journal.Reader) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatalf("Close = %v", err)
	}
}

func readKinds(t *testing.T, s journal.Store, id string) string {
	t.Helper()
	r, err := s.Read(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, r)
	got := kinds(t, r, 1)
	if int64(len(got)) != r.Len() {
		t.Errorf("Len of the reader = %d, records %q", r.Len(), got)
	}
	return got
}

func lifecycle(t *testing.T, s journal.Store) {
	ctx := context.Background()
	for _, err := range []error{failed(s.Open(ctx, "s")), failed(s.Read(ctx, "s")), s.Remove(ctx, "s"),
		failed(s.Fork(ctx, "s", "t", 1, nil))} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of no log: %v, want fs.ErrNotExist", err)
		}
	}
	l := created(t, s, "s", "a", "b")
	r, err := s.Read(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, "c")
	if got := kinds(t, r, 1); got != "ab" || r.Len() != 2 {
		t.Errorf("a reader has %q, Len %d, want what was there when it was opened", got, r.Len())
	}
	closed(t, r)
	closed(t, l)
	if _, err := s.Create(ctx, "s"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of a log that is there = %v, want fs.ErrExist", err)
	}
	if got := readKinds(t, s, "s"); got != "abc" {
		t.Errorf("the log has %q, want abc", got)
	}
	if err := s.Remove(ctx, "none", "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove = %v, want fs.ErrNotExist for one of them", err)
	}
	if _, err := s.Open(ctx, "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a removed log = %v, want fs.ErrNotExist", err)
	}
	if got := created(t, s, "s", "new"); got.Len() != 1 {
		t.Errorf("made anew, the log has %d records, want 1", got.Len())
	}
}

func failed[T any](_ T, err error) error { return err }

// oneWriter checks that the store refuses the second writer, or what the first writes afterwards.
func oneWriter(t *testing.T, s journal.Store) {
	ctx := context.Background()
	first := created(t, s, "s", "a")
	second, err := s.Open(ctx, "s")
	if errors.Is(err, journal.ErrLocked) {
		var locked *journal.LockedError
		if !errors.As(err, &locked) || locked.ID != "s" {
			t.Errorf("Open = %v, want a LockedError with the id", err)
		}
		if err := s.Remove(ctx, "s"); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("Remove of a log that is being written = %v, want ErrLocked", err)
		}
		add(t, first, "b")
		closed(t, first)
		if second, err = s.Open(ctx, "s"); err != nil {
			t.Fatalf("Open after the writer has closed the log = %v", err)
		}
	} else if err != nil {
		t.Fatal(err)
	} else {
		if err := first.Append(ctx, 2, record("x", `{}`)); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("Append of a writer that was fenced off = %v, want ErrConflict", err)
		}
		add(t, second, "b")
		if err := first.Append(ctx, 3, record("x", `{}`)); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("Append of a writer that was fenced off, with the right number = %v, want ErrConflict", err)
		}
		closed(t, first)
	}
	add(t, second, "c")
	if got := kinds(t, second, 1); got != "abc" {
		t.Errorf("the log has %q, want abc", got)
	}
	closed(t, second)
}

// outcome holds a call and its error.
type outcome struct {
	call string
	err  error
}

func refusesIDs(t *testing.T, s journal.Store) {
	ctx := context.Background()
	closed(t, created(t, s, "good", "a"))
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, ".hidden", "-rf", "a b", "a\x00", "é",
		strings.Repeat("a", 129)} {
		for _, c := range []outcome{{"Create", failed(s.Create(ctx, id))}, {"Open", failed(s.Open(ctx, id))},
			{"Read", failed(s.Read(ctx, id))}, {"Remove", s.Remove(ctx, id)},
			{"Fork to it", failed(s.Fork(ctx, "good", id, 1, nil))},
			{"Fork from it", failed(s.Fork(ctx, id, "new", 1, nil))}, {"Follow", failureOf(s.Follow(ctx, id, 1))}} {
			if !errors.Is(c.err, fs.ErrInvalid) || journal.CheckID(id) == nil {
				t.Errorf("id %q: %s = %v, want the error of CheckID, which wraps fs.ErrInvalid", id, c.call, c.err)
			}
		}
	}
	for _, id := range []string{"0", "_", "A-b_c.d", "a..b", strings.Repeat("a", 128)} {
		created(t, s, id)
	}
}

func lists(t *testing.T, s journal.Store) {
	ctx := context.Background()
	if list, err := s.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("List of nothing = %+v, %v", list, err)
	}
	closed(t, created(t, s, "b", "x"))
	writing := created(t, s, "a", "x")
	closed(t, created(t, s, "c", "x"))
	if err := s.Remove(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 2 || list[0].ID != "a" || list[1].ID != "b" || list[1].Locked {
		t.Fatalf("List = %+v, %v, want a and b, and that nobody writes b", list, err)
	}
	if list[0].Size == 0 || list[0].Modified.IsZero() {
		t.Errorf("List has %+v, want a size and a time", list[0])
	}
	for _, id := range []string{"a.b", "a-b", "a_b"} { // the ids count, not the names of their files
		closed(t, created(t, s, id, "x"))
	}
	if list, err = s.List(ctx); err != nil ||
		!slices.IsSortedFunc(list, func(a, b journal.Entry) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("List = %+v, %v, want the order of the ids", list, err)
	}
	closed(t, writing)
}

// followed holds a pair that Follow yields.
type followed struct {
	record journal.Record
	err    error
}

func follow(t *testing.T, s journal.Store, id string, from int64) (next func() followed, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	all := make(chan followed)
	go func() {
		defer close(all)
		for r, err := range s.Follow(ctx, id, from) {
			all <- followed{r, err}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range all {
		}
	})
	return func() followed { return <-all }, cancel
}

func follows(t *testing.T, s journal.Store) {
	l := created(t, s, "s", "a", "b", "c")
	next, stop := follow(t, s, "s", 2)
	empty := created(t, s, "empty")
	nextOfEmpty, stopEmpty := follow(t, s, "empty", 0)
	want := func(next func() followed, n int64, kind string) {
		t.Helper()
		if got := next(); got.err != nil || got.record.N != n || got.record.Kind != kind {
			t.Fatalf("Follow yields %+v, want record %d, %s", got, n, kind)
		}
	}
	want(next, 2, "b")
	want(next, 3, "c")
	add(t, l, "d")
	want(next, 4, "d")
	closed(t, l)
	l = opened(t, func() (journal.Log, error) { return s.Open(context.Background(), "s") })
	add(t, l, "e", "f")
	want(next, 5, "e")
	want(next, 6, "f")
	add(t, empty, "x")
	want(nextOfEmpty, 1, "x")
	for _, f := range []struct {
		stop func()
		next func() followed
	}{{stop, next}, {stopEmpty, nextOfEmpty}} {
		f.stop()
		if got := f.next(); !errors.Is(got.err, context.Canceled) {
			t.Errorf("after the end of its context Follow yields %+v", got)
		}
	}
	for r := range s.Follow(context.Background(), "s", 1) {
		if r.Kind == "b" {
			break // and that ends it
		}
	}
}

func followsToTheEnd(t *testing.T, s journal.Store) {
	if err := failureOf(s.Follow(context.Background(), "none", 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Follow of no log = %v, want fs.ErrNotExist", err)
	}
	closed(t, created(t, s, "s", "a"))
	next, _ := follow(t, s, "s", 1)
	if got := next(); got.record.Kind != "a" {
		t.Fatalf("Follow yields %+v", got)
	}
	if err := s.Remove(context.Background(), "s"); err != nil {
		t.Skipf("the log that is followed cannot be removed here: %v", err)
	}
	if got := next(); !errors.Is(got.err, fs.ErrNotExist) {
		t.Errorf("of a log that was removed Follow yields %+v, want fs.ErrNotExist", got)
	}
}

func failureOf(records func(func(journal.Record, error) bool)) (failure error) {
	for _, err := range records {
		failure = err
	}
	return failure
}

func forks(t *testing.T, s journal.Store) {
	ctx := context.Background()
	source := created(t, s, "s", "a")
	if err := source.Append(ctx, 2, record("b", `{"x":1}`), record("c", `{}`), record("d", `{}`)); err != nil {
		t.Fatal(err)
	}
	hash, err := source.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	before := all(t, source)
	// in the middle of an append, while s is being written
	fork, err := s.Fork(ctx, "s", "t", 3, func(r *journal.Record) error {
		if r.N == 1 {
			r.Kind, r.Data = "A", json.RawMessage(`{"fork_of":"s"}`)
		}
		if r.N == 2 {
			r.Data[2] = 'y' // in place
		}
		r.N = 99 // not its to change
		return nil
	})
	if err != nil {
		t.Fatalf("Fork of 3 of 4 records, with an edit that also changes N, which does not count = %v", err)
	}
	add(t, fork, "own")
	if diff := cmp.Diff(before, all(t, source)); diff != "" {
		t.Errorf("the source has changed: -before +after\n%s", diff)
	}
	closed(t, source)
	if err := s.Remove(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	want := []journal.Record{record("A", `{"fork_of":"s"}`), record("b", `{"y":1}`), record("c", `{}`),
		record("own", `{}`)}
	for i := range want {
		want[i].N = int64(i) + 1
	}
	if diff := cmp.Diff(want, all(t, fork)); diff != "" {
		t.Errorf("the fork: -want +got\n%s", diff)
	}
	if data, err := blob(fork, hash); err != nil || data != "large" {
		t.Errorf("its blob = %q, %v; it is the fork's own", data, err)
	}
	closed(t, fork)
}

func refusesForks(t *testing.T, s journal.Store) {
	ctx := context.Background()
	closed(t, created(t, s, "s", "a", "b"))
	closed(t, created(t, s, "there", "x"))
	stop := errors.New("stop")
	for name, c := range map[string]struct {
		from, to string
		n        int64
		edit     func(*journal.Record) error
		want     error
	}{
		"no source":     {"none", "t", 1, nil, fs.ErrNotExist},
		"there already": {"s", "there", 1, nil, fs.ErrExist},
		"itself":        {"s", "s", 1, nil, fs.ErrExist},
		"nothing":       {"s", "t", 0, nil, fs.ErrInvalid},
		"more than all": {"s", "t", 3, nil, fs.ErrInvalid},
		"edit fails":    {"s", "t", 2, func(*journal.Record) error { return stop }, stop},
		"edited to junk": {"s", "t", 2, func(r *journal.Record) error { r.Data = json.RawMessage("{"); return nil },
			nil},
	} {
		if _, err := s.Fork(ctx, c.from, c.to, c.n, c.edit); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if _, err := s.Read(ctx, "t"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Read of the fork that failed = %v, want fs.ErrNotExist", name, err)
		}
	}
	if got := readKinds(t, s, "there"); got != "x" {
		t.Errorf("the log that was there has %q", got)
	}
}

func storeContexts(t *testing.T, s journal.Store) {
	closed(t, created(t, s, "s", "a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []outcome{{"Create", failed(s.Create(ctx, "new"))}, {"Open", failed(s.Open(ctx, "s"))},
		{"Read", failed(s.Read(ctx, "s"))}, {"Follow", failureOf(s.Follow(ctx, "s", 1))},
		{"List", failed(s.List(ctx))}, {"Remove", s.Remove(ctx, "s")},
		{"Fork", failed(s.Fork(ctx, "s", "t", 1, nil))}} {
		if !errors.Is(c.err, context.Canceled) {
			t.Errorf("%s after the end of its context = %v, want context.Canceled", c.call, c.err)
		}
	}
	if got := readKinds(t, s, "s"); got != "a" {
		t.Errorf("the log has %q, want a", got)
	}
}
