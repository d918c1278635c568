package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/filelock"
)

// tree puts a directory with files of these contents, in a directory, and returns the root and all
// objects.
func tree(t testing.TB, b Batch, contents ...string) (root env.Hash, objects []env.Hash) {
	t.Helper()
	var entries []Entry
	for i, c := range contents {
		h := put(t, b, c)
		objects = append(objects, h)
		entries = append(entries, Entry{Name: Name(fmt.Sprintf("f%05d", i)), Mode: 0o644, Object: h,
			Size: int64(len(c))})
	}
	below := put(t, b, encodeDir(t, entries))
	root = put(t, b, encodeDir(t, []Entry{{Name: "sub", Mode: fs.ModeDir | 0o755, Object: below}}))
	return root, append(objects, below, root)
}

func encodeDir(t testing.TB, entries []Entry) string {
	t.Helper()
	data, err := EncodeDir(entries)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// keepTree commits a tree for an owner and returns its objects.
func keepTree(t testing.TB, d *Dir, owner string, contents ...string) []env.Hash {
	t.Helper()
	b := begin(t, d)
	root, objects := tree(t, b, contents...)
	commit(t, b, owner, root)
	return objects
}

// collect collects and returns the bytes that are freed.
func collect(t testing.TB, d *Dir) (freed int64) {
	t.Helper()
	if err := d.refresh(); err != nil {
		t.Fatal(err)
	}
	before := d.size()
	told := d.evicted
	defer func() { d.evicted = told }()
	d.evicted = func(owner string) { t.Fatalf("evicted %s", owner) }
	if err := d.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return before - d.size()
}

// has returns which of some objects a store has, after reading them.
func has(t testing.TB, s Store, objects ...env.Hash) (there []bool) {
	t.Helper()
	for _, h := range objects {
		data, err := load(t.Context(), s, h)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err == nil && env.HashOf(data) != h {
			t.Fatalf("object %s has another content", h)
		}
		there = append(there, err == nil)
	}
	return there
}

func all(list []bool, want bool) bool { return !slices.Contains(list, !want) }

func noise(seed byte, n int) string {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(data)
	return string(data)
}

func TestO3_CollectKeepsWhatAnOwnerReaches(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, DirOptions{})
	shared := noise(1, 50_000)
	first := keepTree(t, d, "first", shared, noise(2, 300_000))
	second := keepTree(t, d, "second", shared, noise(3, 10_000))
	index := begin(t, d)
	blob := put(t, index, "DIRC: an index of git")
	commit(t, index, "second", blob)
	other := openDir(t, path, DirOptions{})
	has(t, other, first...) // knows where they are now
	if err := d.Release(t.Context(), "first", "nobody"); err != nil {
		t.Fatal(err)
	}
	if freed := collect(t, d); freed < 300_000 || freed > 310_000 {
		t.Errorf("%d bytes were freed", freed)
	}
	for _, s := range []*Dir{d, other, openDir(t, path, DirOptions{})} {
		if !all(has(t, s, append(second, blob)...), true) {
			t.Error("the second owner's tree has lost objects")
		}
		if !all(has(t, s, first[1:]...), false) || has(t, s, first[0])[0] != true {
			t.Error("of the first owner's tree something else is left than what it shared")
		}
	}
	b := begin(t, other)
	if b.Has(first[1]) {
		t.Error("another process relies on what was removed")
	}
	owners, err := d.Owners(t.Context())
	if err != nil || !slices.Equal(owners, []string{"second"}) {
		t.Errorf("owners %v, %v", owners, err)
	}
	if err := d.Release(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if collect(t, d); d.size() != 0 || len(d.packsOf(t)) != 0 {
		t.Errorf("%d bytes without owners", d.size())
	}
}

func TestO3_CollectWaitsForBatches(t *testing.T) {
	path := t.TempDir()
	d, other := openDir(t, path, DirOptions{}), openDir(t, path, DirOptions{})
	objects := keepTree(t, d, "gone", "a", "b")
	if err := d.Release(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	b := begin(t, other)
	if !b.Has(objects[0]) {
		t.Fatal("the object is not there")
	}
	if err := d.collect(t.Context(), d.max, time.Millisecond); !errors.Is(err, filelock.ErrLocked) {
		t.Fatalf("a collection while a batch is open: %v", err)
	}
	commit(t, b, "now", objects[len(objects)-1])
	collect(t, d)
	if !all(has(t, d, objects...), true) {
		t.Error("what a batch has found was removed")
	}
}

// Small packs are made one when a batch ends and nobody else uses the store.
func TestO3_ManyPacksAreMadeOne(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, DirOptions{})
	other := openDir(t, path, DirOptions{})
	busy := begin(t, other)
	var objects []env.Hash
	for i := range smallPacks + 2 {
		objects = append(objects, keepTree(t, d, fmt.Sprint(i), noise(byte(i), 1000))...)
	}
	has(t, other, objects...) // knows where they are now
	if n := len(d.packsOf(t)); n != smallPacks+2 {
		t.Fatalf("%d packs while another batch is open", n)
	}
	if err := busy.Close(); err != nil {
		t.Fatal(err)
	}
	objects = append(objects, keepTree(t, d, "last", "another")...)
	if n := len(d.packsOf(t)); n != 1 {
		t.Errorf("%d packs are left", n)
	}
	for _, s := range []*Dir{d, other, openDir(t, path, DirOptions{})} {
		if !all(has(t, s, objects...), true) {
			t.Error("objects are lost")
		}
	}
}

func TestO3_FullStoreDropsWhatWasNotUsed(t *testing.T) {
	path := t.TempDir()
	var evicted []string
	d := openDir(t, path, DirOptions{Max: 1 << 20, Evicted: func(owner string) { evicted = append(evicted, owner) }})
	release, err := d.Use(t.Context(), "/work", "s0")
	if err != nil {
		t.Fatal(err)
	}
	var objects [][]env.Hash
	for i := range 8 {
		owner := fmt.Sprint("s", i)
		objects = append(objects, keepTree(t, d, owner, noise(byte(i), 200_000)))
		then := time.Now().Add(time.Duration(i-100) * time.Hour)
		if err := os.Chtimes(d.ownerFile(owner), then, then); err != nil {
			t.Fatal(err)
		}
		if d.size() > d.max {
			t.Fatalf("the store has %d bytes", d.size())
		}
	}
	if len(evicted) == 0 || !slices.IsSorted(evicted) || evicted[0] != "s1" {
		t.Fatalf("evicted %v", evicted)
	}
	for i, list := range objects {
		if want := !slices.Contains(evicted, fmt.Sprint("s", i)); !all(has(t, d, list...), want) {
			t.Errorf("s%d: want %v", i, want)
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	b := begin(t, d)
	if _, _, err := b.Put(t.Context(), strings.NewReader(noise(100, 900_000))); !errors.Is(err, ErrFull) {
		t.Fatalf("a batch without room: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	keepTree(t, d, "a", noise(100, 900_000))
	if !slices.Contains(evicted, "s0") {
		t.Errorf("evicted %v, but not the session that ended", evicted)
	}
}

func TestO3_FullStoreTakesNothing(t *testing.T) {
	d := openDir(t, t.TempDir(), DirOptions{Max: 1 << 20})
	release, err := d.Use(t.Context(), "/work", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	kept := keepTree(t, d, "s", "kept")
	for _, content := range []string{noise(1, 2<<20), noise(2, 700_000) + noise(3, 700_000)} {
		b := begin(t, d)
		if _, _, err := b.Put(t.Context(), strings.NewReader(content)); !errors.Is(err, ErrFull) {
			t.Fatalf("an object of %d bytes: %v", len(content), err)
		}
		if err := b.Commit(t.Context(), "s", kept[0]); !errors.Is(err, ErrFull) {
			t.Errorf("a batch that lacks an object: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if !all(has(t, d, kept...), true) || d.size() > 1<<10 {
			t.Errorf("%d bytes after a batch that had no room", d.size())
		}
	}
}

// A store that is nearly full of what is in use is not collected again for each batch.
func TestO3_FullStoreIsNotCollectedInVain(t *testing.T) {
	d := openDir(t, t.TempDir(), DirOptions{Max: 1 << 20})
	release, err := d.Use(t.Context(), "/work", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = release() })
	keepTree(t, d, "s", noise(1, 970_000))
	collects := func() bool {
		stray := d.file(packsName, "stray"+tempExt) // which a collection removes
		if err := os.WriteFile(stray, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := begin(t, d).Close(); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(stray)
		return errors.Is(err, fs.ErrNotExist)
	}
	if !collects() || collects() || collects() {
		t.Error("a store that has not grown is collected again")
	}
	keepTree(t, d, "s", noise(2, 30_000))
	if !collects() || collects() {
		t.Error("a store that has grown is not collected once")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	b := begin(t, d)
	if _, _, err := b.Put(t.Context(), strings.NewReader(noise(3, 200_000))); !errors.Is(err, ErrFull) {
		t.Fatalf("a batch without room: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if keepTree(t, d, "t", noise(3, 200_000)); d.size() > 500_000 {
		t.Errorf("%d bytes when nothing is in use", d.size())
	}
}

func TestO3_CollectRemovesWhatAKilledProcessLeft(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, DirOptions{})
	kept := keepTree(t, d, "s", noise(1, 1000))
	pack := d.packsOf(t)[0]
	whole, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	killed := begin(t, openDir(t, path, DirOptions{})).(*dirBatch)
	half := put(t, killed, "half")
	if err := errors.Join(killed.out.buf.Flush(), killed.out.file.Close(), killed.lock.Close()); err != nil {
		t.Fatal(err)
	}
	killed.ended = true
	for name, data := range map[string]string{
		"9" + tempExt: "half",
		"a" + packExt: "",
		"b" + packExt: strings.Repeat("\x00", 5000),
		"c" + packExt: string(whole[:len(whole)-1]),
		"d" + packExt: strings.Repeat("\xff", 12) + packMagic,
	} {
		if err := os.WriteFile(d.file(packsName, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.ownerFile("s"), append(mustRead(t, d.ownerFile("s")), "0123"...), 0o600); err != nil {
		t.Fatal(err)
	}
	other := openDir(t, path, DirOptions{})
	b := begin(t, other)
	if b.Has(half) {
		t.Error("an object of a batch that broke off counts")
	}
	commit(t, b, "s", put(t, b, "a tree behind a torn line"))
	collect(t, other)
	packs := other.packsOf(t)
	entries, err := os.ReadDir(d.file(packsName))
	if err != nil || len(entries) != 2 || !slices.Contains(packs, pack) || string(mustRead(t, pack)) != string(whole) {
		t.Errorf("left: %v, %v", entries, err)
	}
	more := keepTree(t, other, "t", "more")
	kept = append(kept, env.HashOf([]byte("a tree behind a torn line")))
	if !all(has(t, d, append(more, kept...)...), true) {
		t.Error("objects are lost")
	}
}

// An error of the disk ends a collection before it removes what such a directory names. It may go
// away, and damage does not.
func TestO3_CollectEndsWithTheDisksErrors(t *testing.T) {
	large := make([]Entry, 30_000)
	for i := range large {
		large[i] = Entry{Name: Name(fmt.Sprintf("%05d", i)), Mode: 0o600, Object: env.HashOf([]byte(fmt.Sprint(i)))}
	}
	for name, entries := range map[string][]Entry{"small": large[:1], "large": large} {
		d := openDir(t, t.TempDir(), DirOptions{})
		data, err := EncodeDir(entries)
		if err != nil {
			t.Fatal(err)
		}
		b := begin(t, d)
		commit(t, b, "s", put(t, b, string(data)))
		c := &collection{dir: d, goal: d.max, live: map[digest]int64{}}
		pack := d.packsOf(t)[0]
		if err := errors.Join(os.Remove(pack), os.Mkdir(pack, 0o700)); err != nil { // what is no file cannot be read
			t.Fatal(err)
		}
		if err := c.marks(t.Context()); err == nil || errors.Is(err, errDamaged) {
			t.Errorf("%s: marking what cannot be read: %v", name, err)
		}
		if _, err := load(t.Context(), d, env.HashOf(data)); err == nil || errors.Is(err, errDamaged) {
			t.Errorf("%s: reading: %v", name, err)
		}
	}
}
