package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

func TestL4_WritesOnlyInTheRoots(t *testing.T) {
	dir, other, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	b := newBox(t, dir, sandbox.Options{Roots: []string{other}}, env.LocalOptions{})
	b.succeeds(t, "echo in >f && echo in >"+other+"/g && mkdir -p d/e && mv f d/e/f && rm d/e/f && rmdir d/e")
	if read(t, filepath.Join(other, "g")) != "in\n" {
		t.Error("the other root was not written to")
	}
	b.fails(t, "cat "+outside+"/secret")
	b.fails(t, "echo x >"+outside+"/new")
	for _, name := range []string{"/x", "/usr/x", "/etc/x", "/dev/x", "/home/x", "/proc/sys/kernel/core_pattern",
		"/proc/sysrq-trigger"} {
		b.fails(t, "echo x >"+name)
	}
	b.end(t)
	if got := list(t, outside); got != "secret" {
		t.Errorf("outside: %s", got)
	}
	if got := list(t, dir); got != "d" {
		t.Errorf("in the working directory: %s", got)
	}
}

func TestL4_PrivateDirectories(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, ".ssh/id_ed25519"), "key")
	write(t, filepath.Join(home, ".netrc"), "password")
	b := newBox(t, dir, sandbox.Options{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"TMPDIR=/nowhere"}}, env.LocalOptions{})
	b.succeeds(t, `[ "$TMPDIR" = /tmp ] && echo x >/tmp/private && echo y >~/.private && mkdir -p ~/.cache/c && [ ! -e ~/.netrc ] && [ ! -e ~/.ssh ]`)
	b.succeeds(t, `cat /tmp/private ~/.private /var/tmp/private && ls ~/.cache/c`) // the next command sees them
	if got := list(t, home); got != ".netrc\n.ssh" {
		t.Errorf("in the home directory: %s", got)
	}
	if _, err := os.Stat("/tmp/private"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("/tmp is not private")
	}
	b.end(t)
	if left, err := filepath.Glob(filepath.Join(os.TempDir(),
		"attractor-sandbox-*")); err != nil || slices.ContainsFunc(left, func(dir string) bool {
		_, err := os.Stat(dir + "/home/.private")
		return err == nil
	}) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Programs see themselves and nothing of the host.
func TestL4_HidesTheHost(t *testing.T) {
	b := newBox(t, t.TempDir(), sandbox.Options{}, env.LocalOptions{Containment: env.ContainGroup})
	if !b.Confinement().HidesHost {
		t.Error("the sandbox does not say that it hides the host")
	}
	got, want := b.Confinement().Containment, "group; sandbox workspace (bubblewrap); network off"
	if !strings.HasPrefix(got, want) {
		t.Errorf("containment %q, want %q", got, want)
	}
	out := b.succeeds(t, `for p in /proc/[0-9]*; do cat "$p/cmdline" | tr '\0' ' '; echo; done`)
	if strings.Contains(out, "sandbox.test") {
		t.Errorf("commands see the host:\n%s", out)
	}
	b.succeeds(t, `grep -q 'NoNewPrivs:.1' /proc/self/status && grep -q 'Seccomp:.2' /proc/self/status`)
	b.succeeds(t, `[ "$(tail -n +3 /proc/net/dev | grep -cv ' lo:')" = 0 ]`)
	b.fails(t, `: <>/dev/tcp/192.0.2.1/80`)
}
