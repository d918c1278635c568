package coding

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// sparseMiB is less than ten gigabytes because a hole is read at a few gigabytes a second.
var sparseMiB = flag.Int64("sparse.mib", 512, "how many MiB of a sparse file the tests of read_file read to the end")

const sparseLines = 100_000 // at the beginning of a sparse file, before the hole

// sparse creates a file of lines and a hole, and returns its size.
func sparse(b *fixture, name string, size int64) {
	b.Helper()
	b.put(name, counted(sparseLines))
	if err := os.Truncate(filepath.Join(b.dir, name), size); err != nil {
		b.Skipf("no sparse files here: %v", err)
	}
}

// metered is an environment that counts what is read of its files.
type metered struct {
	env.Environment
	read   int64
	onRead func() // after each read; may be nil
}

func (m *metered) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := m.Environment.Open(ctx, name)
	return &meteredFile{f, m}, err
}

type meteredFile struct {
	io.ReadCloser
	m *metered
}

func (f *meteredFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.m.read += int64(n)
	if f.m.onRead != nil {
		f.m.onRead()
	}
	return n, err
}

// A large file is read only as far as the wanted lines, and a binary file only at its beginning.
func TestC3_SparseFileIsNotReadOn(t *testing.T) {
	b := newFixture(t)
	sparse(b, "text", 10<<30)
	b.put("binary", "")
	if err := os.Truncate(filepath.Join(b.dir, "binary"), 10<<30); err != nil {
		t.Fatal(err)
	}
	m := &metered{Environment: b.env}
	b.env = m
	text := b.ok(ReadFile(), object{"file_path": "text", "offset": sparseLines - 9, "limit": 10})
	if size := int64(len(counted(sparseLines))); !strings.Contains(text, "100000 | text 100000\n") ||
		m.read > size+2*readBuffer {
		t.Errorf("%d bytes read of a file whose text has %d; %q", m.read, size, text)
	}
	m.read = 0
	if b.fails(ReadFile(), object{"file_path": "binary", "offset": 5, "limit": 1}, "binary file"); m.read > readBuffer {
		t.Errorf("%d bytes read of a binary file", m.read)
	}
}

// Reading lines far down in a large file allocates no more than reading them from a small one.
func TestC3_SparseFileCostsWhatIsReturned(t *testing.T) {
	b := newFixture(t)
	sparse(b, "huge", 10<<30)
	b.put("small", counted(10)+"more")
	cost := func(args object) uint64 {
		b.ok(ReadFile(), args) // for what is allocated once
		least := ^uint64(0)
		for range 5 { // a garbage collection in between empties pools
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ok(ReadFile(), args)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return least
	}
	small := cost(object{"file_path": "small", "limit": 10})
	if huge := cost(object{"file_path": "huge", "offset": sparseLines - 9, "limit": 10}); huge > small+32<<10 {
		t.Errorf("%d bytes allocated, where a small file takes %d", huge, small)
	}
}

// The end of the context ends the reading within a very long line, whether the line is skipped or
// shown.
func TestC3_SparseLineEndsWithItsContext(t *testing.T) {
	for name, offset := range map[string]int{"skipped": sparseLines + 2, "shown": sparseLines + 1} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			sparse(b, "huge", 10<<30)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			const enough = 16 << 20
			m := &metered{Environment: b.env}
			m.onRead = func() {
				if m.read > enough {
					cancel()
				}
			}
			b.env = m
			o := b.runCall(ctx, ReadFile(), object{"file_path": "huge", "offset": offset, "limit": 1}, tool.Call{})
			if !o.IsError || !strings.Contains(o.Model.Text(), context.Canceled.Error()) ||
				m.read > enough+2*readBuffer {
				t.Errorf("error %v after %d bytes: %q", o.IsError, m.read, o.Model.Text())
			}
		})
	}
}

// Peak memory stays small when a process reads lines of a sparse file: at its beginning, in a line
// as long as the rest of the file, and past its end.
func TestC3_SparsePeakMemory(t *testing.T) {
	const child = "READ_FILE_PEAK_MEMORY"
	if os.Getenv(child) != "" {
		fmt.Printf("grown by %d bytes\n", readSparse(t))
		return
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("nothing tells the peak of memory here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestC3_SparsePeakMemory$", fmt.Sprintf("-sparse.mib=%d", *sparseMiB))
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	var grown int64
	if _, at, found := strings.Cut(string(out), "grown by "); err != nil || !found {
		t.Fatalf("%v: %s", err, out)
	} else if _, err := fmt.Sscan(at, &grown); err != nil {
		t.Fatal(err)
	}
	limit := int64(8 << 20) // 100 KB of the long line, copies of it, and 4 MiB of garbage before a collection
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race",
		Value: "true"}) {
		limit *= 4 // the race detector needs more memory
	}
	t.Logf("reading a file of 10 GiB, and one of %d MiB to its end, cost %.1f MiB at the peak", *sparseMiB,
		float64(grown)/(1<<20))
	if grown > limit {
		t.Errorf("%d bytes more at the peak, want at most %d", grown, limit)
	}
}

// readSparse reads sparse files and returns the largest growth of the process's memory.
func readSparse(t *testing.T) int64 {
	t.Helper()
	b := newFixture(t)
	sparse(b, "huge", 10<<30)
	size := *sparseMiB << 20
	sparse(b, "to the end", size)
	b.put("warm", "a\n")
	b.ok(ReadFile(), object{"file_path": "warm"})
	debug.FreeOSMemory() // memory used for creating the files does not count
	before := memory(t, "VmRSS")
	// proc_pid_clear_refs(5): the peak starts anew
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	b.ok(ReadFile(), object{"file_path": "huge", "offset": sparseLines - 9, "limit": 10})
	line := b.ok(ReadFile(), object{"file_path": "to the end", "offset": sparseLines + 1})
	if rest := size - int64(len(counted(sparseLines))) - shownOfDense; !strings.Contains(line,
		fmt.Sprintf("goes on for %d more bytes", rest)) {
		t.Errorf("the line does not say that it goes on for %d bytes: %q", rest, line[max(len(line)-200, 0):])
	}
	b.fails(ReadFile(), object{"file_path": "to the end", "offset": sparseLines + 2},
		fmt.Sprintf("%d lines", sparseLines+1))
	return memory(t, "VmHWM") - before
}

// memory returns a size from proc_pid_status(5), in bytes.
func memory(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kB int64
	_, at, found := strings.Cut(string(status), "\n"+name+":")
	if _, err := fmt.Sscan(at, &kB); !found || err != nil {
		t.Fatalf("%s: %v in %s", name, err, status)
	}
	return kB << 10
}

// A file is read from any line on without holding what is before it.
func TestD1_SparseFileFromAnOffset(t *testing.T) {
	b := newFixture(t)
	const size = 10 << 30
	sparse(b, "huge", size-5)
	f, err := os.OpenFile(filepath.Join(b.dir, "huge"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("last\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := b.env.Open(t.Context(), "huge")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	at, err := r.(io.Seeker).Seek(-7, io.SeekEnd)
	if err != nil || at != size-7 {
		t.Fatalf("Seek is at %d, %v", at, err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "\x00\x00last\n" {
		t.Errorf("read %q, %v", rest, err)
	}
	p := make([]byte, 4)
	if n, err := r.(io.ReaderAt).ReadAt(p, size-5); err != nil || string(p[:n]) != "last" {
		t.Errorf("ReadAt %q, %v", p[:n], err)
	}
	if info, err := b.env.Stat(t.Context(), "huge"); err != nil || info.Size != size || info.Mode&fs.ModeType != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

// BenchmarkC3_SkipLines measures, against BenchmarkC3_ReadAlone, what counting lines adds to
// reading.
func BenchmarkC3_SkipLines(b *testing.B) {
	benchmarkReading(b, func(r *bufio.Reader) error {
		_, err := skipLines(b.Context(), r, 1<<40)
		return err
	})
}

func BenchmarkC3_ReadAlone(b *testing.B) {
	benchmarkReading(b, func(r *bufio.Reader) error {
		for {
			if _, err := r.Peek(1); err != nil {
				if isEOF(err) {
					err = nil
				}
				return err
			}
			if _, err := r.Discard(r.Buffered()); err != nil {
				return err
			}
		}
	})
}

// benchmarkReading reads 256 MiB of short lines from a file.
func benchmarkReading(b *testing.B, read func(*bufio.Reader) error) {
	in := newFixture(b)
	const size = 256 << 20
	in.put("lines", strings.Repeat("a line of a usual length, more or less\n", size/39))
	b.SetBytes(size)
	for b.Loop() {
		f, err := in.env.Open(b.Context(), "lines")
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(read(bufio.NewReaderSize(f, readBuffer)), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
