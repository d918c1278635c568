//go:build unix

package remote_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/internal/await"
)

// stopped is how long the network stops in a test of a stop that is survived.
var stopped = flag.Duration("peers.stopped", 0,
	"stop the network for so long, in a connection with the usual limit for silence")

// noted returns a machine whose command writes its process id into a file each time, and the
// function that reads the last one.
func (m machine) noted(t *testing.T) (machine, func() int) {
	file := filepath.Join(t.TempDir(), "pid")
	m.command = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, file}, m.command...)
	return m, func() int {
		t.Helper()
		text, err := os.ReadFile(file)
		pid, numberErr := strconv.Atoi(strings.TrimSpace(string(text)))
		if err = errors.Join(err, numberErr); err != nil {
			t.Fatal(err)
		}
		return pid
	}
}

// lasting starts a command that does not end, and returns it and the process id over there of a
// process of it.
func lasting(t *testing.T, e env.Environment) (env.Process, string) {
	t.Helper()
	said := make(chan string, 1)
	var out capture.Buffer
	p, err := e.Start(t.Context(), env.Command{Script: "sleep 1000 & echo $!; wait",
		Output: func(stream int, text []byte) {
			if out.Write(stream, text); strings.HasSuffix(out.Text(), "\n") {
				said <- strings.TrimSpace(out.Text())
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case pid := <-said:
		return p, pid
	case <-t.Context().Done():
		t.Fatal("it says nothing")
		return nil, ""
	}
}

// isLost checks that a command and a file are lost, that the next operation works, and that nothing
// is left of the command.
func isLost(t *testing.T, e *remote.Env, p env.Process, pid string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*await.Limit)
	defer cancel()
	if exit, err := p.Wait(ctx); !errors.Is(err, env.ErrLost) {
		t.Errorf("the command ended with %+v, %v", exit, err)
	}
	gone := fmt.Sprintf(`left() { if [ -d /proc/self ]; then grep -q '^State:.[^ZX]' /proc/%[1]s/status; else kill -0 %[1]s; fi 2>/dev/null; }
while left; do sleep 0.5; done; exit 3`, pid) // a helper that was left alone needs a moment to end it
	result, err := env.Run(ctx, e, env.Command{Script: gone}, await.Limit)
	if err != nil || result.Code != 3 {
		t.Errorf("the next command ended with %+v, %v, want that the process %s is gone", result, err, pid)
	}
	if _, err := e.Open(ctx, "no such file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// Whatever is killed on the way, what was under way is lost, nothing of it is left over there, and
// the next operation dials again.
func TestO1_KilledOnTheWay(t *testing.T) {
	kills := map[string]func(t *testing.T, e *remote.Env, near int){
		"the command here": func(t *testing.T, _ *remote.Env, near int) {
			if err := syscall.Kill(near, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		"the helper": func(t *testing.T, e *remote.Env, _ int) { die(t, e, "kill -9 $PPID") },
		"the helper's parent": func(t *testing.T, e *remote.Env,
			_ int) {
			die(t, e, `kill -9 $(ps -o ppid= -p $PPID)`)
		},
		"the helper, by TERM": func(t *testing.T, e *remote.Env, _ int) { die(t, e, "kill -TERM $PPID") },
	}
	for name, on := range map[string][]string{
		"pipe":      {"the helper", "the helper, by TERM"},
		"ssh":       {"the command here", "the helper", "the helper's parent"},
		"container": {"the command here", "the helper"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, near := machines[name](t).noted(t)
			e := m.dial(t, remote.Options{Dir: m.src, Containment: env.ContainGroup, Grace: 200 * time.Millisecond})
			for _, what := range on {
				p, pid := lasting(t, e)
				kills[what](t, e, near())
				isLost(t, e, p, pid)
			}
		})
	}
}

// die runs a script over there that ends the connection.
func die(t *testing.T, e *remote.Env, script string) {
	t.Helper()
	p, err := e.Start(t.Context(), env.Command{Script: script + "; sleep 1000"})
	if err == nil {
		_, err = p.Wait(t.Context())
	}
	if !errors.Is(err, env.ErrLost) {
		t.Errorf("%s: %v", script, err)
	}
}

// A connection over which nothing comes any more is lost, and both sides know.
func TestO1_SilentNetwork(t *testing.T) {
	t.Parallel()
	m, near := secureShell(t).noted(t)
	e := m.dial(t, remote.Options{Dir: m.src, Containment: env.ContainGroup, Silence: time.Second,
		Grace: 200 * time.Millisecond})
	p, pid := lasting(t, e)
	if err := syscall.Kill(near(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	isLost(t, e, p, pid)
}

// A network that stops for a while is waited for.
func TestO1_StoppedForAWhile(t *testing.T) {
	if *stopped == 0 {
		t.Skip("not run: it takes long; -peers.stopped 30s runs it")
	}
	m, near := secureShell(t).noted(t)
	e := m.dial(t, remote.Options{Dir: m.src})
	p, pid := lasting(t, e)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(near(), signal); err != nil {
			t.Fatal(err)
		}
		time.Sleep(*stopped)
	}
	if result, err := env.Run(t.Context(), e, env.Command{Script: "exit 3"}, 0); err != nil || result.Code != 3 {
		t.Errorf("%+v, %v", result, err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Errorf("kill %s: %v", pid, err)
	}
}

// What ssh says becomes part of the error, of the first dialing and of a later one.
func TestO1_ServerIsGone(t *testing.T) {
	t.Parallel()
	m := secureShell(t)
	e := m.dial(t, remote.Options{Dir: m.src, Containment: env.ContainGroup})
	config, err := os.ReadFile(m.command[2])
	if err != nil {
		t.Fatal(err)
	}
	put(t, m.command[2], strings.Replace(string(config), "Port ", "Port 1 # ", 1))
	die(t, e, "kill -9 $PPID")
	for range 2 {
		if _, err := e.Stat(t.Context(), "."); !errors.Is(err, env.ErrLost) || !strings.Contains(fmt.Sprint(err),
			"Connection refused") {
			t.Errorf("error %v", err)
		}
	}
	other, err := remote.Dial(t.Context(), m.command, remote.DialOptions{Helper: findHelper})
	if err == nil {
		t.Errorf("it was opened: %v", other.Close())
	}
	for _, want := range []string{"exit status 255", "Connection refused"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	put(t, m.command[2], string(config))
	if _, err := e.Stat(t.Context(), "."); err != nil {
		t.Errorf("when the server is back: %v", err)
	}
}

// A host key that is not the known one is an error, not a question.
func TestO1_AnotherHostKey(t *testing.T) {
	t.Parallel()
	m := secureShell(t)
	known := filepath.Join(filepath.Dir(m.command[2]), "known")
	put(t, known, "")
	e, err := remote.Dial(t.Context(), m.command, remote.DialOptions{Helper: findHelper})
	if err == nil {
		t.Fatalf("it was opened: %v", e.Close())
	}
	if !strings.Contains(err.Error(), "Host key verification failed") || errors.Is(err, remote.ErrNoHelper) {
		t.Errorf("error %v", err)
	}
}

// A command that ends with the word serve is the helper itself.
func TestO1_HelperWithoutShell(t *testing.T) {
	t.Parallel()
	helper, err := helperPath()
	if err != nil {
		t.Fatal(err)
	}
	m := machine{command: []string{helper, "serve"}, src: t.TempDir()}
	e := m.dial(t, remote.Options{Dir: m.src})
	if _, err := e.Stat(t.Context(), "."); err != nil {
		t.Error(err)
	}
}

// A directory is relative to the one in which the shell over there starts, also after dialing
// again.
func TestO1_WorkingDirectory(t *testing.T) {
	t.Parallel()
	m := pipe(t)
	if err := os.Mkdir(filepath.Join(m.src, "a b"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.command = append([]string{"env", "-C", m.src}, m.command...)
	for given, want := range map[string]string{"": m.src, "a b": m.src + "/a b", m.src: m.src} {
		e := m.dial(t, remote.Options{Dir: given, Containment: env.ContainGroup})
		check := func() {
			t.Helper()
			if got := e.WorkDir(); got != want {
				t.Errorf("in %q: %q, want %q", given, got, want)
			}
			var out capture.Buffer
			if _, err := env.Run(t.Context(), e, env.Command{Script: "pwd", Output: out.Write}, 0); err != nil ||
				out.Text() != want+"\n" {
				t.Errorf("in %q: %q, %v", given, out.Text(), err)
			}
		}
		check()
		die(t, e, "kill -9 $PPID")
		check() // by a new helper, which has ended what the killed one had left
	}
	if e, err := remote.Dial(t.Context(), m.command, remote.DialOptions{Options: remote.Options{Dir: "missing"},
		Helper: findHelper}); err == nil {
		t.Error("a missing directory was opened", e.Close())
	} else if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("error %v", err)
	}
}

// Behind sshd, bash would read its startup file for each command.
func TestO1_NoStartupFileBehindSSH(t *testing.T) {
	t.Parallel()
	m := secureShell(t)
	e := m.dial(t, remote.Options{Dir: m.src, Containment: env.ContainGroup})
	var out capture.Buffer
	result, err := env.Run(t.Context(), e, env.Command{Script: "echo ${SSH_CLIENT-unset}", Output: out.Write}, 0)
	if err != nil || result.Code != 0 || out.Text() != "unset\n" {
		t.Errorf("%+v, %v: %q", result, err, out.Text())
	}
}

// halfStream is a stream whose Close closes only one direction.
type halfStream struct{ in, out *os.File }

func (s halfStream) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s halfStream) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s halfStream) Close() error                { return s.in.Close() }

// A helper that cannot write any more ends what it has started, and then itself.
func TestO1_NobodyReads(t *testing.T) {
	t.Parallel()
	helper, err := helperPath()
	if err != nil {
		t.Fatal(err)
	}
	near, far := pipes(t)
	cmd := exec.Command(helper, "serve")
	cmd.Stdin, cmd.Stdout = far.r, far.w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(); err != nil {
		t.Error(err)
	}
	e, err := remote.New(t.Context(), halfStream{near.r, near.w}, remote.Options{Dir: t.TempDir(),
		Silence: 2 * time.Second, Containment: env.ContainGroup, Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, pid := lasting(t, e)
	if err := e.KillNow(); err != nil {
		t.Error(err)
	}
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signaled() {
		t.Errorf("the helper ended with %v", err)
	}
	if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(state), ") Z") {
		t.Errorf("the process %s is left: %s", pid, state)
	}
	if err := errors.Join(near.w.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}
