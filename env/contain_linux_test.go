package env_test

import (
	"bufio"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

var killRounds = flag.Int("kill.rounds", 2, "how often each shape of TestD4_NothingSurvives is killed at each level")

// shapes returns scripts whose processes escape from their parent in different ways. Each prints
// ready once it has done so.
func shapes() map[string]string {
	return map[string]string{
		"plain":       `echo ready; exec sleep 1000`,
		"background":  `sleep 1000 & sleep 1000 & echo ready; wait`,
		"setsid":      `setsid -f sleep 1000; setsid bash -c 'echo ready; sleep 1000; :' & wait`,
		"double fork": `( ( setsid sh -c 'echo ready; sleep 1000; :' & ) & ); sleep 1000`,
		"nohup":       `nohup setsid sleep 1000 >/dev/null 2>&1 & nohup sh -c 'echo ready; sleep 1000; :' & disown -a; sleep 1000`,
		"ignores TERM": `trap '' TERM; setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 0.05; done' &
			while :; do sleep 0.05; done`,
		"pipe held open": `setsid sleep 1000 & sh -c 'echo ready; exec setsid -w sleep 1000' | cat & cat /dev/fd/1 & exec sleep 1000`,
		// 127 processes, each in its own session, still being started when the kill comes.
		"fork storm": `export STORM='echo ready; trap "" TERM; if [ $1 -gt 0 ]; then
			setsid bash -c "$STORM" x $(($1-1)) & setsid bash -c "$STORM" x $(($1-1)) & fi; sleep 1000; :'
			bash -c "$STORM" x 6 & wait`,
	}
}

func TestD4_NothingSurvives(t *testing.T) {
	const grace = 50 * time.Millisecond
	atLevels(t, func(t *testing.T, level string) {
		for shape, script := range shapes() {
			t.Run(shape, func(t *testing.T) {
				l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: grace, Containment: level})
				var took []time.Duration
				for range max(*killRounds, 1) {
					last := killShape(t, l, script)
					inTime(t, last, grace)
					took = append(took, last)
				}
				slices.Sort(took)
				t.Logf("%d kills: median %v, slowest %v", len(took), took[(len(took)-1)/2], took[max(0, len(took)-3):])
			})
		}
	})
}

// killShape starts a command, kills it while it runs and returns how long that took.
func killShape(t *testing.T, l *env.Local, script string) time.Duration {
	t.Helper()
	id := newTag()
	out := watch()
	p := start(t, l, env.Command{Script: "cat /proc/self/cgroup; " + script, Env: []string{id}, Output: out.Write})
	out.until(t, "ready\n")
	began := time.Now()
	err := p.Kill(t.Context())
	took := time.Since(began)
	if left := withVar(t, id); err != nil || len(left) > 0 {
		t.Errorf("Kill returned %v; still running: %q", err, left)
	}
	if exit := wait(t, p); len(exit.Left) > 0 {
		t.Errorf("exit is %+v", exit)
	}
	noCgroup(t, out.String())
	return took
}

func TestD4_LeftInAnotherSessionIsNamedAndDiesAtClose(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: testGrace, Containment: level})
		if err != nil {
			t.Fatal(err)
		}
		id := newTag()
		out := watch()
		p := start(t, l, env.Command{
			Script: `cat /proc/self/cgroup; setsid sh -c 'echo "left $$"; exec sleep 1000 >/dev/null 2>&1' & read x`,
			Env:    []string{id}, Stdin: true, Output: out.Write,
		})
		pid := pidAfter(t, out.until(t, "left ")+"\n", "left ")
		if err := p.Stdin().Close(); err != nil {
			t.Fatal(err)
		}
		exit := wait(t, p)
		if exit.Code != 1 || len(exit.Left) != 1 || !strings.HasPrefix(exit.Left[0], strconv.Itoa(pid)+" ") {
			t.Errorf("Left does not list %d: %+v", pid, exit)
		}
		if len(survivors(t, id, pid)) != 1 {
			t.Errorf("process %d did not continue", pid)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if left := withVar(t, id); len(left) > 0 {
			t.Errorf("still running after Close: %q", left)
		}
		noCgroup(t, out.String())
	})
}

func TestD4_KillNowReachesOtherSessions(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: time.Hour, Containment: level})
		if err != nil {
			t.Fatal(err)
		}
		id := newTag()
		out := watch()
		p := start(t, l, env.Command{
			Script: `cat /proc/self/cgroup; setsid sh -c 'trap "" TERM; echo ready; sleep 1000; :' & wait`,
			Env:    []string{id}, Output: out.Write,
		})
		out.until(t, "ready\n")
		if err := l.KillNow(); err != nil {
			t.Fatal(err)
		}
		wait(t, p)
		if err := l.Close(); err != nil { // instead of after an hour
			t.Error(err)
		}
		if left := withVar(t, id); len(left) > 0 {
			t.Errorf("still running after KillNow: %q", left)
		}
		noCgroup(t, out.String())
	})
}

// A command that uses this package is killed together with the processes of its own commands.
func TestD4_MarksNest(t *testing.T) {
	t.Setenv(env.MarkVar, "OUTER")
	l := newLocal(t, t.TempDir(), env.LocalOptions{Vars: env.VarsNone})
	var out capture.Buffer
	if _, err := env.Run(context.Background(), l, env.Command{Script: "echo $" + env.MarkVar, Output: out.Write},
		0); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.Text()); !strings.HasPrefix(got, "OUTER/") || len(got) < len("OUTER/")+26 {
		t.Errorf("the mark is %q", got)
	}
}

// ContainGroup does not find a process that clears its environment and leaves the group. The other
// levels do.
func TestD4_ClearedEnvironment(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		dir := t.TempDir()
		l := newLocal(t, dir, env.LocalOptions{Grace: -1, Containment: level})
		fifo := filepath.Join(dir, "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, l, env.Command{Script: `env -i setsid bash -c 'exec >fifo 2>&1; echo "pid $$"; exec sleep 1000' & exec sleep 1000`})
		f, err := os.Open(fifo)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}()
		line, err := bufio.NewReader(f).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if level == env.ContainGroup {
			pid := pidAfter(t, line, "pid ")
			if !runs(t, pid) {
				t.Errorf("process %d is gone, so the level's documentation is wrong", pid)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		if _, err := io.ReadAll(f); err != nil { // returns when no process holds the other end
			t.Error(err)
		}
	})
}
