//go:build unix

package env_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// newTag returns an environment entry by which a test finds its command's processes.
func newTag() string { return "SURVIVOR=" + rand.Text() }

// runs reports whether a process exists and is not a zombie.
func runs(t *testing.T, pid int) bool {
	t.Helper()
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) {
		return runtime.GOOS != "linux"
	}
	return err == nil && !strings.Contains(string(stat[bytes.LastIndexByte(stat, ')'):]), " Z ")
}

var killTimed = flag.Bool("kill.timed", false,
	"hold Kill to its time, half a second after the grace time: for a machine with nothing else to do")

// inTime fails the test if Kill took too long, on machines where that can be expected.
func inTime(t *testing.T, took, grace time.Duration) {
	t.Helper()
	if limit := grace + 500*time.Millisecond; *killTimed && took > limit {
		t.Errorf("Kill returned after %v, want at most %v", took, limit)
	}
}

func TestD4_TermThenKill(t *testing.T) { atLevels(t, termThenKill) }

func termThenKill(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	out, tag := watch(), newTag()
	p := start(t, l, env.Command{
		// The child ignores TERM too, and the shell prints when it receives it.
		Script: `trap 'echo TERM' TERM; (trap '' TERM; echo "child $BASHPID"; while :; do sleep 0.01; done) & echo "ready"; while :; do wait; done`,
		Env:    []string{tag}, Output: out.Write,
	})
	out.until(t, "ready")
	child := pidAfter(t, out.until(t, "child "), "child ")
	began := time.Now()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if took < testGrace {
		t.Errorf("KILL came after %v, before the grace time was over", took)
	}
	inTime(t, took, testGrace)
	exit := wait(t, p)
	if exit.Signal != "SIGKILL" || exit.Code != -1 || len(exit.Left) != 0 {
		t.Errorf("exit is %+v", exit)
	}
	if !strings.Contains(out.String(), "TERM\n") {
		t.Errorf("TERM was not sent first: %q", out)
	}
	if left := survivors(t, tag, child); len(left) > 0 {
		t.Errorf("process %d survived: %q", child, left)
	}
}

func TestD4_TermIsEnough(t *testing.T) { atLevels(t, termIsEnough) }

func termIsEnough(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Grace: time.Hour})
	out := watch()
	p := start(t, l, env.Command{Script: `trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done`,
		Output: out.Write})
	out.until(t, "ready")
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 9 || exit.Signal != "" {
		t.Errorf("exit is %+v", exit)
	}
	if !strings.Contains(out.String(), "bye\n") {
		t.Errorf("the last output is missing: %q", out)
	}
}

func TestD4_KillReturnsThoughAPipeIsHeld(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skipf("no setsid here: %v", err)
	}
	// This level does not find a process that clears its environment and leaves the group, so it
	// stands for one that cannot be killed.
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: -1, Containment: env.ContainGroup})
	out := watch()
	wait(t, start(t, l, env.Command{Script: "true"}))
	before := descriptors(t)
	p := start(t, l, env.Command{Script: `env -i setsid bash -c 'echo "away $$"; exec sleep 1000' & sleep 1000`,
		Output: out.Write})
	away := pidAfter(t, out.until(t, "away "), "away ")
	defer func() {
		if err := syscall.Kill(away, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	inTime(t, time.Since(began), 0)
	if exit := wait(t, p); exit.Signal == "" {
		t.Errorf("exit is %+v", exit)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after: the pipe is still read", before, after)
	}
}

func TestC7_LeftRunning(t *testing.T) { atLevels(t, leftRunning) }

func leftRunning(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	out, tag := watch(), newTag()
	script := `echo start; (while :; do echo tick; sleep 0.01; done) & echo "left $!"`
	p := start(t, l, env.Command{Script: script, Env: []string{tag}, Output: out.Write})
	exit := wait(t, p)
	after := out.String()
	pid := pidAfter(t, after, "left ")
	if exit.Code != 0 || len(exit.Left) == 0 || !strings.HasPrefix(exit.Left[0], strconv.Itoa(pid)+" ") {
		t.Errorf("Left does not list %d: %+v", pid, exit)
	}
	if len(survivors(t, tag, pid)) == 0 {
		t.Errorf("process %d did not continue", pid)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := survivors(t, tag, pid); len(left) > 0 {
		t.Errorf("process %d survived Kill: %q", pid, left)
	}
	if out.String() != after {
		t.Error("output came after Wait had returned")
	}
}

func TestC7_LeftOutputIsDropped(t *testing.T) { atLevels(t, leftOutputIsDropped) }

func leftOutputIsDropped(t *testing.T, level string) {
	dir := t.TempDir()
	l := newLocal(t, dir, env.LocalOptions{Containment: level})
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "done"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, l, env.Command{Script: `(read x <go; head -c 300000 /dev/zero; echo "ended $?" >done) &`,
		Output: func(int, []byte) {}})
	if exit := wait(t, p); len(exit.Left) == 0 {
		t.Errorf("Left is empty in %+v", exit)
	}
	write(t, filepath.Join(dir, "go"), "\n")
	if got := readFile(t, filepath.Join(dir, "done")); got != "ended 0\n" {
		t.Errorf("it %s", got)
	}
}

func TestC7_LeftDiesAtClose(t *testing.T) { atLevels(t, leftDiesAtClose) }

func leftDiesAtClose(t *testing.T, level string) {
	l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: level, Grace: testGrace})
	if err != nil {
		t.Fatal(err)
	}
	out, tag := watch(), newTag()
	p := start(t, l, env.Command{
		// The child prints once it is no longer a copy of the shell, and holds no pipe. The shell
		// ends on request.
		Script: `sh -c 'echo "left $$"; exec >/dev/null 2>&1; while :; do sleep 0.1; done' "a
name" & read x`,
		Env: []string{tag}, Stdin: true, Output: out.Write,
	})
	pid := pidAfter(t, out.until(t, "\n"), "left ")
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	exit := wait(t, p)
	if len(exit.Left) == 0 ||
		exit.Left[0] != strconv.Itoa(pid)+
			` sh -c echo "left $$"; exec >/dev/null 2>&1; while :; do sleep 0.1; done a name` {
		t.Errorf("Left is %q", exit.Left)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left := survivors(t, tag, pid); len(left) > 0 {
		t.Errorf("process %d survived Close: %q", pid, left)
	}
}

func TestD4_ManyKillsAtOnce(t *testing.T) { atLevels(t, manyKillsAtOnce) }

func manyKillsAtOnce(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Grace: -1})
	p := start(t, l, env.Command{Script: "sleep 1000"})
	gone := errors.New("gone")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Kill(t.Context()); err != nil {
				t.Errorf("Kill: %v", err)
			}
		})
	}
	if err := p.Kill(ended); err != nil && !errors.Is(err, gone) {
		t.Errorf("Kill with an ended context: %v", err)
	}
	wg.Wait()
}

func TestD4_KillNowDoesNotWait(t *testing.T) { atLevels(t, killNowDoesNotWait) }

func killNowDoesNotWait(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Grace: time.Hour})
	out, tag := watch(), newTag()
	p := start(t, l, env.Command{Script: `trap '' TERM; sleep 1000 & echo "child $!"; wait`, Env: []string{tag},
		Output: out.Write})
	child := pidAfter(t, out.until(t, "\n"), "child ")
	if err := l.KillNow(); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Signal != "SIGKILL" {
		t.Errorf("exit is %+v", exit)
	}
	if err := l.Close(); err != nil { // instead of after an hour
		t.Error(err)
	}
	if left := survivors(t, tag, child); len(left) > 0 {
		t.Errorf("process %d survived: %q", child, left)
	}
}

// What a kill has left, because a busy machine took longer to end it than a kill waits, is no error
// of Close if it has ended by then.
func TestD4_CloseLooksAgain(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Grace: 1})
		env.SetSettle(l, 0)
		for range 5 {
			out := watch()
			p := start(t, l, env.Command{Script: `trap '' TERM; echo ready; sleep 1000; :`, Output: out.Write})
			out.until(t, "ready")
			if err := p.Kill(t.Context()); err != nil && !strings.Contains(err.Error(), "still running after SIGKILL") {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
