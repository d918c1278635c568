package search

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
)

// randomTree returns the names of files in directories of all shapes.
func randomTree(rnd *rand.Rand) map[string]string {
	files := map[string]string{}
	for range rnd.IntN(200) {
		name := ""
		for range rnd.IntN(5) {
			name += string(rune('a'+rnd.IntN(3))) + "/"
		}
		files[name+fmt.Sprintf("%c%02d", 'a'+rnd.IntN(4), rnd.IntN(60))] = "needle\n"
	}
	return files
}

// inTreeOrder returns names sorted directory by directory, in each by name.
func inTreeOrder(files map[string]string) []string {
	names := []string{}
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
	return names
}

// shuffled is an environment whose answers come in any order.
type shuffled struct {
	env.Environment
	mu  sync.Mutex
	rnd *rand.Rand
}

func (s *shuffled) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	s.yield()
	return s.Environment.ReadDir(ctx, name)
}

func (s *shuffled) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	s.yield()
	return s.Environment.Open(ctx, name)
}

func (s *shuffled) yield() {
	s.mu.Lock()
	n := s.rnd.IntN(20)
	s.mu.Unlock()
	for range n {
		runtime.Gosched()
	}
}

// TestK10_AnyScheduleVisitsInOrder compares the files that walks visit, and those before an early
// end, with the sorted names.
func TestK10_AnyScheduleVisitsInOrder(t *testing.T) {
	rnd := seed.New(t)
	for range 12 {
		files := randomTree(rnd)
		local := plant(t, files)
		want := inTreeOrder(files)
		for _, e := range []env.Environment{local, &shuffled{Environment: local, rnd: rnd}} {
			if diff := cmp.Diff(want, walked(t, e, "")); diff != "" {
				t.Fatalf("%T: %s", e, diff)
			}
			max := 1 + rnd.IntN(len(want)+1)
			r, err := Grep(context.Background(), e, Query{Pattern: "needle", Max: max})
			must(t, err)
			got := []string{}
			for _, f := range r.Files {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(want[:min(max, len(want))], got); diff != "" || r.More != (max < len(want)) {
				t.Fatalf("%T, max %d of %d, more %v: %s", e, max, len(want), r.More, diff)
			}
		}
	}
}

// TestK10_WalksCloseWhatTheyOpen counts descriptors after walks that end early, by Max or by their
// context.
func TestK10_WalksCloseWhatTheyOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skipf("the system does not list descriptors: %v", err)
	}
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%11, i%7, i)] = "needle\n"
	}
	e := plant(t, files)
	before := descriptors(t)
	for n := range 60 {
		_, err := Grep(context.Background(), e, Query{Pattern: "needle", Max: 1 + n*6})
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		left := n
		w := &walker{env: e, visitor: func() visitor {
			return func(context.Context, *folder, []env.Entry) (func() bool, int) {
				return func() bool {
					if left--; left == 0 {
						cancel()
					}
					return true
				}, 0
			}
		}}
		if err := w.walk(ctx, e.WorkDir()); n > 0 && err != context.Canceled {
			t.Errorf("a walk that was canceled: %v", err)
		}
		cancel()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}

// TestK10_SlowFileBoundsWhatIsHeld blocks the visit of the first files. The others go on only until
// they hold the limit.
func TestK10_SlowFileBoundsWhatIsHeld(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("d%02d/f", i)] = ""
	}
	local := plant(t, files)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		visited := 0
		w := &walker{env: &shuffled{Environment: local, rnd: seed.New(t)}, limit: 50, visitor: func() visitor {
			return func(_ context.Context, in *folder, _ []env.Entry) (func() bool, int) {
				if strings.HasSuffix(in.prefix, "/d00/") {
					<-release
				}
				mu.Lock()
				visited++
				mu.Unlock()
				return func() bool { return true }, 10
			}
		}}
		done := make(chan error)
		go func() { done <- w.walk(context.Background(), local.WorkDir()) }()
		synctest.Wait()
		mu.Lock()
		if visited < 5 || visited > 5+farWorkers {
			t.Errorf("%d visits hold 10 each, with a limit of 50", visited)
		}
		mu.Unlock()
		close(release)
		if err := <-done; err != nil || visited != 100 {
			t.Errorf("%d visits: %v", visited, err)
		}
	})
}

// opening is an environment that counts what is opened, by path.
type opening struct {
	*env.Local
	mu     sync.Mutex
	opened map[string]int
}

func (o *opening) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	dir, err := env.OpenDir(ctx, o.Local, name)
	return countedDir{dir, o, o.count(name)}, err
}

func (o *opening) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	o.count(name)
	return o.Local.Open(ctx, name)
}

func (o *opening) count(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opened[name]++
	return name
}

type countedDir struct {
	env.Dir
	env  *opening
	name string
}

func (d countedDir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	d.env.count(d.name + "/" + name)
	return d.Dir.Open(ctx, name)
}

func (d countedDir) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	dir, err := d.Dir.OpenDir(ctx, name)
	return countedDir{dir, d.env, d.env.count(d.name + "/" + name)}, err
}

// TestK10_EverythingIsOpenedOnce counts how often a search opens files and directories, and that a
// listing opens no files.
func TestK10_EverythingIsOpenedOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%3, i%7, i)] = "needle\n"
	}
	const dirs = 1 + 3 + 21
	e := &opening{Local: plant(t, files), opened: map[string]int{}}
	_, err := Glob(context.Background(), e, "**", "")
	must(t, err)
	if len(e.opened) != dirs {
		t.Errorf("a listing opens %d files and directories, there are %d directories", len(e.opened), dirs)
	}
	clear(e.opened)
	_, err = Grep(context.Background(), e, Query{Pattern: "needle"})
	must(t, err)
	for name, n := range e.opened {
		if n != 1 {
			t.Errorf("%s is opened %d times", name, n)
		}
	}
	if len(e.opened) != dirs+len(files) {
		t.Errorf("%d files and directories of %d are opened", len(e.opened), dirs+len(files))
	}
}

// TestK10_EarlyEndStopsTheWalk counts the visits that begin after nothing more was wanted: at most
// one for each worker.
func TestK10_EarlyEndStopsTheWalk(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%9, i%31, i)] = ""
	}
	e := plant(t, files)
	var ended atomic.Bool
	var late atomic.Int32
	w := &walker{env: &shuffled{Environment: e, rnd: seed.New(t)}, visitor: func() visitor {
		return func(context.Context, *folder, []env.Entry) (func() bool, int) {
			if ended.Load() {
				late.Add(1)
			}
			return func() bool {
				ended.Store(true)
				return false
			}, 0
		}
	}}
	must(t, w.walk(context.Background(), e.WorkDir()))
	if n := late.Load(); n > farWorkers {
		t.Errorf("%d visits began after the end", n)
	}
}
