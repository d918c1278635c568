package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/attractor-go/attractor/journal"
)

// A directory is a store of logs. Each has one writer and any number of readers.
func ExampleStore() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var store journal.Store = journal.NewDir(dir)

	w, err := store.Create(ctx, "session-1")
	if err != nil {
		log.Fatal(err)
	}
	line := func(text string) journal.Record {
		return journal.Record{Kind: "said", Data: json.RawMessage(`"` + text + `"`)}
	}
	if err := errors.Join(w.Append(ctx, 1, line("one"), line("two"), line("three")), w.Sync(ctx)); err != nil {
		log.Fatal(err)
	}
	_, err = store.Open(ctx, "session-1")
	fmt.Println("a second writer:", errors.Is(err, journal.ErrLocked))

	// A fork has the beginning of another log.
	f, err := store.Fork(ctx, "session-1", "session-2", 2, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(f.Append(ctx, 3, line("other")), f.Close(), w.Close()); err != nil {
		log.Fatal(err)
	}
	logs, err := store.List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, entry := range logs {
		r, err := store.Read(ctx, entry.ID)
		if err != nil {
			log.Fatal(err)
		}
		for rec, err := range r.Records(ctx, 1) {
			fmt.Println(entry.ID, rec.N, string(rec.Data), err)
		}
		if err := r.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// a second writer: true
	// session-1 1 "one" <nil>
	// session-1 2 "two" <nil>
	// session-1 3 "three" <nil>
	// session-2 1 "one" <nil>
	// session-2 2 "two" <nil>
	// session-2 3 "other" <nil>
}

// A store on another machine cannot tell whether a writer lives, so it fences: whoever opens a log
// takes it over.
func ExampleNewMemoryStore() {
	ctx := context.Background()
	store := journal.NewMemoryStore(true)
	old, err := store.Create(ctx, "session-1")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := store.Open(ctx, "session-1"); err != nil {
		log.Fatal(err)
	}
	err = old.Append(ctx, 1, journal.Record{Kind: "said"})
	fmt.Println(errors.Is(err, journal.ErrConflict))
	// Output: true
}
