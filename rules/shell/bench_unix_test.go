//go:build unix

package shell_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules/shell"
)

// BenchmarkL1_ParseAndJudge reports the processor time of parsing and judging a script of 200
// characters, also as a multiple of what the parser alone takes.
func BenchmarkL1_ParseAndJudge(b *testing.B) {
	const script = `cd internal/service && grep -rn --include='*.go' "func Test" . | sort -t: -k1,1 | head -n 50; sed -n '1,120p' server/main.go | wc -l && ls -la "some dir" ../other 2>/dev/null || echo "not found: $?"`
	if n := len(script); n < 195 || n > 205 {
		b.Fatalf("the script has %d characters", n)
	}
	dir := b.TempDir()
	e, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	}()
	m := shell.Machine{Env: e, Home: "/home/u"}
	var ours, parser time.Duration
	b.ReportAllocs()
	for b.Loop() {
		before := used(b)
		for range 100 {
			s := shell.Parse(script, shell.Place{Dir: dir, Home: "/home/u"})
			if s.Unclear != "" || len(s.Commands) != 12 {
				b.Fatalf("%+v", s)
			}
			for _, c := range s.Commands {
				if _, why := shell.Reading(b.Context(), m, c); why != "" {
					b.Fatal(why)
				}
			}
		}
		ours += used(b) - before
		before = used(b)
		for range 100 {
			if _, err := syntax.NewParser().Parse(strings.NewReader(script), ""); err != nil {
				b.Fatal(err)
			}
		}
		parser += used(b) - before
	}
	b.ReportMetric(float64(ours.Nanoseconds())/1e3/float64(b.N)/100, "cpu-µs/script")
	b.ReportMetric(float64(ours)/float64(parser), "x-parser")
}

// used returns the processor time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
