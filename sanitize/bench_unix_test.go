//go:build unix

package sanitize

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func BenchmarkClean(b *testing.B) {
	const size = 1 << 20
	for _, bench := range []struct{ name, unit string }{
		{"ascii", "go: downloading example.org/some/module v1.2.3 (cached)\n"},
		{"chinese", "漢字かな交じり文、それは日本語である。\n"},
		{"coloured", "\x1b[1;32mok\x1b[0m   example.org/some/module\t\x1b[2m0.012s\x1b[0m\n"},
		{"progress", "\r 50% [=====>     ] 12 MB/s"},
	} {
		data := []byte(strings.Repeat(bench.unit, size/len(bench.unit)+1)[:size])
		b.Run(bench.name, func(b *testing.B) {
			var c Cleaner
			dst := make([]byte, 0, 2*size)
			b.SetBytes(size)
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				for p := range slices.Chunk(data, 32<<10) {
					dst = c.Append(dst[:0], p)
				}
			}
			used := cpuTime(b) - start
			b.ReportMetric(float64(b.N)*size/1e3/float64(used.Microseconds()+1), "GB/cpu-s")
		})
	}
}

// cpuTime returns the processor time, user and system, that the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
