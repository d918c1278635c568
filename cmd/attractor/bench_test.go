//go:build unix

package main

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

// The bounds of the command (requirements H). CPU time is that of the command and of all that it waited for, by getrusage.
const (
	maxTurnCPU   = 30 * time.Millisecond
	maxTurnRSS   = 32 << 20
	maxRoundCost = 2.5 // times a bare bash -c
	maxDeltaCPU  = 20 * time.Microsecond
)

// cost is what a process took.
type cost struct {
	cpu time.Duration
	rss int64 // the largest, in bytes
}

func costOf(t testing.TB, cmd *exec.Cmd) cost {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no getrusage here")
	}
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), bytesOf(usage)}
}

// bytesOf is the largest memory of a process: Linux counts in kilobytes.
func bytesOf(u *syscall.Rusage) int64 {
	if runtime.GOOS == "linux" {
		return u.Maxrss << 10
	}
	return u.Maxrss
}

// ownCPU is what this process and the children that it waited for have taken.
func ownCPU(t testing.TB) time.Duration {
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

// least repeats a measurement: noise only ever adds.
func least(n int, measure func() cost) cost {
	best := measure()
	for range n - 1 {
		c := measure()
		best = cost{min(best.cpu, c.cpu), min(best.rss, c.rss)}
	}
	return best
}

// built is the command as users build it, without the race detector.
func built(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "attractor")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// runs measures runs of the command, which keeps the session, against a model with these turns. Standard output is /dev/null.
func runs(t *testing.T, n int, bin string, turns []fakellm.Turn, args ...string) cost {
	t.Helper()
	url, _ := serve(t, nil, turns...)
	return least(n, func() cost {
		home := t.TempDir()
		cmd := exec.Command(bin, append([]string{"run", "--yes", "--dir", home, "--base-url", url, "go"}, args...)...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "ANTHROPIC_API_KEY=k"}
		return costOf(t, cmd)
	})
}

func shellRounds(n int) []fakellm.Turn {
	var turns []fakellm.Turn
	for i := range n {
		turns = append(turns, say("", use("shell", map[string]any{"command": fmt.Sprintf("echo %d", i)})))
	}
	return append(turns, say("done"))
}

// What the command costs stays within its bounds: a text turn, and what each further tool round and each further delta adds.
func TestH_Costs(t *testing.T) {
	bin := built(t)

	turn := runs(t, 5, bin, shellRounds(0))
	t.Logf("a text turn: %v of CPU, at most %.1f MB", turn.cpu, float64(turn.rss)/(1<<20))
	// The system counts what the starting process had in memory too, up to the exec: that of a test with the race detector is larger.
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	if turn.cpu > maxTurnCPU || turn.rss > max(maxTurnRSS, bytesOf(&own)) {
		t.Errorf("a text turn took %v and %d bytes, want at most %v and %d", turn.cpu, turn.rss, maxTurnCPU, maxTurnRSS)
	}

	const rounds = 40
	var alone time.Duration // without what it takes to start it
	bare := least(5, func() (all cost) {
		before := ownCPU(t)
		alone = 0
		for i := range rounds {
			alone += costOf(t, exec.Command("bash", "-c", fmt.Sprintf("echo %d", i))).cpu
		}
		return cost{cpu: ownCPU(t) - before}
	}).cpu / rounds
	round := (runs(t, 5, bin, shellRounds(rounds+1)).cpu - runs(t, 5, bin, shellRounds(1)).cpu) / rounds
	ratio := float64(round) / float64(bare)
	t.Logf("a tool round: %v of CPU, %.2f times bash -c started by os/exec (%v, of which bash itself %v)", round, ratio, bare, alone/rounds)
	if ratio > maxRoundCost {
		t.Errorf("a tool round takes %.2f times what bash -c does, want at most %v", ratio, maxRoundCost)
	}

	const few, many = 1_000, 20_000 // deltas, of three words each
	text := func(n int) []fakellm.Turn { return []fakellm.Turn{say(strings.Repeat("a word too ", n))} }
	delta := (runs(t, 3, bin, text(many), "--json").cpu - runs(t, 3, bin, text(few), "--json").cpu) / (many - few)
	t.Logf("a text delta: %v of CPU", delta)
	if delta > maxDeltaCPU {
		t.Errorf("a text delta takes %v, want at most %v", delta, maxDeltaCPU)
	}
}
