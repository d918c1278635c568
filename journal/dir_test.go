package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func created(t testing.TB, dir *Dir, id string, kinds ...string) Log {
	t.Helper()
	f, err := dir.Create(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Close = %v", err)
		}
	})
	for i, kind := range kinds {
		if err := f.Append(context.Background(), int64(i)+1,
			Record{Kind: kind, Data: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func closed(t testing.TB, f Log) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The line is as FORMAT.md describes it, and nobody else may read the file.
func TestA19_LinesAndModes(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(filepath.Join(t.TempDir(), "state", "sessions"))
	f := created(t, dir, "s")
	at := time.Date(2026, 3, 4, 5, 6, 7, 890, time.UTC)
	if err := f.Append(ctx, 1, Record{Time: at, Kind: "a", Data: json.RawMessage("{\"b\" :\n \"<é>\"}")},
		Record{Time: at, Kind: "c"}); err != nil {
		t.Fatal(err)
	}
	hash, err := f.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"c":"851bb3ef","n":1,"t":"2026-03-04T05:06:07.00000089Z","k":"a","more":true,"d":{"b":"<é>"}}` + "\n" +
		`{"c":"07bd60bb","n":2,"t":"2026-03-04T05:06:07.00000089Z","k":"c"}` + "\n"
	if got := contentOf(t, dir); got != want {
		t.Errorf("the file has\n%swant\n%s", got, want)
	}
	if runtime.GOOS == "windows" {
		t.Log("modes are not checked: the system has none")
		return
	}
	for path, mode := range map[string]fs.FileMode{
		filepath.Dir(dir.path): fs.ModeDir | 0o700, dir.path: fs.ModeDir | 0o700,
		dir.file("s", blobsExt): fs.ModeDir | 0o700,
		dir.file("s", linesExt): 0o600, dir.file("s", lockExt): 0o600, filepath.Join(dir.file("s", blobsExt),
			hash): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s has mode %v, %v, want %v", path, info.Mode(), err, mode)
		}
	}
}

func TestA19_IdsStayInTheDirectory(t *testing.T) {
	ctx := context.Background()
	outside := t.TempDir()
	dir := NewDir(filepath.Join(outside, "in"))
	created(t, dir, "good")
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "/x", ".hidden", "-rf", "a b", "a\x00", "a\n", "é",
		"a:b", strings.Repeat("a", 129)} {
		_, createErr := dir.Create(ctx, id)
		_, openErr := dir.Open(ctx, id)
		_, readErr := dir.Read(ctx, id)
		_, toErr := dir.Fork(ctx, "good", id, 1, nil)
		_, fromErr := dir.Fork(ctx, id, "new", 1, nil)
		for i, err := range []error{createErr, openErr, readErr, toErr, fromErr, dir.Remove(ctx, id)} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q, call %d: %v, want fs.ErrInvalid", id, i, err)
			}
		}
	}
	for _, id := range []string{"a", "0", "_", "A-b_c.d", "x.jsonl", "a..b", strings.Repeat("a", 128)} {
		created(t, dir, id)
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 1 {
		t.Errorf("outside: %v, %v", files, err)
	}
}

func TestA19_CreateOpenRead(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(filepath.Join(t.TempDir(), "sessions"))
	for _, err := range []error{ignore(dir.Open(ctx, "s")), ignore(dir.Read(ctx, "s")), dir.Remove(ctx, "s")} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "session s") {
			t.Errorf("no journal: %v, want fs.ErrNotExist", err)
		}
	}
	if _, err := os.Stat(dir.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking for a journal makes the directory: %v", err)
	}
	f := created(t, dir, "s", "a", "b")
	closed(t, f)
	if _, err := dir.Create(ctx, "s"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create = %v, want fs.ErrExist", err)
	}
	if got := kindsOf(t, readOf(t, dir, "s").Records(ctx, 2)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("records = %q: Create has harmed what was there", got)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := dir.Open(gone, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open after the end of its context = %v", err)
	}
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	for _, err := range []error{f.Append(ctx, 3, Record{}), f.Sync(ctx), ignore(f.PutBlob(ctx, strings.NewReader(""))),
		f.Close()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after Close: %v, want fs.ErrClosed", err)
		}
	}
}

// blobOf returns the content of a blob.
func blobOf(r Reader, hash string) (string, error) {
	b, err := r.Blob(context.Background(), hash)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(b)
	return string(data), errors.Join(err, b.Close())
}

func ignore[T any](_ T, err error) error { return err }

func readOf(t testing.TB, dir *Dir, id string) Reader {
	t.Helper()
	r, err := dir.Read(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A reader's view does not change, whatever the writer does.
func TestA19_ReadWhileWriting(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s", "a", "b")
	hash, err := f.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	r := readOf(t, dir, "s")
	if err := f.Append(ctx, 3, Record{Kind: "c"}); err != nil {
		t.Fatal(err)
	}
	if got := kindsOf(t, r.Records(ctx, 1)); !slices.Equal(got, []string{"a", "b"}) || r.Len() != 2 {
		t.Errorf("records = %q, Len = %d, want a and b", got, r.Len())
	}
	if got := kindsOf(t, readOf(t, dir, "s").Records(ctx, 1)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("records of the next reader = %q", got)
	}
	if data, err := blobOf(r, hash); err != nil || data != "large" {
		t.Errorf("Blob = %q, %v", data, err)
	}
}

// A writer without the lock is noticed before anything is written.
func TestA19_SomebodyElseWrites(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s", "a")
	path := dir.file("s", linesExt)
	before := contentOf(t, dir)
	for _, content := range []string{before + "\n", before[1:]} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Append(ctx, 2, Record{Kind: "b"}); !errors.Is(err, ErrConflict) {
			t.Errorf("Append = %v, want ErrConflict", err)
		}
		if got := contentOf(t, dir); got != content {
			t.Errorf("the file has %q, want %q", got, content)
		}
	}
}

func TestA19_List(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(filepath.Join(t.TempDir(), "sessions"))
	if list, err := dir.List(ctx); err != nil || list != nil {
		t.Errorf("no directory: %v, %v", list, err)
	}
	closed(t, created(t, dir, "b", "x"))
	open := created(t, dir, "a", "x")
	if _, err := open.PutBlob(ctx, strings.NewReader("large")); err != nil {
		t.Fatal(err)
	}
	closed(t, created(t, dir, "c", "x"))
	for _, name := range []string{"not an id.jsonl", "c.lock", "other", "d.tmp"} { // a killed writer leaves c.lock
		if err := os.WriteFile(filepath.Join(dir.path, name), []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir.file("e", linesExt), 0o700); err != nil {
		t.Fatal(err)
	}
	sys := newFaults(nil)
	list, err := (&Dir{path: dir.path, sys: sys}).List(ctx)
	if err != nil || len(list) != 3 {
		t.Fatalf("List = %+v, %v, want 3", list, err)
	}
	for i, id := range []string{"a", "b", "c"} {
		info, err := os.Stat(dir.file(id, linesExt))
		if err != nil {
			t.Fatal(err)
		}
		want := Entry{ID: id, Size: info.Size(), Modified: info.ModTime()}
		if id == "a" {
			want.Locked, want.PID = true, os.Getpid()
		}
		if list[i] != want {
			t.Errorf("List has %+v, want %+v", list[i], want)
		}
	}
	if n := sys.ops("open", linesExt); n > 0 {
		t.Errorf("List opened %d journals", n)
	}
	f, err := dir.Open(ctx, "c") // listing has not kept the lock
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
}

func TestA19_Remove(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	for _, id := range []string{"a", "b"} {
		f := created(t, dir, id, "x")
		if _, err := f.PutBlob(ctx, strings.NewReader("large")); err != nil {
			t.Fatal(err)
		}
		closed(t, f)
	}
	if err := os.WriteFile(dir.file("b", tempExt), nil, 0o600); err != nil { // of a fork that was killed
		t.Fatal(err)
	}
	kept := created(t, dir, "c", "x")
	err := dir.Remove(ctx, "a", "c", "none", "b")
	if !errors.Is(err, ErrLocked) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(),
		fmt.Sprintf("session c is being written by process %d", os.Getpid())) {
		t.Errorf("Remove = %v, want the names of c's writer, and that there is no session none", err)
	}
	closed(t, kept)
	if files, err := os.ReadDir(dir.path); err != nil || unlinkLocked && len(files) != 1 {
		t.Errorf("left: %v, %v, want c's file", files, err)
	}
	if got := kindsOf(t, readOf(t, dir, "c").Records(ctx, 1)); !slices.Equal(got, []string{"x"}) {
		t.Errorf("c has %q", got)
	}
}

// A damaged blob is not returned, and PutBlob replaces it.
func TestA19_DamagedBlob(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s")
	hash, err := f.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir.file("s", blobsExt), hash), []byte("largE"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := blobOf(f, hash); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), hash) {
		t.Errorf("Blob = %q, %v, want ErrCorrupt with its name", data, err)
	}
	if _, err := f.PutBlob(ctx, strings.NewReader("large")); err != nil {
		t.Fatal(err)
	}
	if data, err := blobOf(f, hash); err != nil || data != "large" {
		t.Errorf("Blob = %q, %v", data, err)
	}
}

// Sync syncs only if there is something to make durable, which includes records that the previous
// writer may not have synced.
func TestA19_SyncsOnlyWhatIsNew(t *testing.T) {
	ctx := context.Background()
	sys := newFaults(nil)
	dir := &Dir{path: t.TempDir(), sys: sys, files: openFiles{keep: 1}}
	closed(t, created(t, dir, "s", "a"))
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, want := range []int{1, 1, 2} {
		if i == 2 {
			if err := f.Append(ctx, 2, Record{Kind: "b"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		if n := sys.ops("sync", linesExt); n != want || !sys.survives(dir.file("s", linesExt)) {
			t.Errorf("after Sync %d the disk was asked %d times, want %d", i+1, n, want)
		}
	}
}

// A writer that is killed before its first record leaves no journal: it is not listed, and its id
// can be used.
func TestI17_EmptyFilesAreNoJournals(t *testing.T) {
	ctx := context.Background()
	for name, left := range map[string]string{"nothing": "", "half a line": one[:20], "half an append": oneOfTwo,
		"a line that is not what it was": flip(one)} {
		t.Run(name, func(t *testing.T) {
			dir := journalOf(t, left)
			created(t, dir, "other", "a")
			var ids []string
			list, err := dir.List(ctx)
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			if want := []string{"other"}; err != nil || left == "" && !slices.Equal(ids, want) {
				t.Errorf("List = %v, %v, want %v", ids, err, want)
			}
			if err := os.MkdirAll(dir.file("s", blobsExt), 0o700); err != nil {
				t.Fatal(err)
			}
			created(t, dir, "s", "new")
			if _, err := os.Stat(dir.file("s", blobsExt)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the blobs of before: %v", err)
			}
			if got := kindsOf(t, readOf(t, dir, "s").Records(ctx, 1)); !slices.Equal(got, []string{"new"}) {
				t.Errorf("records %q", got)
			}
		})
	}
	dir := journalOf(t, one)
	if _, err := dir.Create(ctx, "s"); !errors.Is(err, fs.ErrExist) || contentOf(t, dir) != one {
		t.Errorf("Create of a journal with a record = %v", err)
	}
	dir = journalOf(t, one+"{\n"+two)
	if _, err := dir.Create(ctx, "s"); !errors.Is(err, fs.ErrExist) || contentOf(t, dir) != one+"{\n"+two {
		t.Errorf("Create of a damaged journal = %v", err)
	}
	if err := journalOf(t, "").Remove(ctx, "s"); err != nil {
		t.Errorf("Remove = %v", err)
	}
}
