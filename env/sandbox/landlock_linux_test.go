package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

func TestL4_WorkspaceWeak(t *testing.T) {
	dir, outside, environ := t.TempDir(), t.TempDir(), user(t)
	write(t, filepath.Join(outside, "secret"), "secret")
	repository(t, dir)
	o := sandbox.Options{Level: sandbox.WorkspaceWeak, Environ: environ, Helper: buildHelper(t)}
	b := newBox(t, dir, o, env.LocalOptions{Containment: env.ContainGroup})
	if got := b.Confinement().Containment; !strings.Contains(got, "; sandbox workspace-weak (Landlock); network off") {
		t.Error(got)
	}
	b.succeeds(t, `echo in >f && mkdir -p a/b && mv f a/b && mv a/b c && echo x >"$TMPDIR/x" && echo x >"$HOME/x" && git status && sort </dev/null`)
	for _, script := range []string{
		"cat " + outside + "/secret", "echo x >" + outside + "/new", "truncate -s 0 " + outside + "/secret",
		"echo x >/etc/x", "echo x >/tmp/new-of-this-test",
		"ls " + strings.TrimPrefix(environ[0], "HOME="), "ln " + outside + "/secret here", "mv c " + outside,
		"cat /etc/shadow", "chmod u+s c",
		": <>/dev/tcp/127.0.0.1/1 2>&1 | grep -q refused", "unshare -r true", "mount -t tmpfs none c",
		"cat /proc/$PPID/environ",
	} {
		b.fails(t, script)
	}
	if abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION); abi >= 6 {
		b.fails(t, "kill -0 $PPID")
	}
	if got := read(t, filepath.Join(outside, "secret")); got != "secret" {
		t.Errorf("the file outside is %q", got)
	}
	if out := b.succeeds(t, `grep -e CapEff -e CapBnd /proc/self/status | sort -u; grep -q 'NoNewPrivs:.1' /proc/self/status`); os.Getuid() == 0 && strings.Count(out, "000000000000000b") != 2 {
		t.Errorf("capabilities: %s", out)
	}
	// What the level cannot do is said, not hidden.
	b.succeeds(t, "echo x >.git/hooks/pre-commit")
	if about := env.ConfinementOf(b).Sandbox; !strings.Contains(about, "does not protect .git/hooks") {
		t.Error(about)
	}
	b.end(t)
	o.AllowHosts = []string{"example.com"}
	if _, err := sandbox.New(dir, o); err == nil || !strings.Contains(err.Error(), "cannot allow single hosts") {
		t.Errorf("single hosts: %v", err)
	}
}

func TestL4_NoHelper(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	if _, err := sandbox.New(t.TempDir(), sandbox.Options{Level: sandbox.WorkspaceWeak}); err == nil ||
		!strings.Contains(err.Error(), "go install") {
		t.Errorf("%v", err)
	}
}
