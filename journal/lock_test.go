package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If somebody removes the file and makes it anew, the lock holds, and the writer gets an error.
func TestA19_FileRemovedUnderItsWriter(t *testing.T) {
	if !unlinkLocked {
		t.Skip("the system does not remove files that are open")
	}
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s", "a")
	if err := os.Remove(dir.file("s", linesExt)); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(ctx, 2, Record{Kind: "b"}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(),
		"removed") {
		t.Errorf("Append = %v, want an error that says that the file was removed", err)
	}
	if _, err := dir.Create(ctx, "s"); !errors.Is(err, ErrLocked) {
		t.Errorf("Create = %v, want ErrLocked", err)
	}
	if err := os.WriteFile(dir.file("s", linesExt), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Open(ctx, "s"); !errors.Is(err, ErrLocked) {
		t.Errorf("Open = %v, want ErrLocked", err)
	}
	closed(t, f)
	again, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, again)
}

// An unlinked lock file does not admit two writers, and its writer does not remove another's.
func TestA19_LockFileRemoved(t *testing.T) {
	if !unlinkLocked {
		t.Skip("the system does not remove files that are open")
	}
	ctx := context.Background()
	one := NewDir(t.TempDir())
	other := NewDir(one.path)
	path := one.file("s", lockExt)
	stale, err := disk{}.open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer stale.Close()
	first, err := one.lock(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if there, err := first.named(disk{}, path); err != nil || !there {
		t.Errorf("named = %v, %v", there, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := other.lock(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.unlock(first, "s"); err != nil {
		t.Fatal(err)
	}
	if there, err := second.named(disk{}, path); err != nil || !there {
		t.Errorf("after the first writer's release the second has no lock file: %v, %v", there, err)
	}
	if err := other.unlock(second, "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file is left behind: %v", err)
	}
}

func TestA19_OneWriterInAProcess(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s", "a")
	want := fmt.Sprintf("journal: session s is being written by process %d", os.Getpid())
	for _, err := range []error{ignore(dir.Open(ctx, "s")), ignore(NewDir(dir.path).Open(ctx, "s")),
		dir.Remove(ctx, "s"),
		ignore(dir.Create(ctx, "s")), ignore(dir.Fork(ctx, "s", "s", 1, nil))} {
		var locked *LockedError
		if !errors.Is(err, ErrLocked) || err.Error() != want || !errors.As(err, &locked) || locked.PID != os.Getpid() {
			t.Errorf("%v, want %s", err, want)
		}
	}
	closed(t, f)
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if files, err := os.ReadDir(dir.path); err != nil || unlinkLocked && len(files) != 1 {
		t.Errorf("left: %v, %v", files, err)
	}
}

// Every call that needs the lock says so, and for which session, if the lock's file cannot be
// opened.
func TestA19_LockThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	d := NewDir(dir)
	log, err := d.Create(t.Context(), "s")
	if err == nil {
		err = log.Append(t.Context(), 1, Record{Kind: "x", Data: []byte("{}")})
	}
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "s.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, openErr := d.Open(t.Context(), "s")
	for call, err := range map[string]error{"Open": openErr, "Remove": d.Remove(t.Context(), "s")} {
		if err == nil || !strings.HasPrefix(err.Error(), "journal: session s: cannot lock: ") ||
			errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", call, err)
		}
	}
}
