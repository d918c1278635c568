package env_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

var killRounds = flag.Int("kill.rounds", 2, "how often each shape of TestD4_NothingSurvives is killed at each level")

// shapes are ways in which processes get away from who started them. Each says ready when it is what it is.
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
		// 127 processes, each with a session of its own, still being made when the kill comes.
		"fork storm": `export STORM='echo ready; trap "" TERM; if [ $1 -gt 0 ]; then
			setsid bash -c "$STORM" x $(($1-1)) & setsid bash -c "$STORM" x $(($1-1)) & fi; sleep 1000; :'
			bash -c "$STORM" x 6 & wait`,
	}
}

// levels are those that this machine allows, by a probe of the test's own.
func levels(t *testing.T) []string {
	t.Helper()
	if err := probeCgroup(t); err != nil {
		t.Logf("no cgroups here: %v", err)
		return []string{env.ContainGroup}
	}
	return []string{env.ContainCgroup, env.ContainGroup}
}

func TestD4_NothingSurvives(t *testing.T) {
	const grace = 50 * time.Millisecond
	for _, level := range levels(t) {
		for shape, script := range shapes() {
			t.Run(level+"/"+shape, func(t *testing.T) {
				l := newLocal(t, t.TempDir(), env.LocalOptions{Grace: grace, Containment: level})
				var took []time.Duration
				for range max(*killRounds, 1) {
					took = append(took, killShape(t, l, script))
				}
				// The median: on a machine with other work now and then one is late, which is not this code's doing.
				slices.Sort(took)
				if got, limit := took[(len(took)-1)/2], grace+500*time.Millisecond; got > limit {
					t.Errorf("Kill was back after %v, want %v; all: %v", got, limit, took)
				}
			})
		}
	}
}

// killShape starts a command, kills it in the middle and returns how long that took.
func killShape(t *testing.T, l *env.Local, script string) time.Duration {
	t.Helper()
	id := "SURVIVOR=" + rand.Text()
	out := watch()
	p := start(t, l, env.Command{Script: "cat /proc/self/cgroup; " + script, Env: []string{id}, Output: out.Write})
	out.until(t, "ready\n")
	began := time.Now()
	err := p.Kill(t.Context())
	took := time.Since(began)
	if left := withVar(t, id); err != nil || len(left) > 0 {
		t.Errorf("Kill returned %v and left %q", err, left)
	}
	if exit := wait(t, p); len(exit.Left) > 0 {
		t.Errorf("it ended with %+v", exit)
	}
	noCgroup(t, out.String())
	return took
}

// withVar finds the processes whose environment has an entry, whatever the package itself thinks of them.
func withVar(t *testing.T, entry string) (found []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range names {
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(entry)) {
			continue // also zombies, which have none
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		if runs(t, pid) {
			line, err := os.ReadFile(dir + "/cmdline")
			found = append(found, dir+" "+string(line))
			t.Log(dir, err)
		}
	}
	return found
}

// cgroupOf is the directory of the version 2 cgroup that a /proc/PID/cgroup in a text names.
func cgroupOf(t *testing.T, text string) (string, error) {
	t.Helper()
	mounts, err := exec.Command("findmnt", "-n", "-t", "cgroup2", "-o", "TARGET").Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if at, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			mount, _, _ := strings.Cut(string(mounts), "\n")
			return filepath.Join(mount, at), nil
		}
	}
	return "", errors.New("not in a cgroup of version 2")
}

func noCgroup(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "0::/") || !strings.Contains(text, "/attractor-") {
		return // at the level of groups
	}
	dir, err := cgroupOf(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("cgroup %s is left: %v", dir, err)
	}
}

// probeCgroup does by hand what the level of cgroups needs, in the test's own cgroup.
func probeCgroup(t *testing.T) (err error) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	parent, err := cgroupOf(t, string(own))
	if err != nil {
		return err
	}
	dir := filepath.Join(parent, "probe-"+rand.Text())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Rmdir(dir)) }()
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(f.Fd())}
	if err := errors.Join(cmd.Start(), f.Close()); err != nil {
		return err
	}
	killErr := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	if killErr != nil {
		killErr = errors.Join(killErr, cmd.Process.Kill())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		return errors.Join(err, errors.New("the kill did not kill"))
	}
	return killErr
}

func TestD4_TheBestLevelIsUsed(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	if err := probeCgroup(t); err != nil {
		if l.Containment() != env.ContainGroup {
			t.Logf("%s works though the probe says %v", l.Containment(), err)
		}
		t.Skipf("cgroups do not work here, so %q is right: %v", l.Containment(), err)
	}
	if l.Containment() != env.ContainCgroup {
		t.Fatalf("cgroups work, and Containment is %q", l.Containment())
	}
	var out env.Capture
	if _, err := env.Run(t.Context(), l, env.Command{Script: "cat /proc/self/cgroup", Output: out.Write}, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.Text(), "/attractor-") {
		t.Errorf("the command is not in a cgroup of its own: %s", out.Text())
	}
}

func TestD4_LevelsThatDoNotWorkAreErrors(t *testing.T) {
	for _, level := range []string{env.ContainPIDNS, "jail"} {
		if _, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: level}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", level, err)
		}
	}
}

func TestD4_LeftInAnotherSessionIsNamedAndDiesAtClose(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(level, func(t *testing.T) {
			l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: testGrace, Containment: level})
			if err != nil {
				t.Fatal(err)
			}
			id := "SURVIVOR=" + rand.Text()
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
				t.Errorf("%d is not named in %+v", pid, exit)
			}
			if !runs(t, pid) {
				t.Errorf("process %d did not go on", pid)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if left := withVar(t, id); len(left) > 0 {
				t.Errorf("Close left %q", left)
			}
			noCgroup(t, out.String())
		})
	}
}

func TestD4_KillNowReachesOtherSessions(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(level, func(t *testing.T) {
			l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: time.Hour, Containment: level})
			if err != nil {
				t.Fatal(err)
			}
			id := "SURVIVOR=" + rand.Text()
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
			if err := l.Close(); err != nil { // and not an hour later
				t.Error(err)
			}
			if left := withVar(t, id); len(left) > 0 {
				t.Errorf("KillNow left %q", left)
			}
			noCgroup(t, out.String())
		})
	}
}

// A command that uses this package itself is killed with what its own commands started.
func TestD4_MarksNest(t *testing.T) {
	t.Setenv(env.MarkVar, "OUTER")
	l := newLocal(t, t.TempDir(), env.LocalOptions{Vars: env.VarsNone})
	var out env.Capture
	if _, err := env.Run(context.Background(), l, env.Command{Script: "echo $" + env.MarkVar, Output: out.Write}, 0); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.Text()); !strings.HasPrefix(got, "OUTER/") || len(got) < len("OUTER/")+26 {
		t.Errorf("the mark is %q", got)
	}
}
