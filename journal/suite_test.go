package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

func TestA19_FileIsALog(t *testing.T) {
	dir, made := journal.NewDir(t.TempDir()), 0
	journaltest.Suite(t, func() journaltest.Open {
		made++
		id := fmt.Sprint(made)
		return func() (journal.Log, error) {
			f, err := dir.Open(context.Background(), id)
			if errors.Is(err, fs.ErrNotExist) {
				f, err = dir.Create(context.Background(), id)
			}
			return f, err
		}
	})
}
