package env_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// BenchmarkD4_Command runs an empty command at each level, and one without containment and output.
// cpu-µs/op is the time used by this process and its children.
func BenchmarkD4_Command(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		before := cpuTime(b)
		for b.Loop() {
			if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	})
	for _, level := range []string{env.ContainGroup, env.ContainCgroup, env.ContainPIDNS, env.ContainCgroupPIDNS} {
		b.Run(level, func(b *testing.B) {
			l, err := env.NewLocal(b.TempDir(), env.LocalOptions{Containment: level})
			if err != nil {
				b.Skipf("%s is not reachable here: %v", level, err)
			}
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				if result, err := env.Run(b.Context(), l, env.Command{Script: "true"}, 0); err != nil ||
					result.Code != 0 {
					b.Fatal(result, err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			if err := l.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// cpuTime returns the processor time of this process and the children it has waited for.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
