package checkpoint_test

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// goSources returns an environment of Go's own sources.
func goSources(b *testing.B) (e *env.Local, dir string) {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	must(b, err)
	dir, err = filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(out)), "src"))
	must(b, err)
	e, err = env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	must(b, err)
	b.Cleanup(func() { must(b, e.Close()) })
	return e, dir
}

// cost is what something took.
type cost struct{ cpu, wall time.Duration }

// measure runs something and adds what it took.
func (c *cost) measure(b *testing.B, do func()) {
	b.Helper()
	used, start := cpuTime(b), time.Now()
	do()
	c.cpu += cpuTime(b) - used
	c.wall += time.Since(start)
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var use unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// report reports a cost as a multiple of others.
func (c cost) report(b *testing.B, others map[string]cost) {
	b.Helper()
	b.ReportMetric(float64(c.cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(c.wall.Microseconds())/1000/float64(b.N), "wall-ms/op")
	for name, other := range others {
		b.ReportMetric(float64(c.cpu)/float64(other.cpu), "cpu-of-"+name)
		b.ReportMetric(float64(c.wall)/float64(other.wall), "wall-of-"+name)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkO3_Unchanged records Go's sources again, beside walks that only look at each file: that
// of the standard library, and one with nothing but the system calls.
func BenchmarkO3_Unchanged(b *testing.B) {
	e, dir := goSources(b)
	store, err := checkpoint.OpenDir(filepath.Join(b.TempDir(), "store"), checkpoint.DirOptions{})
	must(b, err)
	r := newRecorder(b, checkpoint.RecorderOptions{Store: store})
	tree := record(b, r, e)
	var recorded, walkDir, calls cost
	files := 0
	for b.Loop() {
		recorded.measure(b, func() {
			if again := record(b, r, e); again.Root != tree.Root {
				b.Fatal("the tree has changed")
			}
		})
		walkDir.measure(b, func() { files = walkAll(b, dir) })
		calls.measure(b, func() {
			fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(b, err)
			if n, err := statAll(fd); n != files || err != nil {
				b.Fatalf("%d files, want %d: %v", n, files, err)
			}
		})
	}
	recorded.report(b, map[string]cost{"WalkDir": walkDir, "calls": calls})
	b.ReportMetric(float64(files), "files")
}

// BenchmarkO3_Restarted does the same with a new recorder, which has only the file of the index.
func BenchmarkO3_Restarted(b *testing.B) {
	e, dir := goSources(b)
	store, err := checkpoint.OpenDir(filepath.Join(b.TempDir(), "store"), checkpoint.DirOptions{})
	must(b, err)
	o := checkpoint.RecorderOptions{Store: store, Index: filepath.Join(b.TempDir(), "index")}
	r := newRecorder(b, o)
	tree := record(b, r, e)
	must(b, r.Close())
	var recorded, walkDir cost
	for b.Loop() {
		recorded.measure(b, func() {
			if again := record(b, newRecorder(b, o), e); again.Root != tree.Root {
				b.Fatal("the tree has changed")
			}
		})
		walkDir.measure(b, func() { walkAll(b, dir) })
	}
	recorded.report(b, map[string]cost{"WalkDir": walkDir})
	info, err := os.Stat(o.Index)
	must(b, err)
	b.ReportMetric(float64(info.Size())/float64(tree.Files), "index-B/file")
}

// walkAll looks at each file of a tree and returns their number.
func walkAll(b *testing.B, dir string) (files int) {
	must(b, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && name != dir {
			_, err = d.Info()
			files++
		}
		return err
	}))
	return files
}

// statAll looks at each file below a directory, which it closes, and returns their number.
func statAll(dir int) (files int, err error) {
	var buf [8 << 10]byte
	var below []string
	for {
		n, err := unix.Getdents(dir, buf[:])
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		for rest := buf[:n]; len(rest) > 0; rest = rest[binary.NativeEndian.Uint16(rest[16:]):] {
			name := unix.ByteSliceToString(rest[19:])
			if name == "." || name == ".." {
				continue
			}
			var stat unix.Stat_t
			if err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return 0, err
			}
			files++
			if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
				below = append(below, name)
			}
		}
	}
	for _, name := range below {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return 0, err
		}
		n, err := statAll(fd)
		if err != nil {
			return 0, err
		}
		files += n
	}
	return files, unix.Close(dir)
}

// BenchmarkO3_First records Go's sources for the first time, beside as many goroutines that read,
// hash and compress each file and throw the result away.
func BenchmarkO3_First(b *testing.B) {
	e, dir := goSources(b)
	var recorded, plain cost
	var tree checkpoint.Tree
	for b.Loop() {
		store, err := checkpoint.OpenDir(filepath.Join(b.TempDir(), "store"), checkpoint.DirOptions{})
		must(b, err)
		r := newRecorder(b, checkpoint.RecorderOptions{Store: store, Index: filepath.Join(b.TempDir(), "index")})
		recorded.measure(b, func() { tree = record(b, r, e) })
		plain.measure(b, func() { readHashCompress(b, dir) })
	}
	recorded.report(b, map[string]cost{"plain": plain})
	b.ReportMetric(float64(tree.Files), "files")
	b.ReportMetric(float64(tree.Bytes)/1e6, "MB")
}

// readHashCompress reads, hashes and compresses each file of a tree.
func readHashCompress(b *testing.B, dir string) {
	files := make(chan string, 100)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	must(b, err)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var out []byte
			for name := range files {
				data, err := os.ReadFile(name)
				if err != nil {
					b.Error(err)
				}
				sha256.Sum256(data)
				out = encoder.EncodeAll(data, out[:0])
			}
		})
	}
	must(b, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files <- name
		}
		return err
	}))
	close(files)
	workers.Wait()
	must(b, encoder.Close())
}
