//go:build unix

package env_test

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

// cpu returns the processor time used by this process and the children it has waited for.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var total int64
	for _, who := range [...]int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		total += u.Utime.Nano() + u.Stime.Nano()
	}
	return time.Duration(total)
}

// contender is one of the ways that a benchmark compares.
type contender struct {
	name string // of its metric; empty for the first
	run  func(b *testing.B)
	used []time.Duration
}

// compare runs the contenders in turns, so that other load on the machine affects all of them. It
// reports the median processor time of the first, and each other one's median ratio to it.
func compare(b *testing.B, contenders ...*contender) {
	b.Helper()
	for b.Loop() {
		for _, c := range contenders {
			before := cpu(b)
			c.run(b)
			c.used = append(c.used, cpu(b)-before)
		}
	}
	median := func(c *contender) float64 {
		slices.Sort(c.used)
		return float64(c.used[len(c.used)/2])
	}
	base := median(contenders[0])
	b.ReportMetric(base/float64(time.Millisecond), "base-cpu-ms")
	for _, c := range contenders[1:] {
		b.ReportMetric(median(c)/base, c.name)
	}
	b.ReportMetric(0, "ns/op") // the wall time of all together means nothing
}

// local returns a contender that runs a command in an environment.
func local(name string, l *env.Local, script string, output func() func(int, []byte)) *contender {
	return &contender{name: name, run: func(b *testing.B) {
		result, err := env.Run(b.Context(), l, env.Command{Script: script, Output: output()}, env.MaxTimeout)
		if err != nil || result.Code != 0 || result.TimedOut {
			b.Fatalf("%+v, %v", result, err)
		}
	}}
}

// BenchmarkShell compares a command with os/exec alone at each level of containment. The ratio must
// not exceed 1.8 with one namespace for all commands, 4 with a namespace each, and 2.5 otherwise.
func BenchmarkShell(b *testing.B) {
	const script = "echo out; echo err >&2"
	for _, level := range []string{env.ContainCgroupPIDNS, env.ContainPIDNS, env.ContainCgroup, env.ContainGroup} {
		b.Run(level, func(b *testing.B) {
			l, err := env.NewLocal(b.TempDir(), env.LocalOptions{Containment: level})
			if err != nil {
				b.Skipf("%s is not reachable here: %v", level, err)
			}
			b.Cleanup(func() {
				if err := l.Close(); err != nil {
					b.Error(err)
				}
			})
			bare := &contender{run: func(b *testing.B) {
				cmd := exec.Command(l.Platform().Shell, "-c", script)
				cmd.Dir = l.WorkDir()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}}
			compare(b, bare, local("ratio", l, script, captured))
		})
	}
}

// captured returns the usual Output of a command.
func captured() func(int, []byte) { return new(capture.Buffer).Write }

// BenchmarkCapture compares capturing a gigabyte with an Output that does nothing, and with none.
func BenchmarkCapture(b *testing.B) {
	const size = 1 << 30
	l := newLocal(b, b.TempDir(), env.LocalOptions{})
	for _, kind := range []struct{ name, producer string }{
		{"zeros", "head -c %d /dev/zero"},
		{"ascii", "yes 'the quick brown fox jumps over the lazy dog' | head -c %d"},
		{"cyrillic", "yes 'съешь ещё этих мягких французских булок' | head -c %d"},
		{"noise", "head -c %d /dev/urandom"},
	} {
		script := fmt.Sprintf(kind.producer, size)
		b.Run(kind.name, func(b *testing.B) {
			compare(b,
				local("", l, script, func() func(int, []byte) { return func(int, []byte) {} }),
				local("ratio", l, script, captured),
				local("ratio-of-none", l, script, func() func(int, []byte) { return nil }),
			)
		})
	}
}
