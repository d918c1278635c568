package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// However many journals are open, a Dir has a bounded number of descriptors.
func TestK9_OpenJournalsNeedNoDescriptors(t *testing.T) {
	ctx := context.Background()
	sys := newFaults(nil)
	dir := NewDir(t.TempDir())
	dir.sys = sys
	logs := make([]Log, 5*keptOpen)
	for i := range logs {
		logs[i] = created(t, dir, fmt.Sprint(i), "a")
	}
	for round := range 2 {
		for i, f := range logs {
			if err := errors.Join(f.Append(ctx, f.Len()+1, Record{Kind: "b"}), f.Sync(ctx)); err != nil {
				t.Fatal(err)
			}
			if n := len(kindsOf(t, f.Records(ctx, 1))); n != round+2 {
				t.Fatalf("journal %d has %d records, want %d", i, n, round+2)
			}
			if n, most := len(sys.left()), keptOpen+lockFiles(len(logs)); n > most {
				t.Fatalf("%d files are open, want at most %d", n, most)
			}
		}
	}
	for _, f := range logs {
		closed(t, f)
	}
	if left := sys.left(); len(left) > 0 {
		t.Errorf("still open: %q", left)
	}
	if files, err := filepath.Glob(filepath.Join(dir.path, "*"+lockExt)); err != nil || unlinkLocked && len(files) > 0 {
		t.Errorf("left: %q, %v", files, err)
	}
}

// lockFiles returns the number of open files that the locks of some journals need.
func lockFiles(journals int) int {
	if unlinkLocked {
		return 1
	}
	return journals
}

// A session in the middle of its work does not open its file again.
func TestK9_WorkOpensOnce(t *testing.T) {
	ctx := context.Background()
	sys := newFaults(nil)
	dir := NewDir(t.TempDir())
	dir.sys = sys
	f := created(t, dir, "s")
	for range 10 {
		if err := errors.Join(f.Append(ctx, f.Len()+1, Record{Kind: "b"}), f.Sync(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if n := sys.ops("open", linesExt); n != 1 {
		t.Errorf("the file was opened %d times", n)
	}
}

// What happens to a file while it is closed is noticed as if it had been open.
func TestK9_ChangedWhileClosed(t *testing.T) {
	if !unlinkLocked {
		t.Skip("the system does not remove files that are open, and those are compared here")
	}
	for name, c := range map[string]struct {
		change func(path string, content []byte) error
		want   error
	}{
		"removed": {func(path string, _ []byte) error { return os.Remove(path) }, fs.ErrNotExist},
		"replaced": {func(path string, content []byte) error {
			return errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path))
		}, fs.ErrNotExist},
		"cut": {func(path string, content []byte) error { return os.Truncate(path, int64(len(content)-1)) },
			ErrConflict},
		"extended": {func(path string, content []byte) error {
			return os.WriteFile(path, append(content, content...), 0o600)
		}, ErrConflict},
		"touched": {func(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }, nil},
	} {
		for _, keep := range keeps {
			t.Run(fmt.Sprintf("%s/keep_%d", name, keep), func(t *testing.T) {
				dir := NewDir(t.TempDir()).Keep(keep)
				f := created(t, dir, "s", "a")
				path := dir.file("s", linesExt)
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.change(path, content); err != nil {
					t.Fatal(err)
				}
				if err := f.Append(context.Background(), 2, Record{Kind: "b"}); !errors.Is(err, c.want) {
					t.Errorf("Append = %v, want %v", err, c.want)
				} else if err != nil && !strings.HasPrefix(err.Error(), "journal: session s: ") &&
					!errors.Is(err, ErrConflict) {
					t.Errorf("Append = %v, want an error that names the session", err)
				}
			})
		}
	}
}

// A file that cannot be opened fails the call, and the journal remains usable.
func TestK9_CannotOpenAgain(t *testing.T) {
	ctx := context.Background()
	full := false
	sys := newFaults(func(c call) verdict {
		if full && c.op == "open" {
			return verdict{err: syscall.EMFILE}
		}
		return verdict{}
	})
	dir := (&Dir{path: t.TempDir(), sys: sys}).Keep(0)
	f := created(t, dir, "s", "a")
	full = true
	var readErr error
	for _, err := range f.Records(ctx, 1) {
		readErr = err
	}
	for _, err := range []error{f.Append(ctx, 2, Record{Kind: "b"}), f.Sync(ctx), readErr} {
		if !errors.Is(err, syscall.EMFILE) || !strings.HasPrefix(err.Error(), "journal: session s: ") {
			t.Errorf("%v, want EMFILE", err)
		}
	}
	full = false
	if err := errors.Join(f.Append(ctx, 2, Record{Kind: "b"}), f.Sync(ctx)); err != nil {
		t.Error(err)
	}
	if got := kindsOf(t, f.Records(ctx, 1)); len(got) != 2 {
		t.Errorf("Records = %q", got)
	}
}

// A file is synced before it is closed, because a later sync may not report an error of writing it.
// The next call reports a failure.
func TestK9_SyncedBeforeItIsClosed(t *testing.T) {
	ctx := context.Background()
	broken := false
	sys := newFaults(func(c call) verdict {
		if broken && c.op == "sync" {
			return verdict{err: syscall.EIO}
		}
		return verdict{}
	})
	dir := (&Dir{path: t.TempDir(), sys: sys}).Keep(1)
	f, other := created(t, dir, "s", "a"), created(t, dir, "t")
	path := dir.file("s", linesExt)
	if info, err := os.Stat(path); err != nil || sys.durable[path] != info.Size() {
		t.Errorf("closed with %d durable bytes, %v", sys.durable[path], err)
	}
	if n := sys.ops("sync", linesExt); n != 1 {
		t.Errorf("%d syncs, want 1: nothing was written to the other file", n)
	}
	if err := f.Append(ctx, 2, Record{Kind: "b"}); err != nil {
		t.Fatal(err)
	}
	broken = true
	if err := other.Append(ctx, 1, Record{Kind: "a"}); err != nil { // this closes the first file
		t.Fatal(err)
	}
	broken = false
	for _, err := range []error{f.Append(ctx, 3, Record{Kind: "c"}), f.Sync(ctx), f.Close()} {
		if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "out of use") {
			t.Errorf("%v, want the failure", err)
		}
	}
	if err := other.Sync(ctx); err != nil {
		t.Errorf("the other journal: %v", err)
	}
}

// A journal that was only opened or read is not synced when its file is closed. Its first Sync does
// sync what the previous writer wrote.
func TestK9_OpenAndReadSyncNothing(t *testing.T) {
	ctx := context.Background()
	sys := newFaults(nil)
	dir := (&Dir{path: t.TempDir(), sys: sys}).Keep(1)
	closed(t, created(t, dir, "s", "a"))
	dir.Keep(0)
	before := sys.ops("sync", linesExt)
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	kindsOf(t, f.Records(ctx, 1))
	if n := sys.ops("sync", linesExt) - before; n > 0 {
		t.Errorf("%d syncs", n)
	}
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if n := sys.ops("sync", linesExt) - before; n != 1 {
		t.Errorf("%d syncs by the first Sync, want 1", n)
	}
	closed(t, f)
}

// Records go on while other journals need their files, and end when the log is closed.
func TestK9_RecordsKeepTheFileOpen(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir()).Keep(0)
	f, other := created(t, dir, "s"), created(t, dir, "t")
	big := Record{Kind: "big", Data: []byte(`"` + strings.Repeat("x", 100<<10) + `"`)}
	if err := f.Append(ctx, 1, big, big, big); err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range f.Records(ctx, 1) {
		if n++; n < 3 && err != nil {
			t.Fatalf("record %d: %v", r.N, err)
		}
		if err := other.Append(ctx, other.Len()+1, Record{Kind: "b"}); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			if err := f.Append(ctx, 4, Record{Kind: "later"}); err != nil {
				t.Fatal(err)
			}
		}
		if n == 2 {
			closed(t, f)
		}
		if n == 3 && !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after Close: %v, want fs.ErrClosed", err)
		}
	}
	if n != 3 {
		t.Errorf("%d pairs", n)
	}
}

// A log that is used again while another makes room keeps its file open.
func TestK9_FileInUseStaysOpen(t *testing.T) {
	dir := NewDir(t.TempDir()).Keep(1)
	f, other := created(t, dir, "s").(*fileLog), created(t, dir, "t")
	file, err := f.begin()
	if err != nil {
		t.Fatal(err)
	}
	dir.files.put(f) // as if use had come between the choice of f as the oldest and its rest
	if err := other.Append(context.Background(), 1, Record{Kind: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Stat(); err != nil {
		t.Errorf("the file was closed in the middle of its use: %v", err)
	}
	f.end(false)
}

// Many goroutines that share a few files write what they mean to write.
func TestK9_ManyLogsFewFiles(t *testing.T) {
	ctx := context.Background()
	for keep := range 3 {
		dir := NewDir(t.TempDir()).Keep(keep)
		var all sync.WaitGroup
		for i := range 8 {
			f := created(t, dir, fmt.Sprint(i))
			all.Go(func() {
				for n := range int64(60) {
					if err := f.Append(ctx, n+1, Record{Kind: fmt.Sprint(i, n)}); err != nil {
						t.Error(err)
					}
					if n%3 == 0 {
						all.Go(func() {
							if err := f.Sync(ctx); err != nil {
								t.Error(err)
							}
						})
						all.Go(func() {
							for r, err := range f.Records(ctx, 1) {
								if want := fmt.Sprint(i, r.N-1); err != nil || r.Kind != want {
									t.Errorf("record %d is %q, want %q, %v", r.N, r.Kind, want, err)
								}
							}
						})
					}
				}
			})
		}
		all.Wait()
		if n := len(dir.files.logs); n > keep {
			t.Errorf("%d files are open, want at most %d", n, keep)
		}
	}
}
