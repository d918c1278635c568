package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/loopdns"
	"github.com/attractor-go/attractor/internal/peer"
)

// buildHelper returns the path of a new attractor-env.
func buildHelper(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "attractor-env")
	build := exec.Command("go", "build", "-o", path, "github.com/attractor-go/attractor/cmd/attractor-env")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// Commands reach the allowed hosts through the proxy, and nothing else. The sandbox keeps what they
// were refused.
func TestL4_AllowedHosts(t *testing.T) {
	helper, curl := buildHelper(t), peer.Need(t, "curl")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprintln(w, "hello", r.Host)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	host := "example.com:" + u.Port()
	dns := loopdns.Start(t, map[string][]string{"example.com": {"127.0.0.1"}, "other.example": {"127.0.0.1"},
		"inside.example": {"10.1.2.3"}})
	for _, level := range []sandbox.Level{sandbox.Workspace, sandbox.ReadOnly} {
		t.Run(string(level), func(t *testing.T) {
			b := newBox(t, t.TempDir(), sandbox.Options{Level: level, Helper: helper, Resolver: dns.Resolver(),
				AllowHosts: []string{host, "127.0.0.1:" + u.Port(), "inside.example"}}, env.LocalOptions{})
			if got, want := b.Confinement().Network,
				"only "+host+", 127.0.0.1:"+u.Port()+", inside.example"; got != want {
				t.Errorf("the network is %q, want %q", got, want)
			}
			if out := b.succeeds(t, curl+" -sSk https://"+host); out != "hello "+host+"\n" {
				t.Errorf("the answer is %q", out)
			}
			if list, more := b.sandbox.RefusedHosts(); list != nil || more != 0 {
				t.Errorf("refused: %v and %d", list, more)
			}
			b.fails(t, curl+" -sSk https://other.example/")
			b.fails(t, curl+" -sSk https://inside.example/")
			b.fails(t, curl+" -sSk --noproxy '*' "+server.URL)
			list, _ := b.sandbox.RefusedHosts()
			if len(list) != 2 || list[0].Host != "other.example:443" || !strings.Contains(list[0].Why,
				"--allow-host other.example would") || !strings.Contains(list[1].Why, "10.1.2.3 is a private address") {
				t.Errorf("refused: %v", list)
			}
			if out, code := b.run(t, "echo out; echo err >&2; exit 7"); code != 7 || !strings.Contains(out, "out\n") ||
				!strings.Contains(out, "err\n") {
				t.Errorf("exit code %d, %q", code, out)
			}
			if out := b.succeeds(t, "cat /proc/[0-9]*/comm"); !strings.Contains(out, "attractor-env") {
				t.Errorf("the helper is not among the processes: %s", out)
			}
			b.fails(t, "echo x >/run/attractor/attractor-env")
			b.fails(t, "rm /run/attractor/proxy")
			ctx, cancel := context.WithCancel(t.Context())
			_, err := env.Run(ctx, b, env.Command{Script: "echo ready; sleep 1000",
				Output: func(int, []byte) { cancel() }}, env.MaxTimeout)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the command ended with %v", err)
			}
		})
	}
}

// What cannot work is refused with what to do.
func TestL4_AllowedHostsThatCannotBe(t *testing.T) {
	bwrap := peer.Need(t, "bwrap")
	programs := t.TempDir()
	if err := os.Symlink(bwrap, filepath.Join(programs, "bwrap")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	for want, o := range map[string]sandbox.Options{
		"go install ./cmd/attractor-env":        {AllowHosts: []string{"example.com"}},
		"the helper /nonexistent cannot be run": {AllowHosts: []string{"example.com"}, Helper: "/nonexistent"},
		"allow one or the other":                {AllowHosts: []string{"example.com"}, Network: true},
		"give only its name":                    {AllowHosts: []string{"https://example.com"}},
	} {
		o.Level, o.State = sandbox.Workspace, t.TempDir()
		s, err := sandbox.New(t.TempDir(), o)
		if err == nil {
			t.Error(s.Close())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
