package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/journal"
)

func record(kind string) journal.Record {
	return journal.Record{Kind: kind, Data: json.RawMessage(`{}`)}
}

func kinds(t *testing.T, l journal.Log, from int64) string {
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

// Records of a second writer, or of one that has lost count, are refused.
func TestMemoryRefusesConflicts(t *testing.T) {
	ctx := context.Background()
	l := journal.NewMemory(record("a"))
	for _, next := range []int64{0, 1, 3} {
		if err := l.Append(ctx, next, record("x")); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("Append(%d) = %v, want ErrConflict", next, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(ctx, 2, record("b")); err != nil { // the next writer's
		t.Errorf("Append after Close = %v", err)
	}
	if got := kinds(t, l, 1); got != "ab" {
		t.Errorf("records = %q, want ab", got)
	}
}

// Followers of an empty log get an error when a new log replaces it.
func TestJ8_FollowOfALogThatIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemoryStore(true)
		if _, err := store.Create(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		var end error
		go func() {
			for _, err := range store.Follow(t.Context(), "s", 1) {
				end = err
			}
		}()
		synctest.Wait()
		if _, err := store.Create(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); !errors.Is(end, fs.ErrNotExist) {
			t.Errorf("Follow ends with %v, want fs.ErrNotExist", end)
		}
	})
}
