//go:build unix

package cli

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
)

// BenchmarkK2_TextTurn reports the processor time of short sessions with all their processes, and
// its ratio to that of a bare loop over net/http that gets the same answers. The repository is a
// clone of this one. The programs run by turns, and the lowest time of each counts. The goals are
// for sessions with one text; the last session runs one command first. All sessions but those named
// first have a home that was used before, as a user's are: the first session in a home makes its
// directories.
func BenchmarkK2_TextTurn(b *testing.B) {
	bin, loop := installed(b, buildCommand(b)), installed(b, buildLoop(b))
	repository := filepath.Join(b.TempDir(), "repository")
	if out, err := exec.Command(peer.Need(b, "git"), "clone", "-q", "../..", repository).CombinedOutput(); err != nil {
		b.Fatalf("git clone: %v\n%s", err, out)
	}
	for _, c := range []struct {
		name, dir string
		commands  int
		fresh     bool    // the home
		goal      float64 // 0 means none
	}{
		{"outside", b.TempDir(), 0, false, 1.6}, {"inside", repository, 0, false, 2.5},
		{"command", b.TempDir(), 1, false, 0}, {"first", b.TempDir(), 0, true, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			url, _ := serve(b, nil, shellRounds(c.commands)...)
			own, bare := cost{cpu: time.Hour, rss: 1 << 60}, time.Hour
			used := session(b, bin, url, c.dir)
			costOf(b, used)
			for b.Loop() {
				for range 20 {
					again := session(b, bin, url, c.dir)
					if !c.fresh {
						again.Env = used.Env
					}
					turn := costOf(b, again)
					own = cost{min(own.cpu, turn.cpu), min(own.rss, turn.rss)}
					bare = min(bare, costOf(b, exec.Command(loop, url, "go")).cpu)
				}
			}
			b.ReportMetric(float64(own.cpu.Microseconds())/1e3, "cpu-ms")
			b.ReportMetric(float64(own.rss)/(1<<20), "MB")
			b.ReportMetric(float64(own.cpu)/float64(bare), "x-loop")
			if c.goal > 0 {
				b.ReportMetric(c.goal, "goal-x-loop")
			}
		})
	}
}

// buildLoop builds the bare loop of the module bench and returns its path.
func buildLoop(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "loop")
	if out, err := exec.Command("go", "build", "-o", bin,
		"../../bench/programs/loop/main.go").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}
