package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

func openDir(t testing.TB, path string, o DirOptions) *Dir {
	t.Helper()
	d, err := OpenDir(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func begin(t testing.TB, s Store) Batch {
	t.Helper()
	b, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func put(t testing.TB, b Batch, content string) env.Hash {
	t.Helper()
	h, n, err := b.Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if want := env.HashOf([]byte(content)); h != want || n != int64(len(content)) {
		t.Fatalf("put %d bytes: got %s, %d; want %s", len(content), h, n, want)
	}
	return h
}

func commit(t testing.TB, b Batch, owner string, root env.Hash) {
	t.Helper()
	if err := b.Commit(t.Context(), owner, root); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s Store, h env.Hash) string {
	t.Helper()
	data, err := load(t.Context(), s, h)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func load(ctx context.Context, s Store, h env.Hash) (data []byte, err error) {
	r, err := s.Open(ctx, h)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

// contents returns contents of many sizes, which compress well or not at all.
func contents() []string {
	noise := make([]byte, 3*smallObject)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	list := []string{"", "a", string(noise[:1000]), string(noise), strings.Repeat("all work and no play\n", 200_000)}
	for _, n := range []int{smallObject - 1, smallObject, smallObject + 1} {
		list = append(list, strings.Repeat("b", n), string(noise[7:n+7]))
	}
	return list
}

func TestO3_StoreKeepsEveryContent(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, DirOptions{})
	b := begin(t, d)
	var hashes []env.Hash
	for _, c := range contents() {
		h := put(t, b, c)
		if put(t, b, c) != h || !b.Has(h) {
			t.Error("an object that was put is not there")
		}
		hashes = append(hashes, h)
	}
	if _, err := load(t.Context(), d, hashes[1]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the commit: %v", err)
	}
	commit(t, b, "s", hashes[0])
	again := openDir(t, path, DirOptions{})
	for i, c := range contents() {
		if read(t, d, hashes[i]) != c || read(t, again, hashes[i]) != c {
			t.Errorf("object %d has another content", i)
		}
	}
}

func TestO3_StoreKeepsContentsOnce(t *testing.T) {
	path := t.TempDir()
	var size int64
	files := 0
	for i := range 3 {
		d := openDir(t, path, DirOptions{})
		b := begin(t, d)
		var root env.Hash
		for _, c := range contents() {
			root = put(t, b, c)
		}
		commit(t, b, fmt.Sprint("session", i), root)
		total := int64(0)
		packs, err := filepath.Glob(filepath.Join(path, packsName, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packs {
			info, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		if i == 0 {
			size, files = total, len(packs)
		}
		if total != size || len(packs) != files {
			t.Errorf("after session %d: %d bytes in %d files, before %d", i, total, len(packs), size)
		}
	}
}

func TestO3_StoreIsTheUsersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	d := openDir(t, path, DirOptions{})
	b := begin(t, d)
	commit(t, b, "s", put(t, b, "secret"))
	release, err := d.Use(t.Context(), "/w", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = release() }()
	err = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestO3_StoreWithoutCommitKeepsNothing(t *testing.T) {
	d := openDir(t, t.TempDir(), DirOptions{})
	first := begin(t, d)
	kept := put(t, first, "kept")
	commit(t, first, "s", kept)
	b := begin(t, d)
	gone := put(t, b, "gone")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(t.Context(), "s", kept); err == nil {
		t.Error("a batch was committed after its end")
	}
	if _, err := d.Open(t.Context(), gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object of a batch that was closed: %v", err)
	}
	third := begin(t, d)
	if third.Has(gone) || !third.Has(kept) {
		t.Error("the store has the wrong objects")
	}
	if err := third.Commit(t.Context(), "s", gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
}

func TestO3_StoreNamesDamage(t *testing.T) {
	for _, content := range []string{"small and dear", strings.Repeat("large and dear\n", smallObject/14)} {
		path := t.TempDir()
		d := openDir(t, path, DirOptions{})
		b := begin(t, d)
		h := put(t, b, content)
		commit(t, b, "s", h)
		pack := d.packsOf(t)[0]
		whole, err := os.ReadFile(pack)
		if err != nil {
			t.Fatal(err)
		}
		step := 1 + len(content)>>15
		for at := 0; at < len(whole); at += step {
			torn := bytes.Clone(whole)
			torn[at] ^= 4
			if err := os.WriteFile(pack, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Dir{d, openDir(t, path, DirOptions{})} {
				data, err := load(t.Context(), s, h)
				if err == nil && string(data) != content {
					t.Fatalf("byte %d: another content without an error", at)
				}
				small := len(content) <= smallObject
				// in a large one, and in the header of a frame, some bits do not matter
				if err == nil && small && s == d && at > 5 && at < len(whole)-trailerSize-entrySize {
					t.Fatalf("byte %d: no error", at)
				}
			}
		}
	}
}

func (d *Dir) packsOf(t testing.TB) []string {
	t.Helper()
	packs, err := filepath.Glob(d.file(packsName, "*"+packExt))
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

// What another process is about to commit is not relied upon: it is not durable yet, and may be
// taken back.
func TestO3_StoreReliesOnNoOpenBatch(t *testing.T) {
	path := t.TempDir()
	d, other := openDir(t, path, DirOptions{}), openDir(t, path, DirOptions{})
	first := begin(t, d).(*dirBatch)
	h := put(t, first, "content")
	if err := first.out.buf.Flush(); err != nil {
		t.Fatal(err)
	}
	second := begin(t, other)
	if second.Has(h) {
		t.Error("it relies on what is not durable")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, second, "content")
	commit(t, second, "s", h)
	if data, err := load(t.Context(), openDir(t, path, DirOptions{}), h); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
}

// While a process writes to the store, others can read what it has committed before.
func TestO3_StoreReadsWhileOthersWrite(t *testing.T) {
	path := t.TempDir()
	writer := openDir(t, path, DirOptions{})
	batch := begin(t, writer)
	committed := put(t, batch, "committed")
	commit(t, batch, "s", committed)
	under := begin(t, writer)
	open := put(t, under, strings.Repeat("under way", writeBuffer))
	reader := openDir(t, path, DirOptions{})
	for range 2 {
		if got := read(t, reader, committed); got != "committed" {
			t.Errorf("%q", got)
		}
	}
	if _, err := load(t.Context(), reader, open); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not committed yet: %v", err)
	}
	commit(t, under, "s", open)
	for _, hash := range []env.Hash{committed, open} {
		read(t, reader, hash)
	}
}
