//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
)

// BenchmarkK5_Show reports the processor time of the commands that print a whole session, and its
// ratio to a pass of encoding/json over the journal. Both are the lowest of several runs, which
// alternate. The first number is that of the rounds.
func BenchmarkK5_Show(b *testing.B) {
	bin := buildCommand(b)
	for _, rounds := range []int{2500, 10_000} {
		state := b.TempDir()
		dir := filepath.Join(state, "attractor", "sessions")
		if err := longsession.Write(context.Background(), journal.NewDir(dir), "long", rounds); err != nil {
			b.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "long.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"show", "export", "events"} {
			b.Run(fmt.Sprintf("%d/%s", rounds, name), func(b *testing.B) {
				best, pass := time.Hour, time.Hour
				for b.Loop() {
					cmd := exec.Command(bin, "sessions", name, "long")
					cmd.Env = []string{"HOME=" + state, "XDG_STATE_HOME=" + state}
					best, pass = min(best, costOf(b, cmd).cpu), min(pass, passOver(b, text))
				}
				b.ReportMetric(float64(best.Microseconds())/1e3, "cpu-ms")
				b.ReportMetric(float64(best)/float64(pass), "x-json")
				b.ReportMetric(0, "ns/op") // it has the pass, too
			})
		}
	}
}

// passOver returns the processor time of decoding each line with encoding/json.
func passOver(b *testing.B, text []byte) time.Duration {
	before := processor(b)
	for line := range bytes.Lines(text) {
		var l struct {
			N    int64     `json:"n"`
			Time time.Time `json:"t"`
			Kind string    `json:"k"`
			Data any       `json:"d"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			b.Fatal(err)
		}
	}
	return processor(b) - before
}

// processor returns the processor time of this process.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
