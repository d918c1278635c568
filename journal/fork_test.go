package journal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestA19_Fork(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	source := created(t, dir, "s", "header")
	batch := []Record{{Kind: "b", Data: json.RawMessage(`{"x":1}`)}, {Kind: "c"}, {Kind: "d"}}
	if err := source.Append(ctx, 2, batch...); err != nil {
		t.Fatal(err)
	}
	hash, err := source.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	before := contentOf(t, dir)
	// in the middle of the batch, while s is being written
	fork, err := dir.Fork(ctx, "s", "t", 3, func(r *Record) error {
		if r.N == 1 {
			r.Data = json.RawMessage(`{"fork_of":"s"}`)
		}
		r.N = 99 // not theirs to change
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fork.Append(ctx, 4, Record{Kind: "own"}); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Open(ctx, "t"); !errors.Is(err, ErrLocked) {
		t.Errorf("Open of the copy = %v, want ErrLocked", err)
	}
	closed(t, fork)
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if now := contentOf(t, dir); now != before {
		t.Errorf("the source has changed to %q", now)
	}
	if err := dir.Remove(ctx, "s"); err != nil { // blobs are the copy's own
		t.Fatal(err)
	}
	r := readOf(t, dir, "t")
	if got := kindsOf(t, r.Records(ctx, 1)); !slices.Equal(got, []string{"header", "b", "c", "own"}) {
		t.Errorf("the copy has %q", got)
	}
	for first := range r.Records(ctx, 1) {
		if string(first.Data) != `{"fork_of":"s"}` {
			t.Errorf("its header has %s", first.Data)
		}
		break
	}
	if data, err := blobOf(r, hash); err != nil || data != "large" {
		t.Errorf("Blob = %q, %v", data, err)
	}
}

// A fork that fails leaves nothing behind.
func TestA19_ForkRefuses(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	source := created(t, dir, "s", "a", "b")
	if _, err := source.PutBlob(ctx, strings.NewReader("large")); err != nil {
		t.Fatal(err)
	}
	closed(t, source)
	closed(t, created(t, dir, "there", "x"))
	stop := errors.New("stop")
	fails := func(r *Record) error {
		if r.N == 2 {
			return stop
		}
		return nil
	}
	bad := func(r *Record) error { r.Data = json.RawMessage("{"); return nil }
	for name, c := range map[string]struct {
		from, to string
		n        int64
		edit     func(*Record) error
		want     error
	}{
		"no source":      {"none", "t", 1, nil, fs.ErrNotExist},
		"there already":  {"s", "there", 1, nil, fs.ErrExist},
		"itself":         {"s", "s", 1, nil, fs.ErrExist},
		"nothing":        {"s", "t", 0, nil, fs.ErrInvalid},
		"more than all":  {"s", "t", 3, nil, fs.ErrInvalid},
		"edit fails":     {"s", "t", 2, fails, stop},
		"edited to junk": {"s", "t", 2, bad, nil},
	} {
		if _, err := dir.Fork(ctx, c.from, c.to, c.n, c.edit); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if unlinkLocked {
		if files, err := os.ReadDir(dir.path); err != nil || len(files) != 3 {
			t.Errorf("left: %v, %v, want s, its blobs and there", files, err)
		}
	}
	if got := kindsOf(t, readOf(t, dir, "there").Records(ctx, 1)); !slices.Equal(got, []string{"x"}) {
		t.Errorf("there has %q", got)
	}
}

// A fork that was killed on a file system without links may leave a blob that is incomplete. The
// next fork does not take it over.
func TestA19_ForkAfterAKilledFork(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	source := created(t, dir, "s", "a")
	hash, err := source.PutBlob(ctx, strings.NewReader("large"))
	if err != nil {
		t.Fatal(err)
	}
	closed(t, source)
	left := dir.file("t", blobsExt)
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, hash), []byte("lar"), 0o600); err != nil {
		t.Fatal(err)
	}
	fork, err := dir.Fork(ctx, "s", "t", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, fork)
	if data, err := blobOf(fork, hash); err != nil || data != "large" {
		t.Errorf("Blob = %q, %v", data, err)
	}
}
