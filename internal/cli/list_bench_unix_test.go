//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
)

// BenchmarkK6_List reports the processor time of listing 5,000 sessions, of one round and of a
// hundred rounds each, as a person and as a program see them, and beside it the time of a command
// that does nothing.
func BenchmarkK6_List(b *testing.B) {
	const sessions = 5000
	bin := buildCommand(b)
	for _, rounds := range []int{1, 100} {
		state := b.TempDir()
		dir := filepath.Join(state, "attractor", "sessions")
		if err := longsession.Write(context.Background(), journal.NewDir(dir), "0", rounds); err != nil {
			b.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "0.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		for i := 1; i < sessions; i++ {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), text, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		run := func(args ...string) time.Duration {
			cmd := exec.Command(bin, args...)
			cmd.Env = []string{"HOME=" + state, "XDG_STATE_HOME=" + state}
			return costOf(b, cmd).cpu
		}
		for name, args := range map[string][]string{"text": {"sessions", "list"},
			"json": {"sessions", "list", "--json"}} {
			b.Run(fmt.Sprintf("%d/%s", rounds, name), func(b *testing.B) {
				best, nothing := time.Hour, time.Hour
				for b.Loop() {
					best, nothing = min(best, run(args...)), min(nothing, run("version"))
				}
				b.ReportMetric(float64(best.Microseconds())/1e3, "cpu-ms")
				b.ReportMetric(float64(nothing.Microseconds())/1e3, "version-cpu-ms")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
