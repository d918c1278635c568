package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// atLevels runs a test at every level of containment that works on this machine.
func atLevels(t *testing.T, test func(t *testing.T, o env.LocalOptions)) {
	for _, level := range []string{env.ContainCgroupPIDNS, env.ContainPIDNS, env.ContainCgroup, env.ContainGroup} {
		t.Run(level, func(t *testing.T) {
			l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: level})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skipf("%s is not reachable here: %v", level, err)
			}
			if err = errors.Join(err, l.Close()); err != nil {
				t.Fatal(err)
			}
			test(t, env.LocalOptions{Containment: level, Grace: time.Minute})
		})
	}
}

// lines is the output of a command, to wait for.
type lines chan string

func (l lines) write(_ int, p []byte) {
	for line := range strings.Lines(string(p)) {
		l <- strings.TrimSpace(line)
	}
}

// until waits for a line.
func (l lines) until(t *testing.T, want string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if line == want {
				return
			}
		case <-time.After(await.Limit):
			t.Fatalf("no line %q", want)
		}
	}
}

// start starts a command whose output can be waited for.
func (b *box) start(t *testing.T, c env.Command) (env.Process, lines) {
	t.Helper()
	out := make(lines, 1000)
	c.Output = out.write
	p, err := b.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

// Exit codes, input and terminals work in a sandbox, a command can clean up when it is asked to
// end, nothing of it is left after a kill, and the sandbox itself is not among what a command has
// left running.
func TestL4_CommandsAtEveryContainment(t *testing.T) {
	t.Parallel()
	atLevels(t, func(t *testing.T, o env.LocalOptions) {
		dir := t.TempDir()
		b := newBox(t, dir, sandbox.Options{}, o)
		for script, code := range map[string]int{"exit 37": 37, "kill -SEGV $$": 128 + 11, "true": 0,
			"no-such-program": 127} {
			if _, got := b.run(t, script); got != code {
				t.Errorf("%s: exit code %d, want %d", script, got, code)
			}
		}
		p, out := b.start(t, env.Command{Script: "read x; echo got $x", Stdin: true})
		if _, err := p.Stdin().Write([]byte("input\n")); err != nil {
			t.Fatal(err)
		}
		out.until(t, "got input")

		p, out = b.start(t, env.Command{Script: "tty -s && echo terminal; read x </dev/tty; echo got $x",
			TTY: &env.Size{Rows: 20, Cols: 70}})
		out.until(t, "terminal")
		if _, err := p.Stdin().Write([]byte("typed\n")); err != nil {
			t.Fatal(err)
		}
		out.until(t, "got typed")
		b.fails(t, ": </dev/tty") // without a terminal of its own, a command does not get that of the host either

		p, out = b.start(t, env.Command{Script: `trap 'echo cleaned >cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done`})
		out.until(t, "ready")
		if err := p.Kill(t.Context()); err != nil {
			t.Errorf("Kill: %v", err)
		}
		if read(t, filepath.Join(dir, "cleaned")) != "cleaned\n" {
			t.Error("the command could not clean up")
		}

		p, out = b.start(t, env.Command{Script: "sleep 1000 & echo started"})
		out.until(t, "started")
		exit, err := p.Wait(t.Context())
		if err != nil || slices.ContainsFunc(exit.Left,
			func(line string) bool { return strings.Contains(line, "bwrap") }) {
			t.Errorf("%+v, %v", exit, err)
		}
	})
}

// An environment in a sandbox passes the conformance suite. With bubblewrap, which runs a command
// as its child, the command's signal and what it does at the end of a kill are not in its exit.
func TestL4_PassesTheSuite(t *testing.T) {
	t.Parallel()
	helper, environ := buildHelper(t), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	suite := func(t *testing.T, level sandbox.Level) {
		envtest.SuiteWith(t, func(t *testing.T) env.Environment {
			return newBox(t, t.TempDir(), sandbox.Options{Level: level, Helper: helper, Environ: environ},
				env.LocalOptions{Grace: 300 * time.Millisecond}).Local
		}, envtest.Options{Parallel: true})
	}
	if os.Getenv("SUITE_IN_BUBBLEWRAP") != "" {
		suite(t, sandbox.Workspace)
		return
	}
	t.Run("workspace-weak", func(t *testing.T) {
		t.Parallel()
		suite(t, sandbox.WorkspaceWeak)
	})
	t.Run("workspace", func(t *testing.T) {
		t.Parallel()
		peer.Need(t, "bwrap")
		cmd := exec.Command(os.Args[0], "-test.run=^TestL4_PassesTheSuite$",
			"-test.skip=/D3_Signal$|/D4_KillAsksFirst$|/D4_KillInsists$")
		cmd.Env = append(os.Environ(), "SUITE_IN_BUBBLEWRAP=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
