package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

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

// A second writer, or one that lost count, must not get its records in.
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
