package mcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/loopdns"
	"github.com/attractor-go/attractor/internal/netguard"
)

// plain is an MCP server on loopback that wants no login. Before sees each request first and
// reports whether it has answered it.
type plain struct {
	URL    string
	Before func(w http.ResponseWriter, r *http.Request, body string) bool

	mu   sync.Mutex
	seen []*http.Request
}

// startPlain starts a server with the tools whoami and slow. It keeps sessions and sends answers as
// streams that can be resumed.
func startPlain(t *testing.T) *plain {
	p := &plain{}
	server := sdk.NewServer(&sdk.Implementation{Name: "plain", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "whoami"}, func(context.Context, *sdk.CallToolRequest,
		struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "the user"}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, r.Clone(context.Background()))
		p.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(data)))
		if p.Before == nil || !p.Before(w, r, string(data)) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		for open := range server.Sessions() {
			_ = open.Close() // of clients that could not
		}
		web.CloseClientConnections()
		web.Close()
	})
	p.URL = web.URL + "/mcp"
	return p
}

func (p *plain) server() Server { return Server{Name: "plain", URL: p.URL} }

func TestM12_WhereServersMayBe(t *testing.T) {
	names := loopdns.Start(t, map[string][]string{"public.example": {"127.0.0.1"}, "work.example": {"10.255.255.1"},
		"meta.example": {"169.254.169.254"}})
	p := startPlain(t)
	port := p.URL[strings.LastIndex(p.URL, ":")+1 : strings.LastIndex(p.URL, "/")]
	for name, c := range map[string]struct {
		url   string
		hosts []string
		want  string // empty if the server is reached
	}{
		"loopback":         {url: p.URL},
		"loopback by name": {url: "http://localhost:" + port + "/mcp"},
		"http elsewhere":   {url: "http://mcp.example.com/mcp", want: "is not encrypted"},
		"http, named": {url: "http://mcp.example.com/mcp", hosts: []string{"mcp.example.com"},
			want: "is not encrypted"},
		"no scheme": {url: "mcp.example.com/mcp", want: "does not begin with https:// or http://"},
		"a user":    {url: "https://me:secret@mcp.example.com/", want: "put credentials into headers"},
		"private address": {url: "https://10.1.2.3/mcp",
			want: `10.1.2.3 is a private address: if it is meant, name it in the server's configuration: "hosts": ["10.1.2.3"]`},
		"metadata address": {url: "https://169.254.169.254/mcp", want: "metadata service"},
		"metadata by name": {url: "https://meta.example/mcp",
			want: "169.254.169.254 is the address of a cloud's metadata service"},
		"metadata by a named host": {url: "https://meta.example/mcp", hosts: []string{"meta.example"},
			want: "metadata service"},
		"a name that leads here": {url: "https://public.example:" + port + "/mcp",
			want: "127.0.0.1 is a loopback address"},
		"a named host leads here": {url: "https://public.example:" + port + "/mcp",
			hosts: []string{"public.example:" + port}, want: "127.0.0.1 is a loopback address"},
		"a name that leads inside":  {url: "https://work.example/mcp", want: "10.255.255.1 is a private address"},
		"an odd spelling":           {url: "https://0x7f000001/mcp", want: "unusual spelling"},
		"a wrong host in the hosts": {url: p.URL, hosts: []string{"https://x"}, want: "hosts: "},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := Network{Resolver: names.Resolver()}.Client(Server{URL: c.url, Hosts: c.hosts})
			if err == nil {
				defer client.CloseIdleConnections()
				var resp *http.Response
				if resp, err = client.Post(c.url, "application/json", strings.NewReader("{}")); err == nil {
					resp.Body.Close()
				}
			}
			if c.want == "" && err != nil {
				t.Error(err)
			} else if c.want != "" {
				wantError(t, err, c.want)
			}
		})
	}
}

// An authorization server cannot make the client use a connection that is not encrypted.
func TestM12_OtherURLsOfAServer(t *testing.T) {
	client, err := Network{}.Client(Server{URL: "https://mcp.example.com/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"http://10.1.2.3/token": "is not encrypted",
		"http://127.0.0.1:9/token": "127.0.0.1 is a loopback address",
		"http://localhost:9/token": "localhost is a name inside a private network"} {
		_, err := client.Get(at)
		wantError(t, err, want)
	}
}

// A name that the user names may lead into a private network, but not to this machine and not to
// the metadata of a cloud.
func TestM12_NamedHosts(t *testing.T) {
	named, err := netguard.ParseHosts([]string{"work.example", "10.0.0.9:8443"})
	if err != nil {
		t.Fatal(err)
	}
	r := &reach{guard: netguard.Guard{Named: named}}
	for _, c := range []struct {
		host, address string
		want          string
	}{
		{"work.example", "10.1.2.3:443", ""},
		{"work.example", "192.168.0.1:443", ""},
		{"work.example", "100.64.0.1:443", ""},
		{"work.example", "[fd00::1]:443", ""},
		{"work.example", "93.184.215.14:443", ""},
		{"10.0.0.9", "10.0.0.9:8443", ""},
		{"work.example", "10.1.2.3:22", "is a private address"},
		{"other.example", "10.1.2.3:443", "is a private address"},
		{"work.example", "127.0.0.1:443", "is a loopback address"},
		{"work.example", "169.254.1.1:443", "is a link-local address"},
		{"work.example", "169.254.169.254:443", "metadata service"},
		{"work.example", "100.100.100.200:443", "metadata service"},
		{"work.example", "[fd00:ec2::254]:443", "metadata service"},
	} {
		host, err := netguard.ParseHost(c.host)
		if err != nil {
			t.Fatal(err)
		}
		err = r.address(host, netip.MustParseAddrPort(c.address))
		if c.want == "" && err != nil {
			t.Errorf("%s at %s: %v", c.host, c.address, err)
		} else if c.want != "" {
			wantError(t, err, c.want)
		}
	}
}

// The proxy of the host's environment is not used, and no cookie is kept.
func TestM12_NoProxyNoCookies(t *testing.T) {
	p := startPlain(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	p.Before = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		http.SetCookie(w, &http.Cookie{Name: "track", Value: "me"})
		return false
	}
	s := p.server()
	s.Headers = map[string]string{"X-Api-Key": "k3y"}
	cs, err := session(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, cs); err != nil {
		t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.seen {
		if r.Header.Get("Cookie") != "" || r.Header.Get("X-Api-Key") != "k3y" {
			t.Errorf("%s had the header %v", r.Method, r.Header)
		}
	}
}

// A configured header goes to the server's origin only.
func TestM12_HeadersStay(t *testing.T) {
	var other atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer thief.Close()
	for name, location := range map[string]string{"another port": thief.URL + "/mcp",
		"another host":  strings.Replace(thief.URL, "127.0.0.1", "localhost", 1),
		"a public host": "https://evil.example/mcp", "the same host with https": "https://HOST/mcp"} {
		for _, status := range []int{302, 307, 308} {
			p := startPlain(t)
			u, err := url.Parse(p.URL)
			if err != nil {
				t.Fatal(err)
			}
			p.Before = func(w http.ResponseWriter, r *http.Request, _ string) bool {
				http.Redirect(w, r, strings.Replace(location, "HOST", u.Host, 1), status)
				return true
			}
			s := p.server()
			s.Headers = map[string]string{"Authorization": "Bearer s3cret"}
			_, err = session(t, s, nil)
			wantError(t, err, "which is not followed: a redirect must stay on http://"+u.Host)
			if n := other.Load(); n != 0 {
				t.Errorf("%s, %d: the other server got %d requests", name, status, n)
			}
		}
	}
}

func TestM1_RedirectsThatStay(t *testing.T) {
	p := startPlain(t)
	p.Before = func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch r.URL.Path {
		case "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusPermanentRedirect)
		case "/lost":
			http.Redirect(w, r, "/mcp/", http.StatusFound)
		default:
			return false
		}
		return true
	}
	cs, err := session(t, p.server(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, cs); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{"/loop": "it redirected more than 5 times",
		"/lost": "in a way that loses its content: use the URL"} {
		s := p.server()
		s.URL = strings.Replace(s.URL, "/mcp", path, 1)
		_, err := session(t, s, nil)
		wantError(t, err, want)
	}
}

func TestM12_TLS(t *testing.T) {
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	web.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	web.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes
	web.StartTLS()
	defer web.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	for name, c := range map[string]struct {
		n    Network
		want string
	}{
		"an unknown certificate": {Network{}, "certificate"},
		"an old version": {Network{TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS10}},
			"protocol version"},
	} {
		client, err := c.n.Client(Server{URL: web.URL})
		if err != nil {
			t.Fatal(err)
		}
		if name == "an unknown certificate" {
			web.TLS.MaxVersion = tls.VersionTLS13
		} else {
			web.TLS.MaxVersion = tls.VersionTLS11
		}
		_, err = client.Get(web.URL)
		wantError(t, err, c.want)
		client.CloseIdleConnections()
	}
}

// Servers that do not speak the protocol. Each gets an error that says what they did, and none
// hangs or fills the memory.
func TestM1_AnswersThatAreNotMCP(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"a web page": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		}, "it answered with text/html instead of MCP: check its URL"},
		"another type": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, "x")
		}, "it answered with image/png instead of MCP"},
		"no type": {func(w http.ResponseWriter) { w.Header()["Content-Type"] = nil; io.WriteString(w, "{}") },
			"it answered with no content type instead of MCP"},
		"an error": {func(w http.ResponseWriter) { http.Error(w, "it\x1b[2J broke", 500) },
			`it answered 500 Internal Server Error: it\u{1b}[2J broke`},
		"a page of an error": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			io.WriteString(w, "<html>")
		}, "it answered 502 Bad Gateway"},
		"not found": {func(w http.ResponseWriter) { http.Error(w, "no such page", 404) },
			"it answered 404 Not Found: no such page"},
		"a long error": {func(w http.ResponseWriter) {
			w.WriteHeader(400)
			for range 200 {
				io.WriteString(w, long)
			}
		}, "it answered 400 Bad Request: xxx"},
		"no login": {func(w http.ResponseWriter) { w.WriteHeader(401) },
			"the MCP server plain needs a login: run attractor mcp login plain"},
		"garbage": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{]")
		}, "it sent a message that cannot be read"},
		"200 MB": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			for range 200 {
				if _, err := io.WriteString(w, long); err != nil {
					return
				}
			}
		}, "it sent a message of more than 16 MiB"},
		"200 MB, announced": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "209715200")
			io.WriteString(w, long)
		}, "it sent a message of more than 16 MiB"},
		"an endless event": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: ")
			for {
				if _, err := io.WriteString(w, long); err != nil {
					return
				}
			}
		}, "it sent a message of more than 16 MiB"},
		"endless comments": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, ": "+long+"\n"); err != nil {
					return
				}
			}
		}, "it sent a message of more than 16 MiB"},
		"a cut stream": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") },
			"request terminated without response"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlain(t)
			p.Before = func(w http.ResponseWriter, r *http.Request, _ string) bool { c.answer(w); return true }
			_, err := session(t, p.server(), nil)
			wantError(t, err, c.want)
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// In a session that works, the same faults cost only the call.
func TestM1_AnErrorCostsOneCall(t *testing.T) {
	p := startPlain(t)
	cs, err := session(t, p.server(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	p.Before = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		if !broken.Load() || !strings.Contains(body, "tools/call") {
			return false
		}
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return true
	}
	broken.Store(true)
	wantError(t, whoami(t, cs), "it answered 503 Service Unavailable: try again later")
	broken.Store(false)
	if err := whoami(t, cs); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

// A stream that is cut after its first event is resumed where it ended.
func TestM1_ResumedStream(t *testing.T) {
	p := startPlain(t)
	var resumed atomic.Pointer[string]
	p.Before = func(w http.ResponseWriter, r *http.Request, body string) bool {
		if last := r.Header.Get("Last-Event-ID"); r.Method == http.MethodGet && last != "" {
			resumed.Store(&last)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"the user"}]}}`+
				"\n\n")
			return true
		}
		if !strings.Contains(body, "tools/call") {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 7\nretry: 10\ndata:\n\n") // and no more
		return true
	}
	cs, err := session(t, p.server(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = cs.CallTool(ctx, &sdk.CallToolParams{Name: "whoami"})
	if got := resumed.Load(); got == nil || *got != "7" {
		t.Errorf("%v; resumed at %v, want 7", err, got)
	}
}

// The stream that belongs to no request is a thing that servers need not have. None of its faults
// ends the connection.
func TestM1_TheListeningStream(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"not offered": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"a web page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"cut at once": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "retry: 1\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlain(t)
			quiet := make(chan struct{}, 100)
			p.Before = func(w http.ResponseWriter, r *http.Request, body string) bool {
				switch {
				case r.Method == http.MethodGet:
					answer(w, r)
					quiet <- struct{}{}
				case strings.Contains(body, "server/discover"): // an older server
					http.Error(w, "what?", http.StatusBadRequest)
				default:
					return false
				}
				return true
			}
			cs, err := session(t, p.server(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for range map[string]int{"cut at once": maxListens}[name] {
				<-quiet
			}
			if err := whoami(t, cs); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stream that does not begin well after the first time, or that is cut again and again, is
// replaced by one that is silent until it is closed.
func TestM1_TheListeningStreamGoesSilent(t *testing.T) {
	for name, c := range map[string]struct {
		status, opens int
	}{"an error": {500, 1}, "refused": {403, 1}, "not offered any more": {405, 1}, "cut": {200, maxListens}} {
		var asked atomic.Int32
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if asked.Add(1) > 1 {
				w.WriteHeader(c.status)
			}
		}))
		base, l := &http.Transport{DisableKeepAlives: true}, &listening{wait: listenWait}
		ctx, cancel := context.WithCancel(t.Context())
		for n := range maxListens + 2 {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := l.open(req, base)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s: opening %d: %v, %v", name, n, resp, err)
			}
			if silent := n >= c.opens; silent != (resp.Body == silence{ctx}) {
				t.Errorf("%s: opening %d is silent: %v", name, n, !silent)
			}
			if n > maxListens {
				cancel()
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
					t.Errorf("%s: the silent stream had content", name)
				}
			}
			resp.Body.Close()
		}
		cancel()
		web.Close()
		if got := int(asked.Load()); got > maxListens {
			t.Errorf("%s: the server was asked %d times", name, got)
		}
	}
}

// A server that takes the request for the stream and does not answer holds up nothing.
func TestM1_TheListeningStreamDoesNotBegin(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer web.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &listening{wait: time.Millisecond}
	resp, err := l.open(req, &http.Transport{DisableKeepAlives: true})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Body != (silence{t.Context()}) {
		t.Errorf("the stream is %T", resp.Body)
	}
}

// A connection that is closed leaves no request: the stream of a server that never ends it, and a
// call without an answer, end.
func TestM1_CloseEndsRequests(t *testing.T) {
	p := startPlain(t)
	waits := make(chan struct{}, 1)
	p.Before = func(_ http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "tools/call") {
			return false
		}
		waits <- struct{}{}
		<-r.Context().Done()
		return true
	}
	transport, end, err := dialRemote(p.server(), nil, nil, nil, passAll())
	if err != nil {
		t.Fatal(err)
	}
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() { failed <- whoami(t, cs) }()
	<-waits
	end()
	if err := <-failed; err == nil {
		t.Error("the call returned a result")
	}
	_ = cs.Close() // there is nothing to say goodbye to
}

// A request that begins beside the end of its connection leaves no idle connection: net/http would
// keep what it dialled for it.
func TestM1_RequestBesideTheEnd(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	closed := make(chan struct{})
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	server.Start()
	life, end := context.WithCancel(t.Context())
	b := &bounded{base: &besideTheEnd{end: end}, life: life}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "the end of the connection", closed)
	_ = resp.Body.Close() // it is empty
	if _, err := b.RoundTrip(req); !errors.Is(err, errClosed) {
		t.Errorf("a request after the end: %v", err)
	}
	server.Close()
}

// besideTheEnd ends the connection between the start of a request and its dialling.
type besideTheEnd struct {
	http.Transport
	end func()
}

func (b *besideTheEnd) RoundTrip(req *http.Request) (*http.Response, error) {
	b.end()
	b.CloseIdleConnections()
	return b.Transport.RoundTrip(req)
}
