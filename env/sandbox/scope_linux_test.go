package sandbox_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// With the network, the helper keeps the machine's abstract Unix sockets from commands. Without it,
// the text for the model says that they are there.
func TestL4_AbstractSockets(t *testing.T) {
	t.Parallel()
	peer.Need(t, "curl")
	abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	name := "attractor-test-" + filepath.Base(filepath.Dir(t.TempDir()))
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	old := filepath.Join(t.TempDir(), "attractor-env")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho no such command >&2\nexit 125\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, helper string
		reached      bool
	}{{"a helper", buildHelper(t), abi < 6}, {"an old helper", old, true}, {"no helper", "/nonexistent", true}} {
		t.Run(c.what, func(t *testing.T) {
			b := newBox(t, t.TempDir(), sandbox.Options{Network: true, Helper: c.helper}, env.LocalOptions{})
			out, code := b.run(t, "curl -sS -m 20 --abstract-unix-socket "+name+" http://localhost/")
			if (code == 0) != c.reached {
				t.Errorf("exit code %d: %s", code, out)
			}
			if told := strings.Contains(env.ConfinementOf(b).Sandbox,
				"abstract Unix sockets of this machine"); told != c.reached {
				t.Errorf("the model is told %v", told)
			}
			b.succeeds(t, "mkdir a b && echo x >a/f && mv a/f b/g && ln b/g a/h && (sleep 60 & kill $!) && exit "+
				"$(cat a/h | wc -l | sed s/1/0/)")
		})
	}
}
