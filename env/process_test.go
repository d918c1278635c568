//go:build unix

package env_test

import (
	"bytes"
	"context"
	"errors"
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

// watched collects output and lets a test wait for some of it.
type watched struct {
	mu   sync.Mutex
	cond *sync.Cond
	text string
}

func watch() *watched {
	w := &watched{}
	w.cond = sync.NewCond(&w.mu)
	return w
}

func (w *watched) Write(_ int, p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += string(p)
	w.cond.Broadcast()
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}

// until waits for a text and returns all that came so far.
func (w *watched) until(t *testing.T, part string) string {
	t.Helper()
	stop := context.AfterFunc(t.Context(), w.cond.Broadcast)
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !strings.Contains(w.text, part) {
		if t.Context().Err() != nil {
			t.Fatalf("%q never came, only %q", part, w.text)
		}
		w.cond.Wait()
	}
	return w.text
}

func start(t *testing.T, e env.Environment, cmd env.Command) env.Process {
	t.Helper()
	p, err := e.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wait(t *testing.T, p env.Process) env.Exit {
	t.Helper()
	exit, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// pidAfter finds the number that follows a label in a text.
func pidAfter(t *testing.T, text, label string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, label)
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	if err != nil {
		t.Fatalf("no number after %q in %q", label, text)
	}
	return pid
}

// runs reports whether a process is there and no zombie.
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

func TestD3_OwnProcessGroupAndBash(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	out := watch()
	wait(t, start(t, l, env.Command{Script: `echo "pid $$"; ps -o pgid= -p $$; echo "shell $BASH_VERSION"`, Output: out.Write}))
	lines := strings.Fields(out.String())
	if len(lines) < 4 || lines[1] != lines[2] {
		t.Errorf("process and group differ: %q", out)
	}
	if filepath.Base(l.Platform().Shell) == "bash" && len(lines) < 5 {
		t.Errorf("the shell is not bash: %q", out)
	}
}

func TestD4_TermThenKill(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	out := watch()
	p := start(t, l, env.Command{
		// The child ignores TERM too, and the shell says when it got its own.
		Script: `trap 'echo TERM' TERM; (trap '' TERM; echo "child $BASHPID"; while :; do sleep 0.01; done) & echo "ready"; while :; do wait; done`,
		Output: out.Write,
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
	if limit := testGrace + 500*time.Millisecond; took > limit {
		t.Errorf("Kill was back after %v, want %v", took, limit)
	}
	exit := wait(t, p)
	if exit.Signal != "SIGKILL" || exit.Code != -1 || len(exit.Left) != 0 {
		t.Errorf("it ended with %+v", exit)
	}
	if !strings.Contains(out.String(), "TERM\n") {
		t.Errorf("TERM did not come first: %q", out)
	}
	if runs(t, child) {
		t.Errorf("process %d survived", child)
	}
}

func TestD4_TermIsEnough(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: time.Hour})
	out := watch()
	p := start(t, l, env.Command{Script: `trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done`, Output: out.Write})
	out.until(t, "ready")
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 9 || exit.Signal != "" {
		t.Errorf("it ended with %+v", exit)
	}
	if !strings.Contains(out.String(), "bye\n") {
		t.Errorf("the last words are missing: %q", out)
	}
}

// A process that left the group keeps the pipes; the kill must come back all the same. That it survives is what containment
// "group" means; the test ends it.
func TestD4_KillIsBackThoughSomethingHoldsThePipe(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skipf("no setsid here: %v", err)
	}
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: -1})
	out := watch()
	p := start(t, l, env.Command{Script: `setsid bash -c 'echo "away $$"; exec sleep 1000' & sleep 1000`, Output: out.Write})
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
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("Kill was back after %v", took)
	}
	if exit := wait(t, p); exit.Signal == "" {
		t.Errorf("it ended with %+v", exit)
	}
}

func TestC7_LeftRunning(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	out := watch()
	p := start(t, l, env.Command{Script: `echo start; (while :; do echo tick; sleep 0.01; done) & echo "left $!"`, Output: out.Write})
	began := time.Now()
	exit := wait(t, p)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Wait took %v with a background process", took)
	}
	after := out.String()
	pid := pidAfter(t, after, "left ")
	if exit.Code != 0 || len(exit.Left) == 0 || !strings.HasPrefix(exit.Left[0], strconv.Itoa(pid)+" ") {
		t.Errorf("%d is not named in %+v", pid, exit)
	}
	if !runs(t, pid) {
		t.Errorf("process %d did not go on", pid)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runs(t, pid) {
		t.Errorf("process %d survived Kill", pid)
	}
	if out.String() != after {
		t.Error("output came after Wait had returned")
	}
}

// What is left prints more than a pipe holds. It must neither stop nor get SIGPIPE.
func TestC7_LeftOutputIsDropped(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, dir, env.LocalOptions{})
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "done"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, l, env.Command{Script: `(read x <go; head -c 300000 /dev/zero; echo "ended $?" >done) &`, Output: func(int, []byte) {}})
	if exit := wait(t, p); len(exit.Left) == 0 {
		t.Errorf("nothing is left of %+v", exit)
	}
	write(t, filepath.Join(dir, "go"), "\n")
	if got := readFile(t, filepath.Join(dir, "done")); got != "ended 0\n" {
		t.Errorf("it %s", got)
	}
}

func TestC7_LeftDiesAtClose(t *testing.T) {
	l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: testGrace})
	if err != nil {
		t.Fatal(err)
	}
	out := watch()
	p := start(t, l, env.Command{
		// It says when it is itself and no copy of the shell, holds no pipe, and the shell ends when it is told.
		Script: `sh -c 'echo "left $$"; exec >/dev/null 2>&1; while :; do sleep 0.1; done' "a
name" & read x`,
		Stdin: true, Output: out.Write,
	})
	pid := pidAfter(t, out.until(t, "\n"), "left ")
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	exit := wait(t, p)
	if len(exit.Left) == 0 || exit.Left[0] != strconv.Itoa(pid)+` sh -c echo "left $$"; exec >/dev/null 2>&1; while :; do sleep 0.1; done a name` {
		t.Errorf("left is %q", exit.Left)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if runs(t, pid) {
		t.Errorf("process %d survived Close", pid)
	}
}

func TestD4_ManyKillsAtOnce(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: -1})
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

func TestD3_StartErrorsAreClear(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "x")
	l := newLocal(t, dir, env.LocalOptions{})
	for name, c := range map[string]struct {
		cmd  env.Command
		says string
	}{
		"dir is a file": {env.Command{Script: "true", Dir: "f"}, "not a directory"},
		"dir missing":   {env.Command{Script: "true", Dir: "gone"}, "no such file"},
		"NUL in script": {env.Command{Script: "echo \x00"}, "invalid argument"},
		"endless":       {env.Command{Script: strings.Repeat("#", 1<<22)}, "argument list too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Start(t.Context(), c.cmd)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestD3_StdinAfterTheEnd(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	p := start(t, l, env.Command{Script: "exit 0", Stdin: true})
	wait(t, p)
	if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write: %v", err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A writer that waits for a process which does not read must be freed by its end.
func TestD3_StdinOfOneWhoDoesNotRead(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: -1})
	p := start(t, l, env.Command{Script: "sleep 1000", Stdin: true})
	wrote := make(chan error)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20))
		wrote <- err
	}()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err == nil {
		t.Error("a megabyte was written to nobody")
	}
}

func TestC7_NoDescriptorIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/fd")
	}
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: -1})
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	wait(t, start(t, l, env.Command{Script: "true"}))
	before := count()
	for i := range 20 {
		cmd := env.Command{Script: "true", Stdin: i%2 == 0}
		if i%5 == 0 {
			cmd = env.Command{Script: "cat", TTY: &env.Size{Rows: 24, Cols: 80}}
		}
		p := start(t, l, cmd)
		if cmd.TTY == nil {
			wait(t, p)
		}
		if err := p.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Start(t.Context(), env.Command{Script: "\x00", Stdin: true}); err == nil {
			t.Fatal("it started")
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestD4_KillNowDoesNotWait(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: time.Hour})
	out := watch()
	p := start(t, l, env.Command{Script: `trap '' TERM; sleep 1000 & echo "child $!"; wait`, Output: out.Write})
	child := pidAfter(t, out.until(t, "\n"), "child ")
	if err := l.KillNow(); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Signal != "SIGKILL" {
		t.Errorf("it ended with %+v", exit)
	}
	if err := l.Close(); err != nil { // not an hour later
		t.Error(err)
	}
	if runs(t, child) {
		t.Errorf("process %d survived", child)
	}
}
