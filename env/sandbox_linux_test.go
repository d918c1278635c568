package env_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/internal/peer"
)

// sandboxed returns a Launch that starts commands in bubblewrap: they see the system's programs and
// one directory, which they may change. It does not use --die-with-parent, which would leave
// commands no time to clean up, since a kill ends bubblewrap too.
func sandboxed(t *testing.T, dir string) func(context.Context, env.Launch) (env.Launch, error) {
	t.Helper()
	bwrap := peer.Need(t, "bwrap")
	args := []string{bwrap, "--unshare-pid", "--tmpfs", "/", "--dev", "/dev", "--proc", "/proc"}
	for _, system := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"} {
		args = append(args, "--ro-bind-try", system, system)
	}
	args = append(args, "--bind", dir, dir)
	if out, err := exec.Command(args[0], append(args[1:], "--", "/bin/sh", "-c",
		"true")...).CombinedOutput(); err != nil {
		t.Skipf("bubblewrap does not work here: %v: %s", err, out)
	}
	return func(_ context.Context, l env.Launch) (env.Launch, error) {
		l.Args = append(append(args[:len(args):len(args)], "--chdir", l.Dir, "--"), l.Args...)
		return l, nil
	}
}

// LocalOptions.Launch suffices for a sandbox at every level.
func TestJ9_SandboxByLaunch(t *testing.T) { atLevels(t, sandboxByLaunch) }

func sandboxByLaunch(t *testing.T, level string) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "f"), "inside\n")
	write(t, filepath.Join(outside, "secret"), "secret\n")
	l := newLocal(t, dir, env.LocalOptions{Launch: sandboxed(t, dir), Containment: level})
	text, result := run(t, l, env.Command{Script: `cat f; echo made >made; cat ` + outside + `/secret; echo x >` +
		outside + `/secret; touch /usr/new; exit 37`})
	if result.Code != 37 || strings.Contains(text, "secret\nx") || !strings.HasPrefix(text, "inside\n") ||
		strings.Count(text, "No such file") < 2 {
		t.Errorf("%+v\n%s", result, text)
	}
	if readFile(t, filepath.Join(outside, "secret")) != "secret\n" ||
		readFile(t, filepath.Join(dir, "made")) != "made\n" {
		t.Error("the sandbox allowed a write outside or refused one inside")
	}
	if _, err := os.Stat("/usr/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/usr was written to: %v", err)
	}
	// A kill reaches every process in the sandbox, however it tries to escape.
	mark := "SANDBOXED=" + filepath.Base(outside)
	out := watch()
	p := start(t, l, env.Command{Script: `trap '' TERM; setsid sh -c 'sleep 1000 & echo one; exec sleep 1000' & (nohup sleep 1000 >/dev/null &); echo two; while :; do sleep 1000; done`,
		Env: []string{mark}, Output: out.Write})
	out.until(t, "one")
	out.until(t, "two")
	if len(withVar(t, mark)) < 3 {
		t.Fatal("the test does not see the sandbox's processes")
	}
	err := p.Kill(t.Context())
	if err != nil { // on a busy machine a namespace may take longer to end than Kill waits
		err = p.Kill(t.Context())
	}
	if err != nil {
		t.Errorf("Kill: %v", err)
	}
	if left := withVar(t, mark); len(left) > 0 {
		t.Errorf("after the kill: %q", left)
	}
}

// A command in the sandbox can clean up when it is asked to end.
func TestJ9_SandboxGivesTheGrace(t *testing.T) { atLevels(t, sandboxGivesTheGrace) }

func sandboxGivesTheGrace(t *testing.T, level string) {
	dir := t.TempDir()
	l := newLocal(t, dir, env.LocalOptions{Launch: sandboxed(t, dir), Containment: level, Grace: time.Minute})
	out := watch()
	p := start(t, l, env.Command{Script: `trap 'sleep 0.2; echo cleaned >cleaned; exit' TERM; echo ready; while :; do sleep 0.1; done`, Output: out.Write})
	out.until(t, "ready")
	if err := p.Kill(t.Context()); err != nil {
		t.Errorf("Kill: %v", err)
	}
	if exit := wait(t, p); readFile(t, filepath.Join(dir, "cleaned")) != "cleaned\n" {
		t.Errorf("%+v", exit)
	}
}

// The suite passes in a sandbox that becomes its command.
func TestJ9_SandboxPassesTheSuite(t *testing.T) {
	t.Parallel()
	unshare, outside := peer.Need(t, "unshare"), t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	if out, err := exec.Command(unshare, "--mount", "mount", "-t", "tmpfs", "none",
		outside).CombinedOutput(); err != nil {
		t.Skipf("no mount namespace here: %v: %s", err, out)
	}
	hiding := func(_ context.Context, l env.Launch) (env.Launch, error) {
		l.Args = append([]string{unshare, "--mount", "/bin/sh", "-c", `mount -t tmpfs none "$0" && exec "$@"`, outside},
			l.Args...)
		return l, nil
	}
	text, result := run(t, newLocal(t, t.TempDir(), env.LocalOptions{Launch: hiding}),
		env.Command{Script: "ls -A " + outside})
	if text != "" || result.Code != 0 {
		t.Errorf("files outside are visible: %q, %+v", text, result)
	}
	envtest.Suite(t, func(t *testing.T) env.Environment {
		return newLocal(t, t.TempDir(), env.LocalOptions{Launch: hiding})
	})
}
