//go:build unix

package env_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
)

// watched collects output and lets a test wait for a part of it.
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

// until waits for a text and returns all output so far.
func (w *watched) until(t *testing.T, part string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	stop := context.AfterFunc(ctx, w.cond.Broadcast)
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !strings.Contains(w.text, part) {
		if ctx.Err() != nil {
			t.Fatalf("%q never arrived, only %q", part, w.text)
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

// pidAfter returns the process id after a label in a text.
func pidAfter(t *testing.T, text, label string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, label)
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	if err != nil {
		t.Fatalf("no number after %q in %q", label, text)
	}
	return pid
}

func TestD3_OwnProcessGroupAndBash(t *testing.T) { atLevels(t, ownProcessGroupAndBash) }

func ownProcessGroupAndBash(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	out := watch()
	wait(t, start(t, l, env.Command{Script: `echo "pid $$"; ps -o pgid= -p $$; echo "shell $BASH_VERSION"`,
		Output: out.Write}))
	lines := strings.Fields(out.String())
	if len(lines) < 4 || lines[1] != lines[2] {
		t.Errorf("process and group differ: %q", out)
	}
	if filepath.Base(l.Platform().Shell) == "bash" && len(lines) < 5 {
		t.Errorf("the shell is not bash: %q", out)
	}
}

func TestD3_StartErrorsAreClear(t *testing.T) { atLevels(t, startErrorsAreClear) }

func startErrorsAreClear(t *testing.T, level string) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "x")
	l := newLocal(t, dir, env.LocalOptions{Containment: level})
	for name, c := range map[string]struct {
		cmd  env.Command
		says string
	}{
		"dir is a file": {env.Command{Script: "true", Dir: "f"}, "not a directory"},
		"dir missing":   {env.Command{Script: "true", Dir: "gone"}, "no such file"},
		"NUL in script": {env.Command{Script: "echo \x00"}, "NUL byte"},
		"endless":       {env.Command{Script: strings.Repeat("#", 1<<22)}, "write it to a file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Start(t.Context(), c.cmd)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that contains %q", err, c.says)
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

// A writer that waits for a process that does not read is released when the process ends.
func TestD3_StdinWithoutReader(t *testing.T) {
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
		t.Error("a write of a megabyte without a reader succeeded")
	}
}

// descriptors returns the number of this process's open files, or skips the test if it is unknown.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs /proc/self/fd")
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestC7_NoDescriptorIsLeft(t *testing.T) { atLevels(t, noDescriptorIsLeft) }

func noDescriptorIsLeft(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Grace: -1})
	wait(t, start(t, l, env.Command{Script: "true"}))
	before := descriptors(t)
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
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// Of lines printed to both streams as fast as possible, the first arrives first. Without an order
// of arrival, every second run fails.
func TestD3_ArrivalOrderOfABurst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("two pipes are read without an order here, see order_other.go")
	}
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	for script, want := range map[string]string{"echo a >&2; echo b": "a\nb\n", "echo a; echo b >&2": "a\nb\n"} {
		for range 50 {
			out := watch()
			wait(t, start(t, l, env.Command{Script: script, Output: out.Write}))
			if out.String() != want {
				t.Fatalf("%s: %q", script, out)
			}
		}
	}
}

func TestD3_OneStreamEndsBeforeTheOther(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	out := watch()
	p := start(t, l, env.Command{Script: `exec >&-; echo 1 >&2; read x; echo 2 >&2; read x`, Stdin: true,
		Output: out.Write})
	out.until(t, "1\n") // the end of the other stream came before
	if _, err := p.Stdin().Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	out.until(t, "2\n")
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
}
