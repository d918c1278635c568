//go:build unix

package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A proxy that refuses the way to the provider is asked once, and the error names it, without its
// credentials. What it could not do is tried again.
func TestI17_RefusedByAProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		once   bool
		says   string
	}{
		{http.StatusForbidden, true, "403 Forbidden; have it allow the host, or name the host in NO_PROXY"},
		{http.StatusProxyAuthRequired, true,
			"407 Proxy Authentication Required; write its credentials into HTTPS_PROXY: " +
				"http://USER:PASSWORD@HOST:PORT"},
		{http.StatusBadGateway, false, "502 Bad Gateway"},
	} {
		t.Run(http.StatusText(c.status), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodConnect || r.Host != "provider.example:443" {
					t.Errorf("the proxy is asked for %s %s", r.Method, r.Host)
				}
				asked.Add(1)
				w.WriteHeader(c.status)
			}))
			defer proxy.Close()
			cmd := newHome(t, "https://provider.example").command("run", "--yes", "--timeout", "2s", "go")
			address := strings.TrimPrefix(proxy.URL, "http://")
			cmd.Env = append(cmd.Env, "HTTPS_PROXY=http://somebody:hunter2@"+address)
			out := runCommand(t, cmd)
			said := "the proxy " + proxy.URL + " refuses the connection: " + c.says
			if n := asked.Load(); (n == 1) != c.once || !strings.Contains(out.stderr, said) ||
				strings.Contains(out.stderr, "hunter2") {
				t.Errorf("asked %d times, exit code %d: %s", n, out.code, out.stderr)
			}
			if c.once && (out.code != exitFailed || strings.Contains(out.stderr, "certificate")) {
				t.Errorf("exit code %d: %s", out.code, out.stderr)
			}
		})
	}
}
