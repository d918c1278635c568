package sandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// probeVar names the directory in which a process of TestL4_ProbeOfAKilledHost opens a sandbox.
const probeVar = "ATTRACTOR_TEST_PROBE"

// stuck is a bubblewrap that stops before it runs the command that tries it out.
type stuck struct {
	dir   string
	block *os.File // at its end when no process of bubblewrap is left
}

// newStuck puts such a bubblewrap into PATH.
func newStuck(t *testing.T) *stuck {
	t.Helper()
	s := &stuck{dir: t.TempDir()}
	block, ready := filepath.Join(s.dir, "block"), filepath.Join(s.dir, "ready")
	if err := errors.Join(unix.Mkfifo(block, 0o600), unix.Mkfifo(ready, 0o600)); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec 9<>%s 8>%s\nexec %s --block-fd 9 --info-fd 8 \"$@\"\n", block, ready,
		peer.Need(t, "bwrap"))
	if err := os.WriteFile(filepath.Join(s.dir, "bwrap"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", s.dir+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return s
}

// wait waits until bubblewrap has started its second process.
func (s *stuck) wait(t *testing.T) {
	t.Helper()
	ready, err := os.Open(filepath.Join(s.dir, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Child int `json:"child-pid"`
	}
	if err := errors.Join(json.NewDecoder(ready).Decode(&info), ready.Close()); err != nil || info.Child == 0 {
		t.Fatal(info, err)
	}
	if s.block, err = os.OpenFile(filepath.Join(s.dir, "block"), os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.block.Close(); err != nil {
			t.Error(err)
		}
	})
}

// ended checks that all processes of bubblewrap end.
func (s *stuck) ended(t *testing.T) {
	t.Helper()
	if err := s.block.SetReadDeadline(time.Now().Add(await.Limit)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.block.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("bubblewrap still runs: %v", err)
	}
}

// first returns the number of bubblewrap's first process.
func (s *stuck) first(t *testing.T) int {
	t.Helper()
	inside, err := filepath.EvalSymlinks(s.block.Name())
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		if fd, err := os.Readlink(dir + "/fd/9"); err != nil || fd != inside { // held by the second process
			continue
		}
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, parent, _ := bytes.Cut(status, []byte("\nPPid:\t"))
		number, _, _ := strings.Cut(string(parent), "\n")
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if cmd, err := os.ReadFile("/proc/" + number + "/cmdline"); err == nil &&
			bytes.Contains(cmd, []byte("--block-fd")) {
			return pid
		}
	}
	t.Fatal("bubblewrap's processes are not there")
	return 0
}

// A host that is killed while it tries out the sandbox leaves no process.
func TestL4_ProbeOfAKilledHost(t *testing.T) {
	if dir := os.Getenv(probeVar); dir != "" {
		box, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace})
		t.Fatal("not killed:", box, err)
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	level := local.Confinement().Containment
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(level, "pidns") {
		t.Skipf("the level %q leaves the processes of a killed host to its next start", level)
	}
	s := newStuck(t)
	host := exec.Command(os.Args[0], "-test.run=^TestL4_ProbeOfAKilledHost$")
	host.Env = append(os.Environ(), probeVar+"="+t.TempDir())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	s.ended(t)
}

// If bubblewrap's first process is killed, its second one waits for it for ever. New ends that one
// and returns.
func TestL4_ProbeIsKilled(t *testing.T) {
	s := newStuck(t)
	dir, done := t.TempDir(), make(chan error, 1)
	go func() {
		_, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace})
		done <- err
	}()
	s.wait(t)
	if err := unix.Kill(s.first(t), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "does not work here") {
		t.Errorf("%v", err)
	}
	s.ended(t)
}
