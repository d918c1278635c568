package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// What commands print about refusals of the sandbox is recognized, and errors with another cause
// are not taken for refusals.
func TestL5_Refusals(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, out := filepath.Join(home, "project"), filepath.Join(home, "other")
	write(t, filepath.Join(home, ".ssh/id"), "key")
	write(t, filepath.Join(out, "file"), "outside")
	write(t, filepath.Join(dir, "main.go"), "package main")
	write(t, filepath.Join(dir, "closed"), "echo closed")
	git(t, dir, "init", "-q")
	b := newBox(t, dir, sandbox.Options{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}},
		env.LocalOptions{})
	only, hidden := "The sandbox lets commands only read ", "The sandbox does not show "
	for script, want := range map[string]string{
		"touch .git/hooks/pre-push":                      only + dir + "/.git/hooks/pre-push.",
		"echo x >.git/hooks/pre-push":                    only + dir + "/.git/hooks/pre-push.",
		"git config core.pager x":                        only + dir + "/.git/config.",
		"mv .git/hooks .git/old":                         only + dir + "/.git/hooks.",
		"cat ~/.ssh/id":                                  hidden + home + "/.ssh/id to commands; it is there outside.",
		"cat ../other/file":                              hidden + out + "/file to commands; it is there outside.",
		"cp main.go " + out + "/copy":                    hidden + out + " to commands; it is there outside.",
		"echo x >" + out + "/new":                        hidden + out + " to commands; it is there outside.",
		"cd " + out:                                      hidden + out + " to commands; it is there outside.",
		"echo x >.mcp.json":                              only + dir + "/.mcp.json.",
		"curl -sS http://example.com/":                   "Commands in the sandbox have no network.",
		"git ls-remote https://example.com/x.git":        "Commands in the sandbox have no network.",
		"touch .git/hooks/a; touch .git/hooks/a; exit 1": only + dir + "/.git/hooks/a.",
		"touch .git/hooks/a; true":                       only + dir + "/.git/hooks/a.",
		"echo \"can't open '.git/hooks/a': Read-only file system\"; exit 1": only + dir + "/.git/hooks/a.",
		// Errors that are the same outside.
		"cat missing":                              "",
		"cat /nowhere/at/all":                      "",
		"./closed":                                 "",
		"cat " + dir + "/x/f":                      "",
		"cat ~/.ssh/id; true":                      "", // it went on
		"echo 'main.go: Read-only file system'":    "",
		"echo '/proc/self: Read-only file system'": "",
		"echo 'No such file or directory'; exit 1": "",
		"grep -r 'Permission denied' . ; exit 1":   "",
		"echo x >/tmp/a && echo y >new && cat new": "",
	} {
		output, code := b.run(t, script)
		var got []string
		for _, r := range b.sandbox.Refusals(dir, []byte(output), code != 0) {
			got = append(got, r.Why)
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%s (exit code %d)\n got %q\nwant %q\n%s", script, code, text, want, output)
		}
	}
	off, err := sandbox.New(dir, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := off.Refusals(dir, []byte("touch: cannot touch '.git/hooks/a': Read-only file system"), true); r != nil {
		t.Errorf("without a sandbox: %+v", r)
	}
}

// The sandbox's own limit of processes holds in its user namespace, where it is not root's.
func TestL6_ProcessesInTheSandbox(t *testing.T) {
	b := newBox(t, t.TempDir(), sandbox.Options{},
		env.LocalOptions{Containment: env.ContainGroup, Limits: env.Limits{Processes: 64}})
	if os.Getuid() == 0 {
		if !strings.Contains(b.Confinement().Containment, "processes unlimited") {
			t.Errorf("containment %q", b.Confinement().Containment)
		}
		t.Skip("the kernel does not count the processes of root; TestL12_AsNobody runs this test as another user")
	}
	if !strings.Contains(b.Confinement().Containment, "at most 64 processes") {
		t.Errorf("containment %q", b.Confinement().Containment)
	}
	out := b.fails(t, `exec /bin/sh -c 'n=0; trap "echo started \$n" EXIT; while [ $n -lt 900 ]; do sleep 600 2>/dev/null & n=$((n+1)); done'`)
	if !strings.Contains(out, "started 6") && !strings.Contains(out, "started 5") {
		t.Errorf("%s", out)
	}
}
