package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/loopdns"
	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/internal/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(16)
	goleak.VerifyTestMain(m)
}

// world is a small internet on loopback: names, a plain server, a TLS server, and a server that
// must not be reached.
type world struct {
	dns                *loopdns.Server
	plain, secure      *httptest.Server
	hidden             *httptest.Server
	plainPort, tlsPort string
	hiddenPort         string

	mu   sync.Mutex
	seen []*http.Request
}

func newWorld(t *testing.T) *world {
	w := &world{dns: loopdns.Start(t, map[string][]string{
		"example.com": {"127.0.0.1"}, "www.example.com": {"127.0.0.1"}, "hidden.example": {"127.0.0.1"},
		"metadata.example": {"169.254.169.254"},
		"private.example":  {"10.11.12.13"}, "rebound.example": {"93.184.216.34", "127.0.0.1"},
		"other.example": {"127.0.0.1"},
	})}
	note := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		fmt.Fprintf(rw, "%s %s%s %s", r.Method, r.Host, r.URL.Path, body)
	})
	w.plain, w.secure = httptest.NewServer(note), httptest.NewUnstartedServer(note)
	w.secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.secure.StartTLS()
	w.hidden = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the hidden server was reached: %s %s", r.Method, r.Host)
	}))
	for _, s := range []*httptest.Server{w.plain, w.secure, w.hidden} {
		t.Cleanup(s.Close)
	}
	w.plainPort, w.tlsPort, w.hiddenPort = port(t, w.plain), port(t, w.secure), port(t, w.hidden)
	return w
}

func port(t *testing.T, s *httptest.Server) string {
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// start starts a proxy that lets through the servers of the world and some hosts more.
func (w *world) start(t *testing.T, o Options, more ...string) *Proxy {
	t.Helper()
	hosts, err := netguard.ParseHosts(append([]string{"example.com:" + w.plainPort, "example.com:" + w.tlsPort,
		"127.0.0.1:" + w.plainPort, "127.0.0.1:" + w.tlsPort}, more...))
	if err != nil {
		t.Fatal(err)
	}
	o.Hosts, o.Resolver = hosts, w.dns.Resolver()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Dir(p.Socket())); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket's directory is still there: %v", err)
		}
	})
	return p
}

// client returns an HTTP client that uses the proxy and trusts the world's server.
func (w *world) client(p *Proxy) *http.Client {
	transport := w.secure.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.invalid:1"})
	transport.DisableKeepAlives = true
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", p.Socket())
	}
	return &http.Client{Transport: transport}
}

func (w *world) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

func get(t *testing.T, c *http.Client, address string) (status int, body string) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, string(text)
}

// raw sends bytes to the proxy and returns everything that it answers until it closes the
// connection.
func raw(t *testing.T, p *Proxy, text string) string {
	t.Helper()
	c, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, text) // the proxy may have seen enough
	answer, _ := io.ReadAll(c)     // a reset also ends it
	return string(answer)
}

func TestL4_ProxyReachesNamedHosts(t *testing.T) {
	w := newWorld(t)
	p := w.start(t, Options{})
	info, err := os.Stat(filepath.Dir(p.Socket()))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory: %v, %v", info.Mode(), err)
	}
	c := w.client(p)
	for _, address := range []string{"https://example.com:" + w.tlsPort + "/a",
		"https://EXAMPLE.com:" + w.tlsPort + "/a", "https://127.0.0.1:" + w.tlsPort + "/a",
		"http://example.com:" + w.plainPort + "/a", "http://127.0.0.1:" + w.plainPort + "/a"} {
		if status, body := get(t, c, address); status != 200 || !strings.Contains(body, "/a") {
			t.Errorf("%s: %d %s", address, status, body)
		}
	}
	big := strings.Repeat("x", 3<<20)
	for _, address := range []string{"https://example.com:" + w.tlsPort, "http://example.com:" + w.plainPort} {
		r, err := c.Post(address, "text/plain", strings.NewReader(big))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || !strings.HasSuffix(string(body), big) {
			t.Errorf("%s: %d bytes of the body came back, %v", address, len(body), err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.seen {
		for name := range r.Header {
			switch name {
			case "User-Agent", "Accept-Encoding", "Content-Length", "Content-Type", "Connection":
			default:
				t.Errorf("the server got the header %s", name)
			}
		}
	}
	if refused, more := p.Refused(); refused != nil || more != 0 {
		t.Errorf("refusals: %v and %d", refused, more)
	}
}

// Everything else is refused before a connection is made, and the refusal says why.
func TestL4_ProxyRefusesOthers(t *testing.T) {
	w := newWorld(t)
	hidden := ":" + w.hiddenPort
	p := w.start(t, Options{}, "hidden.example"+hidden, "metadata.example", "private.example"+hidden,
		"metadata.google.internal", "169.254.169.253")
	for _, c := range []struct{ host, why string }{
		{"other.example" + hidden, "does not allow connections to other.example" + hidden +
			"; --allow-host other.example" + hidden + " would"},
		{"www.example.com:" + w.tlsPort, "does not allow connections to www.example.com:" + w.tlsPort},
		{"other.example:443", "--allow-host other.example would"},
		{"example.com" + hidden, "does not allow connections to example.com" + hidden},
		{"127.0.0.1" + hidden, "does not allow connections to 127.0.0.1" + hidden},
		{"127.0.0.2:" + w.tlsPort, "does not allow connections to 127.0.0.2"},
		{"[::1]" + hidden, "does not allow connections to [::1]" + hidden},
		{"localhost" + hidden, "does not allow connections to localhost" + hidden},
		{"2130706433:80", "unusual spelling"}, {"0x7f.1:80", "unusual spelling"}, {"127.1:80", "unusual spelling"},
		{"169.254.169.254:80", "does not allow connections to 169.254.169.254:80"},
		{"hidden.example" + hidden, "because 127.0.0.1 is a loopback address; --allow-host 127.0.0.1" + hidden +
			" would allow the address too"},
		{"metadata.example:80", "because 169.254.169.254 is the address of a cloud's metadata service"},
		{"private.example" + hidden, "because 10.11.12.13 is a private address"},
	} {
		answer := raw(t, p, "CONNECT "+c.host+" HTTP/1.1\r\nHost: "+c.host+"\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 403 The sandbox does not allow ") || strings.Count(answer, c.why) != 2 {
			t.Errorf("CONNECT %s: %q, want %s", c.host, answer, c.why)
		}
		refused, _ := p.Refused()
		if len(refused) != 1 || !strings.Contains(refused[0].Why, c.why) {
			t.Errorf("CONNECT %s: recorded %v", c.host, refused)
		}
		if answer := raw(t, p, "GET http://"+c.host+"/ HTTP/1.1\r\nHost: "+c.host+
			"\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403 ") || !strings.Contains(answer, c.why) {
			t.Errorf("GET http://%s/: %q, want %s", c.host, answer, c.why)
		}
		p.Refused()
	}
	if answer := raw(t, p, "CONNECT nowhere.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(answer,
		"HTTP/1.1 403 ") {
		t.Errorf("an unknown name: %q", answer)
	}
	for range maxRefusals * 2 {
		raw(t, p, fmt.Sprintf("CONNECT a%d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
			w.requests()+time.Now().Nanosecond()))
	}
	if refused, more := p.Refused(); len(refused) != maxRefusals || more == 0 {
		t.Errorf("%d refusals are kept and %d not", len(refused), more)
	}
	if n := w.requests(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// An address that a name leads to later is checked again.
func TestL4_ProxyRebinding(t *testing.T) {
	w := newWorld(t)
	p := w.start(t, Options{}, "rebound.example:"+w.hiddenPort)
	if first, err := w.dns.Resolver().LookupNetIP(context.Background(), "ip4", "rebound.example"); err != nil ||
		netguard.Public(first[0]) != nil {
		t.Fatalf("the first answer is not public: %v, %v", first, err)
	}
	answer := raw(t, p, "CONNECT rebound.example:"+w.hiddenPort+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.Contains(answer, "127.0.0.1 is a loopback address") || w.dns.Asked("rebound.example") != 2 {
		t.Errorf("%q after %d questions", answer, w.dns.Asked("rebound.example"))
	}
}

// connect opens a tunnel.
func connect(t *testing.T, p *Proxy, host string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	var status bytes.Buffer
	for b := make([]byte, 1); !strings.HasSuffix(status.String(), "\r\n\r\n"); {
		if _, err := c.Read(b); err != nil {
			t.Fatal(err)
		}
		status.Write(b)
	}
	if !strings.HasPrefix(status.String(), "HTTP/1.1 200 ") {
		t.Fatalf("CONNECT %s: %s", host, status.String())
	}
	return c
}

// In a tunnel to a named host the client has to begin TLS with that host.
func TestL4_ProxyChecksTheNameInTLS(t *testing.T) {
	w := newWorld(t)
	p := w.start(t, Options{})
	for _, c := range []struct {
		name, host, sni, why string
		send                 string
	}{
		{name: "another name", host: "example.com", sni: "other.example", why: "named another host, other.example"},
		{name: "no name", host: "example.com", why: "did not name the host in TLS (SNI)"},
		{name: "a name for an address", host: "127.0.0.1", sni: "other.example",
			why: "named another host, other.example"},
		{name: "plain HTTP", host: "example.com", send: "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n",
			why: "only TLS can be sent"},
		{name: "SSH", host: "example.com", send: "SSH-2.0-x\r\n", why: "only TLS can be sent"},
		{name: "what looks like TLS", host: "example.com", send: "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
			why: "not the beginning of TLS"},
		{name: "an endless hello", host: "example.com",
			send: "\x16\x03\x01\x40\x00\x01\xff\xff\xff" + strings.Repeat("x", 1<<14), why: "not the beginning of TLS"},
	} {
		conn := connect(t, p, c.host+":"+w.tlsPort)
		if c.send != "" {
			io.WriteString(conn, c.send)
			if rest, err := io.ReadAll(conn); len(rest) > 0 {
				t.Errorf("%s: the tunnel answered %q, %v", c.name, rest, err)
			}
		} else if err := tls.Client(conn, &tls.Config{ServerName: c.sni,
			InsecureSkipVerify: true}).Handshake(); err == nil {
			t.Errorf("%s: the handshake succeeded", c.name)
		}
		conn.Close()
		if refused, _ := p.Refused(); len(refused) != 1 || !strings.Contains(refused[0].Why, c.why) {
			t.Errorf("%s: recorded %v, want %s", c.name, refused, c.why)
		}
	}
	if n := w.requests(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	// A hello of many records, of 15 kB, and in upper case.
	for name, c := range map[string]*tls.Config{"upper case": {ServerName: "EXAMPLE.com"},
		"15 kB": {ServerName: "example.com", NextProtos: protocols(15 << 10)}} {
		c.InsecureSkipVerify = true
		if err := tls.Client(&records{Conn: connect(t, p, "example.com:"+w.tlsPort)}, c).Handshake(); err != nil &&
			!strings.Contains(err.Error(), "no application protocol") {
			t.Errorf("a hello of %s: %v", name, err)
		}
	}
	if refused, _ := p.Refused(); refused != nil {
		t.Errorf("refused: %v", refused)
	}
	// A hello in many small pieces, and bytes after it in the same packet as CONNECT, arrive whole.
	conn := tls.Client(pieces{connect(t, p, "example.com:"+w.tlsPort)},
		&tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		t.Errorf("a hello in pieces: %v", err)
	}
}

// protocols returns names of protocols with so many bytes.
func protocols(size int) (list []string) {
	for range size / 200 {
		list = append(list, strings.Repeat("x", 199))
	}
	return list
}

// records is a connection that sends its first handshake message in records of 100 bytes.
type records struct {
	net.Conn
	sent bool
}

func (r *records) Write(b []byte) (int, error) {
	if r.sent {
		return r.Conn.Write(b)
	}
	r.sent = true
	for rest := b[5:]; len(rest) > 0; {
		n := min(100, len(rest))
		if _, err := r.Conn.Write(append([]byte{22, 3, 1, 0, byte(n)}, rest[:n]...)); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// pieces is a connection that writes each byte alone.
type pieces struct{ net.Conn }

func (p pieces) Write(b []byte) (n int, err error) {
	for i := range b {
		if _, err := p.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// A client cannot make the server see another host or another request than the proxy.
func TestL4_ProxyPlainRequestsAreUnambiguous(t *testing.T) {
	t.Parallel()
	const target, host = "http://HOST/", "HOST"
	smuggled := "GET /smuggled HTTP/1.1\r\nHost: other.example\r\n\r\n"
	for name, text := range map[string]string{
		"another Host": "GET " + target + " HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"two Hosts":    "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nHost: other.example\r\n\r\n",
		"length and chunked": "POST " + target + " HTTP/1.1\r\nHost: " + host +
			"\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"two lengths": "POST " + target + " HTTP/1.1\r\nHost: " + host +
			"\r\nContent-Length: 0\r\nContent-Length: 60\r\n\r\n" + smuggled,
		"odd chunked": "POST " + target + " HTTP/1.1\r\nHost: " + host +
			"\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled,
		"space in the name": "GET " + target + " HTTP/1.1\r\nHost : other.example\r\nHost: " + host + "\r\n\r\n",
		"folded":            "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nX: a\r\n Host: other.example\r\n\r\n",
		"bare line feeds":   "GET " + target + " HTTP/1.1\nHost: other.example\n\n",
		"a second request": "GET " + target + " HTTP/1.1\r\nHost: " + host +
			"\r\n\r\nGET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"a smuggled one": "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" + smuggled,
		"an upgrade": "GET " + target + " HTTP/1.1\r\nHost: " + host +
			"\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n" + smuggled,
		"a name in the URL":   "GET http://other.example@" + host + "/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"https in plain text": "GET https://example.com:TLS/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"no URL":              "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
		"a huge header": "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nX: " + strings.Repeat("x",
			1<<20) + "\r\n\r\n",
		"not HTTP":           "\x05\x01\x00",
		"HTTP/2":             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"a line without end": strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.start(t, Options{Idle: 2 * time.Second}) // so that it closes a connection that it would use again
			host := "example.com:" + w.plainPort
			sent := strings.NewReplacer("HOST", host, "TLS", w.tlsPort).Replace(text)
			raw(t, p, sent)
			forwarded := strings.Contains(
				" another Host, folded, a second request, a smuggled one, an upgrade, a name in the URL, length and "+
					"chunked, bare line feeds, ", " "+name+", ")
			await.Holds(func() bool { // the proxy ends a connection on which this process was too slow to send
				if forwarded && w.requests() == 0 {
					raw(t, p, sent)
				}
				return !forwarded || w.requests() > 0
			})
			w.mu.Lock()
			defer w.mu.Unlock()
			if forwarded != (len(w.seen) == 1) {
				t.Errorf("the server saw %d requests", len(w.seen))
			}
			for _, r := range w.seen {
				if r.Host != host || r.URL.Path != "/" {
					t.Errorf("the server saw %s %s with the host %s", r.Method, r.URL, r.Host)
				}
				if r.Header.Get("Upgrade") != "" || r.Header.Get("Proxy-Authorization") != "" {
					t.Errorf("the server saw %v", r.Header)
				}
			}
		})
	}
}

// The server sees the host that was judged, and the URL as it was asked for.
func TestL4_ProxyForwardsWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	p := w.start(t, Options{})
	host := "example.com:" + w.plainPort
	for asked, want := range map[string]string{
		"http://" + host + "/a?x=1;y=2&z=%zz&&b":   "/a?x=1;y=2&z=%zz&&b",
		"http://EXAMPLE.com.:" + w.plainPort + "/": "/", "http://ｅxample。com:" + w.plainPort + "/%2f//?": "/%2f//?",
		"http://" + host: "/",
	} {
		answer := raw(t, p, "GET "+asked+" HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n")
		w.mu.Lock()
		if len(w.seen) != 1 || w.seen[0].Host != host || w.seen[0].RequestURI != want {
			t.Errorf("%s: the server saw %d requests, and the answer is %q", asked, len(w.seen), answer)
		}
		for _, r := range w.seen {
			if r.Host != host || r.RequestURI != want {
				t.Errorf("%s: the server saw %s %s, want %s %s", asked, r.Host, r.RequestURI, host, want)
			}
		}
		w.seen = nil
		w.mu.Unlock()
	}
}

// endless returns an error if a connection does not end.
func endless(c net.Conn) error {
	if err := c.SetReadDeadline(time.Now().Add(await.Limit)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil // a reset is an end
}

// answerInPieces answers with what was sent and then in pieces, for longer than the client may be
// silent in a request.
func answerInPieces(t *testing.T, rw http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(rw, r.Body); err != nil {
		t.Error(err)
	}
	for range 15 {
		<-time.After(100 * time.Millisecond)
		rw.Write([]byte("."))
		http.NewResponseController(rw).Flush()
	}
}

// A client that stops in the middle of a request is cut off. One that waits for its answer longer
// than that is not.
func TestL4_ProxyEndsStalledRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(t, Options{Idle: 300 * time.Millisecond})
	note := w.plain.Config.Handler
	w.plain.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/early":
		case "/pieces":
			answerInPieces(t, rw, r)
		default:
			note.ServeHTTP(rw, r)
		}
	})
	target := "http://example.com:" + w.plainPort + "/"
	for name, sent := range map[string]string{
		"a line":                   "GET " + target[:9],
		"headers":                  "GET " + target + " HTTP/1.1\r\nHost: x\r\nX: ",
		"a body":                   "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx",
		"a refused body":           "POST http://other.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx",
		"a body that nobody reads": "POST " + target + "early HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx",
		"a chunk":                  "POST " + target + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
		"chunks":                   "POST " + target + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"CONNECT":                  "CONNECT example.com:" + w.tlsPort + " HTTP/1.1\r\n\r\n\x16\x03\x01\x02\x00\x01",
	} {
		c, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, sent); err != nil && !errors.Is(err, syscall.EPIPE) { // it was cut off already
			t.Fatal(err)
		}
		if err := endless(c); err != nil {
			t.Errorf("a client that stops in %s: %v", name, err)
		}
		c.Close()
	}
	p = w.start(t, Options{Idle: time.Second})
	// on a busy machine a piece may come too late
	if whole := await.Holds(func() bool { return answersInPieces(t, w.client(p), target+"pieces") }); !whole {
		t.Error("a long answer is cut off")
	}
}

// answersInPieces reports whether the answer of answerInPieces comes whole.
func answersInPieces(t *testing.T, c *http.Client, address string) bool {
	t.Helper()
	r, err := c.Post(address, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Log(err)
		return false
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	t.Logf("a long answer: %q, %v", body, err)
	return err == nil && string(body) == "x"+strings.Repeat(".", 15)
}

// While all places are taken, clients wait. They are served when one is free.
func TestL4_ProxyIsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(t, Options{Connections: 1})
	busy := tls.Client(connect(t, p, "example.com:"+w.tlsPort),
		&tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	if err := busy.Handshake(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan int, 1)
	go func() {
		status, _ := get(t, w.client(p), "http://example.com:"+w.plainPort)
		answered <- status
	}()
	select {
	case status := <-answered:
		t.Errorf("the proxy is full: %d", status)
	case <-time.After(300 * time.Millisecond):
	}
	busy.Close()
	if status := <-answered; status != 200 {
		t.Errorf("after the other has gone: %d", status)
	}
}

// Clients that say nothing, or never read, cost a place for a while and no more. Others wait and
// are served.
func TestL4_ProxyManyConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(t, Options{Idle: 2 * time.Second, Connections: 8})
	served := func(address string) bool {
		status, body := get(t, w.client(p), address)
		if status != 0 && status != 200 { // zero: this process was too slow to send a request
			t.Errorf("%s: %d %s", address, status, body)
		}
		return status == 200
	}
	for range 20 { // silent ones
		c, err := net.Dial("unix", p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	inTunnel, err := net.Dial("unix", p.Socket()) // one that is silent in its tunnel
	if err != nil {
		t.Fatal(err)
	}
	defer inTunnel.Close()
	fmt.Fprintf(inTunnel, "CONNECT example.com:%s HTTP/1.1\r\n\r\n", w.tlsPort)
	await.For(t, "an answer after silent clients",
		func() bool { return served("https://example.com:" + w.tlsPort + "/after") })
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 200 {
				conn, err := net.Dial("unix", p.Socket())
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(conn, "\r\n\r\nnonsense\r\n\r\n")
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			}
		})
	}
	all.Wait()
	await.For(t, "an answer after ten thousand connections",
		func() bool { return served("http://example.com:" + w.plainPort + "/after") })
}

// Close ends open tunnels. TestMain finds what it leaves running.
func TestL4_ProxyCloseEndsTunnels(t *testing.T) {
	w := newWorld(t)
	p := w.start(t, Options{})
	conn := tls.Client(connect(t, p, "example.com:"+w.tlsPort),
		&tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the tunnel is still open")
	}
	if _, err := net.Dial("unix", p.Socket()); err == nil {
		t.Error("the proxy still listens")
	}
}

// clientHello returns what a client of example.com sends first.
func clientHello(t testing.TB) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() { _ = tls.Client(client, &tls.Config{ServerName: "example.com"}).Handshake() }() // ends with the pipe
	first := make([]byte, 1<<14)
	n, err := server.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	return first[:n]
}

// In a given directory the proxy leaves nothing.
func TestL4_ProxyInAGivenDirectory(t *testing.T) {
	dir := t.TempDir()
	p, err := New(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(p.Socket()) != dir {
		t.Errorf("the socket is %s", p.Socket())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := New(Options{Dir: filepath.Join(dir, "nothing")}); err == nil {
		t.Error("a directory that does not exist is accepted")
	}
}

// What a client sends right behind its hello is passed on as well.
func TestL4_ProxyKeepsWhatFollowsTheHello(t *testing.T) {
	hello := clientHello(t)
	for _, more := range []int{0, 1, 600, 2000} {
		sent := append(bytes.Clone(hello), bytes.Repeat([]byte("x"), more)...)
		name, read, err := readHello(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil || name != "example.com" || !bytes.Equal(read, sent) {
			t.Errorf("%d bytes more: %q, %d of %d bytes are passed on, %v", more, name, len(read), len(sent), err)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add(clientHello(f))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		name, read, err := readHello(bufio.NewReader(bytes.NewReader(b)))
		if err == nil && !bytes.HasPrefix(b, read) {
			t.Errorf("%q was read, and %q is passed on", b, read)
		}
		if _, ipErr := netip.ParseAddr(name); err == nil && name != "" && ipErr == nil {
			t.Errorf("the address %s is taken for a name", name)
		}
	})
}

// The name of a socket is limited, so the error says what to change.
func TestL4_ProxyInADirectoryWithALongName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
