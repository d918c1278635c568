package workspace_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// serveSSH starts an sshd that lets a key in. It returns its port, the key's file and the file with
// the host's key.
func serveSSH(t testing.TB) (port int, key, knownHosts string) {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		peer.Missing(t, "there is no sshd here")
	}
	dir := t.TempDir()
	hostKey := filepath.Join(dir, "host")
	key = filepath.Join(dir, "user")
	for _, name := range []string{hostKey, key} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port = l.Addr().(*net.TCPAddr).Port
	must(t, l.Close())
	config := filepath.Join(dir, "config")
	must(t, os.WriteFile(config,
		fmt.Appendf(nil, "Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\n"+
			"UsePAM no\nPasswordAuthentication no\nPidFile none\n", port, hostKey, key), 0o600))
	must(t, os.MkdirAll("/run/sshd", 0o755))
	cmd := exec.Command(sshd, "-D", "-e", "-f", config)
	must(t, cmd.Start())
	t.Cleanup(func() {
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	})
	public, err := os.ReadFile(hostKey + ".pub")
	must(t, err)
	knownHosts = filepath.Join(dir, "known_hosts")
	must(t, os.WriteFile(knownHosts, fmt.Appendf(nil, "[127.0.0.1]:%d %s", port, public), 0o600))
	await.For(t, "the start of sshd", func() bool {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			must(t, c.Close())
		}
		return err == nil
	})
	return port, key, knownHosts
}

// Over ssh a repository is cloned with the credential's key and no other, from a host whose key is
// known.
func TestP9_ClonesOverSSH(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		peer.Missing(t, "sshd lets only root start it here")
	}
	port, key, knownHosts := serveSSH(t)
	source := newRepository(t)
	url := fmt.Sprintf("ssh://root@127.0.0.1:%d", port)
	none := filepath.Join(t.TempDir(), "none")
	must(t, os.WriteFile(none, nil, 0o600))
	other := filepath.Join(t.TempDir(), "other")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
		other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := newWorkspaces(t, func(o *workspace.Options) {
		o.AllowDir = false
		o.Credentials = map[string]workspace.Credential{
			"key":      {URL: url + "/", KeyFile: key, KnownHosts: knownHosts},
			"wrong":    {URL: url + "/", KeyFile: other, KnownHosts: knownHosts},
			"stranger": {URL: url + "/", KeyFile: key, KnownHosts: none},
		}
	})
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: url + source, Credential: "key"}}
	ws := open(t, w, task, o, nil)
	if got, want := listing(t, dirOf(ws)), listing(t, source); got != want {
		t.Errorf("the clone differs: %s\n%s", got, want)
	}
	for name, test := range map[string]struct{ credential, url, want string }{
		"no key":       {"", url + source, "host key of"}, // the worker's user does not know the host, either
		"unknown host": {"stranger", url + source, "host key of"},
		"wrong key":    {"wrong", url + source, "does not let us in"},
		"no such":      {"key", url + source + "/none", "no repository at"},
	} {
		_, err := w.Open(t.Context(),
			fleet.Task{ID: "t2", Repo: &fleet.Repo{URL: test.url, Credential: test.credential}}, o, nil)
		if _, ok := errors.AsType[*fleet.PermanentError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}
