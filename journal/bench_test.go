//go:build unix

package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpu returns the CPU time of the process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// measured runs a benchmark's body and reports the CPU time.
func measured(b *testing.B, body func()) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for range b.N {
		body()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

func kilobyte(kind string) Record {
	return Record{Time: time.Unix(1, 2), Kind: kind,
		Data: json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)}
}

// Eight records of 1 KB are made durable, one by one and together.
func BenchmarkAppendSync8(b *testing.B) {
	ctx := context.Background()
	batch := make([]Record, 8)
	for i := range batch {
		batch[i] = kilobyte("result")
	}
	b.Run("one_by_one", func(b *testing.B) {
		f := created(b, NewDir(b.TempDir()), "s")
		measured(b, func() {
			for _, r := range batch {
				if err := errors.Join(f.Append(ctx, f.Len()+1, r), f.Sync(ctx)); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("appended_one_by_one_synced_once", func(b *testing.B) {
		f := created(b, NewDir(b.TempDir()), "s")
		measured(b, func() {
			for _, r := range batch {
				if err := f.Append(ctx, f.Len()+1, r); err != nil {
					b.Fatal(err)
				}
			}
			if err := f.Sync(ctx); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("one_batch", func(b *testing.B) {
		f := created(b, NewDir(b.TempDir()), "s")
		measured(b, func() {
			if err := errors.Join(f.Append(ctx, f.Len()+1, batch...), f.Sync(ctx)); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// Cost of the checksum for writing and reading a line of 1 KB, beside the cost of the whole.
func BenchmarkChecksum(b *testing.B) {
	r := kilobyte("result")
	line := []byte(strings.TrimSuffix(lineWith(b, 1, r), "\n"))
	for name, body := range map[string]func(){
		"written": func() { putSum(line) },
		"read":    func() { sink(b)(checkSum(line)) },
		"whole/written": func() {
			var buf bytes.Buffer
			if err := encodeLine(&buf, 1, r, false); err != nil {
				b.Fatal(err)
			}
		},
		"whole/read": func() {
			if _, err := decodeLine(line); err != nil {
				b.Fatal(err)
			}
		},
	} {
		b.Run(name, func(b *testing.B) { measured(b, body) })
	}
}

func sink(b *testing.B) func(bool, error) {
	return func(has bool, err error) {
		if !has || err != nil {
			b.Fatal(has, err)
		}
	}
}

func lineWith(b *testing.B, n int64, r Record) string {
	b.Helper()
	var buf bytes.Buffer
	if err := encodeLine(&buf, n, r, false); err != nil {
		b.Fatal(err)
	}
	return buf.String()
}

// A journal of 10,000 records of 1 KB is opened, and read.
func BenchmarkOpen10000(b *testing.B) {
	ctx := context.Background()
	dir := NewDir(b.TempDir())
	f := created(b, dir, "s")
	for n := range int64(10_000) {
		if err := f.Append(ctx, n+1, kilobyte("result")); err != nil {
			b.Fatal(err)
		}
	}
	closed(b, f)
	b.Run("open", func(b *testing.B) {
		measured(b, func() {
			f, err := dir.Open(ctx, "s")
			if err != nil {
				b.Fatal(err)
			}
			closed(b, f)
		})
	})
	b.Run("records", func(b *testing.B) {
		r := readOf(b, dir, "s")
		measured(b, func() {
			for _, err := range r.Records(ctx, 1) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// List lists 1,000 journals. One in ten is open for writing.
func BenchmarkList1000(b *testing.B) {
	dir := NewDir(b.TempDir())
	for n := range 1000 {
		f := created(b, dir, fmt.Sprint(n), "a")
		if n%10 > 0 {
			closed(b, f)
		}
	}
	measured(b, func() {
		if list, err := dir.List(context.Background()); err != nil || len(list) != 1000 {
			b.Fatal(err)
		}
	})
}

// idling holds the resources of an open journal at rest.
type idling struct {
	bytes, descriptors float64
	goroutines         int // of all of them
}

// measureIdle opens journals, uses each of them, and returns the resources that they hold.
func measureIdle(t testing.TB, count int) idling {
	t.Helper()
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	files := make([]Log, count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	running, open := runtime.NumGoroutine(), descriptors(t)
	for i := range files {
		f, err := dir.Create(ctx, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(ctx, 1, kilobyte("a"), kilobyte("b")); err != nil {
			t.Fatal(err)
		}
		for range f.Records(ctx, 1) {
		}
		files[i] = f
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := idling{bytes: float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / float64(count),
		descriptors: float64(descriptors(t)-open) / float64(count), goroutines: runtime.NumGoroutine() - running}
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	return held
}

// descriptors returns the number of this process's file descriptors, or 0 if the system does not
// tell.
func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

// A thousand sessions side by side: an open journal that is at rest costs next to nothing.
func TestA19_IdleIsSmall(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	count := min(1000, int(limit.Cur)/4)
	held := measureIdle(t, count)
	t.Logf("%d journals, of each %+v", count, held)
	if held.bytes > 2048 || held.descriptors > 2 || held.goroutines > 0 {
		t.Errorf("an idle journal holds %+v, want 2 descriptors, less than 2 KiB and no goroutine", held)
	}
}
