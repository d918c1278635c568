//go:build unix

package journal_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
)

// A pipe that has the name of a journal is refused. Opening it would wait for ever.
func TestN5_PipesAreNoJournals(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := journal.NewDir(dir)
	for name, do := range map[string]func() error{
		"Read": func() error { _, err := store.Read(t.Context(), "pipe"); return err },
		"Open": func() error { _, err := store.Open(t.Context(), "pipe"); return err },
		"Begin": func() error {
			for _, err := range store.Begin(t.Context(), "pipe") {
				return err
			}
			return nil
		},
		"Follow": func() error {
			for _, err := range store.Follow(t.Context(), "pipe", 1) {
				return err
			}
			return nil
		},
	} {
		done := make(chan error, 1)
		go func() { done <- do() }()
		select {
		case err := <-done:
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(await.Limit):
			t.Errorf("%s waits", name)
		}
	}
}
