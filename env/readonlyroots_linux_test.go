package env_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
)

// Nothing is written to a read-only directory while a directory beside it is swapped with a link to
// it, although both are in one root.
func TestJ9_SwappedLinkDoesNotLeadIntoReadOnly(t *testing.T) {
	const rounds = 1500
	dir := memoryDir(t)
	mkdir(t, filepath.Join(dir, "d/e"))
	mkdir(t, filepath.Join(dir, "ro/x/e"))
	symlink(t, "ro/x", filepath.Join(dir, "aside"))
	write(t, filepath.Join(dir, "ro/x/e/f"), "old")
	l := newLocal(t, dir, env.LocalOptions{ReadOnly: []string{filepath.Join(dir, "ro")}})
	stop, swapped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				swapped <- err
				return
			default:
				err = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "d"), unix.AT_FDCWD, filepath.Join(dir, "aside"),
					unix.RENAME_EXCHANGE)
			}
		}
		swapped <- err
	}()
	written, refused := 0, 0
	for range rounds {
		switch err := l.WriteFile(t.Context(), "d/e/f", []byte("new"), 0o644); {
		case err == nil:
			written++
		case errors.Is(err, fs.ErrPermission):
			refused++
		}
		if err := l.Remove(t.Context(), "d/e/f"); err != nil && !errors.Is(err, fs.ErrPermission) {
			continue // swapped meanwhile, or missing
		}
	}
	close(stop)
	if err := <-swapped; err != nil {
		t.Fatalf("swapping: %v", err)
	}
	if written == 0 || refused == 0 {
		t.Errorf("of %d writes %d succeeded and %d were refused: the swaps had no effect", rounds, written, refused)
	}
	if readFile(t, filepath.Join(dir, "ro/x/e/f")) != "old" {
		t.Error("the read-only file was changed")
	}
	if names, err := os.ReadDir(filepath.Join(dir, "ro/x/e")); err != nil || len(names) != 1 {
		t.Errorf("the read-only directory holds %v, %v", names, err)
	}
}
