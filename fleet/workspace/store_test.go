package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/seed"
)

// stored returns the names of objects with their sizes.
func stored(t testing.TB, o fleet.Objects, prefix string) map[string]int64 {
	t.Helper()
	list := map[string]int64{}
	for a, err := range o.List(t.Context(), prefix) {
		must(t, err)
		list[a.Name] = a.Size
	}
	return list
}

func total(list map[string]int64) (n int64) {
	for _, size := range list {
		n += size
	}
	return n
}

// noise is text that does not shrink.
func noise(seed byte, n int) string {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(data)
	return string(data)
}

// What the cloned commit has is not stored, and nothing is stored twice, by no owner. All objects
// belong to the task.
func TestP5_NothingIsStoredTwice(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	write(t, source, map[string]string{"large": noise(1, 200_000), "large2": noise(2, 300_000)})
	runGit(t, source, "add", "-A")
	runGit(t, source, "commit", "-q", "-m", "large")
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: source}}
	ws := open(t, newWorkspaces(t), task, o, nil)
	point(t, ws)
	if n := total(stored(t, o, "")); n > 2000 {
		t.Errorf("the first point stores %d bytes", n)
	}
	do(t, ws, "cp large copy; mv large2 moved; echo x >> README.md")
	point(t, ws)
	if n := total(stored(t, o, "")); n > 4000 {
		t.Errorf("copies are stored: %d bytes", n)
	}
	write(t, dirOf(ws), map[string]string{"new": noise(3, 100_000), "new2": noise(3, 100_000)})
	last := point(t, ws)
	after := stored(t, o, "")
	if n := total(after); n < 100_000 || n > 120_000 {
		t.Errorf("a new content of 100,000 bytes makes %d bytes", n)
	}
	for name := range after {
		if !strings.HasPrefix(name, "tree/t1/") {
			t.Errorf("there is an object %s", name)
		}
	}
	again := open(t, newWorkspaces(t), task, o, last)
	if p := point(t, again); *p != *last || !maps.Equal(stored(t, o, ""), after) {
		t.Errorf("the next owner's first point is %+v instead of %+v, and stores %v instead of %v", p, last,
			stored(t, o, ""), after)
	}
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Error("the files differ")
	}
}

// What an owner does that has lost its task harms nobody: not before, not after, and not while the
// next one opens the workspace.
func TestP4_ZombieSpoilsNoWorkspace(t *testing.T) {
	t.Parallel()
	o := space(t).Objects
	source := newRepository(t)
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: source}}
	commit := "; git add -A; git -c user.name=A -c user.email=a@example.com commit -qm x"
	zombie := open(t, newWorkspaces(t), task, o, nil)
	do(t, zombie, "echo 1 > one"+commit)
	noted := point(t, zombie)
	do(t, zombie, "echo unnoted > two"+commit) // its note is refused
	point(t, zombie)

	second := open(t, newWorkspaces(t), task, o, noted)
	do(t, second, "echo 2 > two"+commit)
	point(t, second)
	do(t, zombie, "echo zombie > three"+commit)
	point(t, zombie)
	do(t, second, "echo 3 > three; rm one"+commit)
	last := point(t, second)
	open(t, newWorkspaces(t), task, o, noted) // a zombie that is slow to open
	point(t, zombie)

	third := open(t, newWorkspaces(t), task, o, last)
	if got, want := listing(t, dirOf(third)), listing(t, dirOf(second)); got != want {
		t.Errorf("the third has %s instead of %s", got, want)
	}
	if got, want := gitState(t, dirOf(third)), gitState(t, dirOf(second)); got != want {
		t.Errorf("the third has %s instead of %s", got, want)
	}
	point(t, third)
}

// faulty loses, cuts and damages objects.
type faulty struct {
	fleet.Objects
	mu   sync.Mutex
	fail error
	read func(name string, data []byte) []byte
}

func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *faulty) Put(ctx context.Context, name string, data io.Reader) (fleet.Artifact, error) {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		return fleet.Artifact{}, fail
	}
	return f.Objects.Put(ctx, name, data)
}

func (f *faulty) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := f.Objects.Open(ctx, name)
	if err != nil || f.read == nil {
		return r, err
	}
	data, err := io.ReadAll(r)
	return io.NopCloser(bytes.NewReader(f.read(name, data))), errors.Join(err, r.Close())
}

// A point that could not be stored is none, and the next one has everything.
func TestP5_StoreFails(t *testing.T) {
	t.Parallel()
	o := &faulty{Objects: space(t).Objects}
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: newRepository(t)}}
	ws := open(t, newWorkspaces(t), task, o, nil)
	point(t, ws)
	gone := errors.New("the store is gone")
	o.set(func() { o.fail = gone })
	do(t, ws, "echo x > x; git add x; git -c user.name=A -c user.email=a@example.com commit -qm x")
	for range 2 {
		if _, err := ws.Point(t.Context()); !errors.Is(err, gone) {
			t.Fatalf("a point without a store: %v", err)
		}
	}
	o.set(func() { o.fail = nil })
	last := point(t, ws)
	again := open(t, newWorkspaces(t), task, o, last)
	if got, want := listing(t, dirOf(again))+gitState(t, dirOf(again)), listing(t, dirOf(ws))+gitState(t,
		dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := ws.Point(canceled); !errors.Is(err, gone) {
		t.Errorf("a point that is not wanted: %v", err)
	}
}

// recompressed returns a pack in which the middle is different.
func recompressed(t testing.TB, pack []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	must(t, err)
	defer r.Close()
	data, err := r.DecodeAll(pack, nil)
	must(t, err)
	data[len(data)/2] ^= 1 // in the large file
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return w.EncodeAll(data, nil)
}

// Objects that are not what was stored are errors, never another workspace.
func TestP5_DamagedCheckpoints(t *testing.T) {
	t.Parallel()
	o := &faulty{Objects: space(t).Objects}
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: newRepository(t)}}
	ws := open(t, newWorkspaces(t), task, o, nil)
	write(t, dirOf(ws), map[string]string{"new": noise(1, 5000)})
	do(t, ws, "git add -A; git -c user.name=A -c user.email=a@example.com commit -qm x; echo y > y")
	last := point(t, ws)
	random := seed.New(t)
	for i := range 10 {
		kind := []string{"tree/t1/pack-", "tree/t1/git-"}[i%2]
		o.read = func(name string, data []byte) []byte {
			switch {
			case !strings.HasPrefix(name, kind):
			case i < 4:
				data = data[:random.IntN(len(data))]
			case i == 8: // whole, but with another content
				data = recompressed(t, data)
			default:
				data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
			}
			return data
		}
		w := newWorkspaces(t)
		again, err := w.Open(t.Context(), task, o, last)
		if err != nil {
			continue
		}
		// What was damaged may not matter, such as the name of a platform in a header. Then it is
		// the same.
		if got, want := listing(t, dirOf(again))+gitState(t, dirOf(again)), listing(t, dirOf(ws))+gitState(t,
			dirOf(ws)); got != want {
			t.Errorf("damage %d made another workspace:\n%s\n%s", i, got, want)
		}
		must(t, again.Close())
	}
	o.read = nil
	for _, wrong := range []fleet.WorkspacePoint{{}, {Base: last.Base}, {Base: last.Base, Root: last.Root,
		Pack: "tree/t2/pack-x"},
		{Base: "--output=x", Root: last.Root, Pack: last.Pack}, {Base: last.Base, Root: last.Root, Pack: last.Pack,
			Git: "artifacts/x"},
		{Base: last.Base, Root: strings.Repeat("0", 64), Pack: last.Pack}, {Base: last.Base, Root: "../../x",
			Pack: last.Pack}} {
		if _, err := newWorkspaces(t).Open(t.Context(), task, o, &wrong); err == nil {
			t.Errorf("%+v opens", wrong)
		}
	}
}

// The store of a task has a bound, which an error names.
func TestP5_StoreIsFull(t *testing.T) {
	t.Parallel()
	o := space(t).Objects
	ws := open(t, newWorkspaces(t, func(o *workspace.Options) { o.Limits.StoredBytes = 100_000 }), fleet.Task{ID: "t1"},
		o, nil)
	point(t, ws)
	write(t, dirOf(ws), map[string]string{"large": noise(1, 100_000)})
	if _, err := ws.Point(t.Context()); !errors.Is(err, checkpoint.ErrFull) || !strings.Contains(err.Error(),
		".gitignore") {
		t.Errorf("a large file: %v", err)
	}
	write(t, dirOf(ws), map[string]string{".gitignore": "large\n"})
	p := point(t, ws)
	must(t, os.Remove(filepath.Join(dirOf(ws), "large")))
	again := open(t, newWorkspaces(t), fleet.Task{ID: "t1"}, o, p)
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
}

// Many points stay quick to open: the chain of packs is made anew.
func TestP5_LongChains(t *testing.T) {
	t.Parallel()
	o := space(t).Objects
	task := fleet.Task{ID: "t1"}
	ws := open(t, newWorkspaces(t), task, o, nil)
	var last *fleet.WorkspacePoint
	for i := range 300 {
		write(t, dirOf(ws), map[string]string{fmt.Sprint("d", i%7, "/f", i%50): fmt.Sprint(i)})
		last = point(t, ws)
	}
	again := open(t, newWorkspaces(t), task, o, last)
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
	p := point(t, again)
	third := open(t, newWorkspaces(t), task, o, p)
	if got, want := listing(t, dirOf(third)), listing(t, dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
}

// Points that are asked for at once wait for each other, while the task goes on.
func TestP5_PointsAtOnce(t *testing.T) {
	t.Parallel()
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: newRepository(t)}}
	ws := open(t, newWorkspaces(t), task, o, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := filepath.Join(dirOf(ws), fmt.Sprint("f", i))
			if err := os.WriteFile(name, []byte(fmt.Sprint(i)), 0o600); err != nil {
				t.Error(err)
			}
			if _, err := ws.Point(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	last := point(t, ws)
	again := open(t, newWorkspaces(t), task, o, last)
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
}
