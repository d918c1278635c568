//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// cost holds what a process used.
type cost struct {
	cpu time.Duration
	rss int64 // the maximum, in bytes
}

// costOf runs a command and returns its cost.
func costOf(t testing.TB, cmd *exec.Cmd) cost {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("this system does not report resource usage")
	}
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), maxRSS(usage)}
}

// maxRSS returns the maximum resident memory of a process in bytes. Linux reports kilobytes.
func maxRSS(u *syscall.Rusage) int64 {
	if runtime.GOOS == "linux" {
		return u.Maxrss << 10
	}
	return u.Maxrss
}

// cpuTime returns the processor time of this process and of the children that it has waited for.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// minimum repeats a measurement and returns the lowest values, because noise only adds to them.
func minimum(n int, measure func() cost) cost {
	best := measure()
	for range n - 1 {
		c := measure()
		best = cost{min(best.cpu, c.cpu), min(best.rss, c.rss)}
	}
	return best
}

// buildCommand builds the command as users do, without the race detector, and returns its path.
func buildCommand(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "attractor")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/attractor").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// measureRuns runs the command n times against a model with these turns and returns the lowest
// cost. The sessions have journals. Standard output is /dev/null.
func measureRuns(t testing.TB, n int, bin string, turns []fakellm.Turn, args ...string) cost {
	t.Helper()
	url, _ := serve(t, nil, turns...)
	return minimum(n, func() cost { return costOf(t, session(t, bin, url, t.TempDir(), args...)) })
}

// session returns the command that runs a session in a directory. It has a home of its own.
func session(t testing.TB, bin, url, dir string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(bin, append([]string{"run", "--yes", "--dir", dir, "--base-url", url, "go"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "ANTHROPIC_API_KEY=key-of-a-test"}
	return cmd
}

// shellRounds returns n turns that each run a shell command, and a final answer.
func shellRounds(n int) []fakellm.Turn {
	var turns []fakellm.Turn
	for i := range n {
		turns = append(turns, say("", use("shell", map[string]any{"command": fmt.Sprintf("echo %d", i)})))
	}
	return append(turns, say("done"))
}

// BenchmarkH_ToolRound reports the processor time that each round with one shell command adds, also
// as a multiple of running bash -c through os/exec.
func BenchmarkH_ToolRound(b *testing.B) {
	const rounds = 40
	bin := buildCommand(b)
	for b.Loop() {
		bare := minimum(3, func() cost {
			before := cpuTime(b)
			for i := range rounds {
				costOf(b, exec.Command("bash", "-c", fmt.Sprintf("echo %d", i)))
			}
			return cost{cpu: cpuTime(b) - before}
		}).cpu / rounds
		round := (measureRuns(b, 3, bin, shellRounds(rounds+1)).cpu - measureRuns(b, 3, bin,
			shellRounds(1)).cpu) / rounds
		b.ReportMetric(float64(round.Microseconds()), "cpu-µs/round")
		b.ReportMetric(float64(round)/float64(bare), "x-bash")
	}
}

// BenchmarkH_Delta reports the processor time that each text delta of three words adds.
func BenchmarkH_Delta(b *testing.B) {
	const few, many = 1_000, 20_000
	bin := buildCommand(b)
	text := func(n int) []fakellm.Turn { return []fakellm.Turn{say(strings.Repeat("a word too ", n))} }
	for b.Loop() {
		delta := (measureRuns(b, 3, bin, text(many), "--json").cpu - measureRuns(b, 3, bin, text(few),
			"--json").cpu) / (many - few)
		b.ReportMetric(float64(delta.Nanoseconds())/1e3, "cpu-µs/delta")
	}
}
