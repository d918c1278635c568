package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
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

func TestMemoryAppendsInOrder(t *testing.T) {
	ctx := context.Background()
	l := new(journal.Memory)
	if err := l.Append(ctx, 1, record("a"), record("b")); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(ctx, 3, record("c")); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, l, 1); got != "abc" {
		t.Errorf("records = %q, want abc", got)
	}
	if got := kinds(t, l, 2); got != "bc" {
		t.Errorf("records from 2 = %q, want bc", got)
	}
	if l.Len() != 3 {
		t.Errorf("Len = %d, want 3", l.Len())
	}
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

func TestMemoryBlobs(t *testing.T) {
	ctx := context.Background()
	l := new(journal.Memory)
	data := []byte("large")
	hash, err := l.PutBlob(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	data[0] = 'L' // the log must have its own copy
	if got, err := l.Blob(ctx, hash); err != nil || string(got) != "large" {
		t.Errorf("Blob = %q, %v", got, err)
	}
	if _, err := l.Blob(ctx, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Blob of an unknown hash = %v, want fs.ErrNotExist", err)
	}
}
