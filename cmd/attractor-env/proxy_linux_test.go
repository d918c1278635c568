package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/loopdns"
	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/proxy"
)

// helper is the path of the built program.
var helper string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "attractor-env-test-")
	if err != nil {
		panic(err)
	}
	helper = filepath.Join(dir, "attractor-env")
	build := exec.Command("go", "build", "-o", helper, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	orphans.Verify(func() int {
		defer os.RemoveAll(dir)
		return m.Run()
	})
}

// box runs scripts without a network of their own, with a proxy to the servers of a test.
type box struct {
	bwrap  string
	proxy  *proxy.Proxy
	dir    string // files of the scripts
	server *httptest.Server
	port   string
}

// newBox returns a box whose proxy leads to example.com, a TLS server on loopback with a handler.
// If bubblewrap does not work here, the test is skipped, or fails in CI.
func newBox(t *testing.T, handler http.Handler) *box {
	t.Helper()
	b := &box{bwrap: peer.Need(t, "bwrap"), dir: t.TempDir(), server: httptest.NewUnstartedServer(handler)}
	if out, err := exec.Command(b.bwrap, "--unshare-net", "--bind", "/", "/", "true").CombinedOutput(); err != nil {
		peer.Missing(t, "bubblewrap does not work here: %v: %s", err, out)
	}
	b.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.server.EnableHTTP2 = true
	b.server.StartTLS()
	t.Cleanup(b.server.Close)
	u, err := url.Parse(b.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	b.port = u.Port()
	hosts, err := netguard.ParseHosts([]string{"example.com:" + b.port, "127.0.0.1:" + b.port})
	if err != nil {
		t.Fatal(err)
	}
	dns := loopdns.Start(t, map[string][]string{"example.com": {"127.0.0.1"}, "other.example": {"127.0.0.1"}})
	if b.proxy, err = proxy.New(proxy.Options{Hosts: hosts, Resolver: dns.Resolver()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(b.dir, "ca.pem"), cert, 0o644); err != nil {
		t.Fatal(err)
	}
	return b
}

// command returns the command for a script. HOST is the server, and programs trust its certificate.
func (b *box) command(script string) *exec.Cmd {
	args := []string{"--unshare-net", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc",
		"--chdir", b.dir, helper, "proxy", "--socket", b.proxy.Socket(), "--", "/bin/sh", "-c", script}
	cmd := exec.Command(b.bwrap, args...)
	ca := filepath.Join(b.dir, "ca.pem")
	cmd.Env = append(os.Environ(), "HOST=example.com:"+b.port, "CURL_CA_BUNDLE="+ca, "SSL_CERT_FILE="+ca,
		"GIT_SSL_CAINFO="+ca, "NODE_EXTRA_CA_CERTS="+ca,
		"HOME="+b.dir, "GIT_TERMINAL_PROMPT=0", "HTTPS_PROXY=http://127.0.0.1:1", "no_proxy=*",
		"npm_config_https_proxy=http://127.0.0.1:1")
	return cmd
}

// run runs a script and returns its exit code and what it printed.
func (b *box) run(t *testing.T, script string) (code int, out string) {
	t.Helper()
	cmd := b.command(script)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// The usual programs reach the named host through the proxy, and their requests arrive.
func TestL4_ProgramsUseTheProxy(t *testing.T) {
	repository := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main", "--bare", "repo.git"},
		{"clone", "-q", "repo.git", "work"}, {"-C", "work", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
			"--allow-empty", "-m", "the commit"},
		{"-C", "work", "push", "-q", "origin", "HEAD:main"}, {"-C", "repo.git", "update-server-info"}} {
		cmd := exec.Command(peer.Need(t, "git"), args...)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "empty repository") {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	serve := http.NewServeMux()
	serve.Handle("/repo.git/", http.FileServer(http.Dir(repository)))
	serve.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello over", r.Proto) })
	serve.HandleFunc("/example.com/mod/@v/list", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "v1.2.3")
	})
	serve.HandleFunc("/example.com/mod/@v/v1.2.3.info", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w,
			`{"Version":"v1.2.3"}`)
	})
	serve.HandleFunc("/example.com/mod/@v/v1.2.3.mod", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "module example.com/mod")
	})
	serve.HandleFunc("/a-package", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"name":"a-package","dist-tags":{"latest":"4.5.6"},"versions":{"4.5.6":{"name":"a-package","version":"4.5.6","dist":{"tarball":"https://example.com/x.tgz"}}}}`)
	})
	b := newBox(t, serve)
	for _, c := range []struct{ program, script, want string }{
		{"curl", "curl -sS https://$HOST/hello", "hello over HTTP/"},
		{"git", "git clone -q https://$HOST/repo.git clone && git -C clone log --format=%s", "the commit"},
		{"go", "GOPROXY=https://$HOST GONOSUMDB=* GOFLAGS= GOTOOLCHAIN=local go list -m -versions example.com/mod",
			"v1.2.3"},
		{"npm", "npm --registry https://$HOST/ --strict-ssl=false --fetch-retries 0 --cache ./npm " +
			"--no-update-notifier view a-package version", "4.5.6"},
	} {
		t.Run(c.program, func(t *testing.T) {
			peer.Need(t, c.program)
			if code, out := b.run(t, c.script); code != 0 || !strings.Contains(out, c.want) {
				t.Errorf("exit %d: %s", code, out)
			}
			if refused, _ := b.proxy.Refused(); refused != nil {
				t.Errorf("refused: %v", refused)
			}
		})
	}
}

// There is no other way to the network, and the proxy refuses other hosts.
func TestL4_NothingButTheProxy(t *testing.T) {
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s arrived", r.Method, r.Host)
	}))
	curl := peer.Need(t, "curl")
	for name, script := range map[string]string{
		"another host":      curl + " -sS https://other.example/",
		"another plain":     curl + " -sSf http://other.example/",
		"an address":        curl + " -sSk https://127.0.0.2:" + b.port + "/",
		"metadata":          curl + " -sSf http://169.254.169.254/latest/meta-data/",
		"another name":      curl + " -sSk --connect-to other.example:443:$HOST https://other.example/",
		"TCP":               curl + " -sSk --noproxy '*' https://127.0.0.1:" + b.port + "/",
		"TCP to a public":   curl + " -sSk --noproxy '*' --max-time 5 https://93.184.216.34/",
		"IPv6":              curl + " -sSk --noproxy '*' --max-time 5 'https://[2606:2800:220:1:248:1893:25c8:1946]/'",
		"a name, by itself": curl + " -sS --noproxy '*' --max-time 5 https://$HOST/",
		"UDP":               "exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3",
	} {
		if name == "UDP" {
			script = peer.Need(t, "bash") + " -c '" + script + "'"
		}
		if code, out := b.run(t, script); code == 0 {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
	}
	refused, _ := b.proxy.Refused()
	var hosts []string
	for _, r := range refused {
		hosts = append(hosts, r.Host)
	}
	slices.Sort(hosts)
	want := []string{"127.0.0.2:" + b.port, "169.254.169.254:80", "example.com:" + b.port, "other.example:443",
		"other.example:80"}
	if !slices.Equal(hosts, want) {
		t.Errorf("recorded %v, want %v", hosts, want)
	}
}

// The helper ends as the command does.
func TestL4_TheHelperEndsAsItsCommand(t *testing.T) {
	b := newBox(t, http.NotFoundHandler())
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9, "kill -SEGV $$": 128 + 11,
		"sleep 1000 & exit 3": 3,
		"test \"$HTTP_PROXY $http_proxy\" = \"$HTTPS_PROXY $ALL_PROXY\" && test $no_proxy = localhost,127.0.0.1,::1 " +
			"&& test -z \"$npm_config_https_proxy\"": 0,
	} {
		if code, out := b.run(t, script); code != want {
			t.Errorf("%s: exit %d, want %d: %s", script, code, want, out)
		}
	}
	run := func(args ...string) (int, string) {
		cmd := exec.Command(helper, args...)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	socket := b.proxy.Socket()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 125, "usage: "}, {[]string{"nonsense"}, 125, "usage: "}, {[]string{"proxy", "--", "true"}, 125,
			"--socket PATH"}, {[]string{"proxy", "--socket", socket}, 125, "a command"},
		{[]string{"proxy", "--what"}, 125, "-what"}, {[]string{"proxy", "--socket", socket, "--", "/nonexistent"}, 127,
			"/nonexistent"},
		{[]string{"proxy", "--socket", socket, "--", "/etc/passwd"}, 126, "permission denied"},
		{[]string{"proxy", "--socket", socket, "--listen", "8.8.8.8:1", "--", "true"}, 125, "cannot listen"},
	} {
		if code, out := run(c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit %d, %q", c.args, code, out)
		}
	}
	cmd := exec.Command(helper, "proxy", "--socket", socket, "--", "sh", "-c", "kill -INT $$")
	if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("the helper ended with %v", err)
	}
}

// A signal to the process group reaches the command once, and the helper outlasts it. If the helper
// is killed, so is the command.
func TestL4_SignalsReachTheCommand(t *testing.T) {
	b := newBox(t, http.NotFoundHandler())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start := func(script string) *exec.Cmd {
		cmd := exec.Command(helper, "proxy", "--socket", b.proxy.Socket(), "--", "sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line(t, r, "ready")
		return cmd
	}
	cmd := start("trap 'echo term; exit 5' TERM; trap 'echo int' INT; echo ready; while :; do sleep 0.01; done")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := syscall.Kill(-cmd.Process.Pid, s); err != nil {
			t.Fatal(err)
		}
		line(t, r, map[syscall.Signal]string{syscall.SIGINT: "int", syscall.SIGTERM: "term"}[s])
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("the helper ended with %v", cmd.ProcessState)
	}
	cmd = start("echo ready; exec sleep 1000")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // TestMain finds the sleep if it is still there
}

// line reads one line and compares it.
func line(t *testing.T, r *os.File, want string) {
	t.Helper()
	var text []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(text), "\n"); {
		if _, err := r.Read(b); err != nil {
			t.Fatal(err)
		}
		text = append(text, b[0])
	}
	if string(text) != want+"\n" {
		t.Fatalf("the command printed %q, want %s", text, want)
	}
}

// A command that opens many connections gets no more than the limit at a time, and the others in
// turn. When the proxy has ended, the connections end.
func TestL4_ManyConnectionsOfACommand(t *testing.T) {
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }))
	curl := peer.Need(t, "curl")
	code, out := b.run(t, fmt.Sprintf(
		"%s -s --parallel --parallel-max 300 --max-time 60 --http1.1 'https://%s/[1-600]' 2>/dev/null | wc -c", curl,
		"example.com:"+b.port))
	if code != 0 || strings.TrimSpace(out) != "600" {
		t.Errorf("exit %d: %s", code, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		accept(listener, filepath.Join(t.TempDir(), "nothing"))
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection without a proxy is open")
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	<-accepting
}

// A helper that may open few files serves the connections of a command in turn.
func TestL4_FewOpenFiles(t *testing.T) {
	b := newBox(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }))
	curl := peer.Need(t, "curl")
	cmd := b.command(fmt.Sprintf(`for i in 1 2 3 4 5 6 7 8; do %s -s -H 'Connection: close' --parallel --parallel-max 20 --max-time 5 --http1.1 'https://%s/[1-50]' >/dev/null 2>&1 & done; wait
		%s -sS --max-time 20 https://%s/`, curl, "example.com:"+b.port, curl, "example.com:"+b.port))
	args := slices.Clone(cmd.Args)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -n 40; exec "$@"`, "sh"}, args...)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "x" {
		t.Errorf("after many connections: %v: %s", err, out)
	}
}
