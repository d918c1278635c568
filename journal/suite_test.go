package journal_test

import (
	"testing"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/journal/journaltest"
)

func TestA19_MemoryIsALog(t *testing.T) {
	journaltest.Suite(t, func() journaltest.Open {
		l := new(journal.Memory)
		return func() (journal.Log, error) { return l, nil }
	})
}

func TestJ8_DirIsAStore(t *testing.T) {
	t.Parallel()
	journaltest.StoreSuite(t, func(t *testing.T) journal.Store { return journal.NewDir(t.TempDir()) })
}

// A Dir that closes a file after each call is as good a store as one that keeps it open.
func TestK9_DirIsAStoreWithClosedFiles(t *testing.T) {
	t.Parallel()
	for keep := range 2 {
		journaltest.StoreSuite(t, func(t *testing.T) journal.Store { return journal.NewDir(t.TempDir()).Keep(keep) })
	}
}

func TestJ8_MemoryStoreIsAStore(t *testing.T) {
	journaltest.StoreSuite(t, func(*testing.T) journal.Store { return journal.NewMemoryStore(false) })
}

func TestJ8_MemoryStoreFences(t *testing.T) {
	journaltest.StoreSuite(t, func(*testing.T) journal.Store { return journal.NewMemoryStore(true) })
}
