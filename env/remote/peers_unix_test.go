//go:build unix

package remote_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// more adds kinds of machines to the suite, and makes it dial for each check.
var more = flag.Bool("peers.more", false,
	"run the suite also through a pipe and in a namespace, with a connection for each check")

// machine is another machine, or what stands for one in tests.
type machine struct {
	command []string // leads there
	root    string   // where its root directory is here
	src     string   // a directory there
}

// dir makes an empty directory there and returns its path.
func (m machine) dir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(m.root+m.src, "")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(dir, m.root)
}

// machines maps the kinds of machines to functions that start one. They skip the test if there can
// be none here.
var machines = map[string]func(t *testing.T) machine{"pipe": pipe, "ssh": secureShell, "container": container,
	"namespace": namespace}

// findHelper is a remote.DialOptions.Helper.
func findHelper(_ context.Context, goos, goarch string) (string, error) {
	if goos != runtime.GOOS || goarch != runtime.GOARCH {
		return "", fmt.Errorf("there is none for %s/%s", goos, goarch)
	}
	return helperPath()
}

// pipe is a shell of this machine.
func pipe(t *testing.T) machine {
	return machine{command: []string{"env", "XDG_CACHE_HOME=" + t.TempDir()}, src: t.TempDir()}
}

// program returns the path of a program, which may be one for the administrator.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath("/usr/sbin/" + name); err == nil {
		return path
	}
	return peer.Need(t, name)
}

// runs runs a command that has to succeed.
func runs(t *testing.T, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

// secureShell is this machine behind Debian's sshd on the loopback interface, with keys of its own.
func secureShell(t *testing.T) machine {
	client, server, dir := program(t, "ssh"), program(t, "sshd"), t.TempDir()
	for _, key := range []string{"host", "user"} {
		runs(t, program(t, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where the server gives up its rights
			peer.Missing(t, "sshd needs a directory: %v", err)
		}
	}
	port := startServer(t, server, dir)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "known"), fmt.Sprintf("[127.0.0.1]:%d %s", port, key))
	put(t, filepath.Join(dir, "config"), fmt.Sprintf(`Host box
	HostName 127.0.0.1
	Port %d
	User %s
	IdentityFile %s/user
	IdentitiesOnly yes
	IdentityAgent none
	UserKnownHostsFile %s/known
	StrictHostKeyChecking yes
	ControlPath none
`, port, me.Username, dir, dir))
	return machine{command: []string{client, "-F", filepath.Join(dir, "config"), "box"}, src: t.TempDir()}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startServer starts sshd until the end of the test, and returns its port.
func startServer(t *testing.T, server, dir string) (port int) {
	t.Helper()
	var said string
	for range 5 { // another program may take the port in between
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "sshd_config"), fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s/host
AuthorizedKeysFile %s/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
PrintMotd yes
SetEnv HOME=%s/home XDG_CACHE_HOME=%s/cache XDG_RUNTIME_DIR=%s
`, port, dir, dir, dir, dir, os.Getenv("XDG_RUNTIME_DIR")))
		cmd := exec.Command(server, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
		stderr, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		in, read := bufio.NewReader(stderr), make(chan struct{})
		said, err = in.ReadString('\n')
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, in)
		}()
		t.Cleanup(func() {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
			_ = cmd.Wait() // killed
			<-read
		})
		if err == nil && strings.Contains(said, "listening") {
			return port
		}
	}
	t.Fatalf("sshd does not listen: %s", said)
	return 0
}
