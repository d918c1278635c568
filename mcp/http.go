package mcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/tracecontext"
)

const (
	maxRedirects = 5
	maxHeader    = 256 << 10 // bytes of the header of an answer
	maxRefusal   = 64 << 10  // bytes of an answer that reports an error
	listenWait   = 10 * time.Second
	maxListens   = 4 // how often the stream of a server that cuts it is opened
)

// Network holds how remote servers are reached. The zero value is the network of the process.
type Network struct {
	Resolver *net.Resolver // nil stands for the system's
	TLS      *tls.Config   // nil stands for the system's certificates
}

// Client returns an HTTP client for a remote server and for its authorization server. It connects
// with https, and with http if the server's URL is on loopback. It connects to public addresses, to
// loopback addresses if the server's URL is on loopback, and to what the server's Hosts name: an
// address, or a name, which may then lead into a private network. Each connection is checked when
// it is made. The client uses no proxy and keeps no cookies. It follows redirects only to the same
// scheme, host and port.
func (n Network) Client(s Server) (*http.Client, error) {
	u, err := serverURL(s.URL)
	if err != nil {
		return nil, err
	}
	named, err := netguard.ParseHosts(s.Hosts)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	r := &reach{guard: netguard.Guard{Named: named}, local: isLoopback(u.Hostname()), resolver: n.Resolver}
	config := &tls.Config{}
	if n.TLS != nil {
		config = n.TLS.Clone()
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	transport := &http.Transport{DialContext: r.dial, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 4}
	return &http.Client{Transport: &checked{r, transport}, CheckRedirect: sameOrigin}, nil
}

// serverURL reads the URL of a remote server: https, or http on loopback.
func serverURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the URL %s does not begin with https:// or http://", netguard.Shown(text))
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("%s is not a URL such as https://mcp.example.com/mcp", netguard.Shown(text))
	case u.User != nil:
		return nil, errors.New("the URL has a user name in front of its host: put credentials into headers")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("%s is not encrypted: http is for servers on this machine only (localhost, 127.0.0.1, "+
			"[::1]); use https", netguard.Shown(text))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// isLoopback reports whether a host of a URL is this machine by its spelling, whatever a name
// server says.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || strings.EqualFold(host, "localhost")
}

// origin returns the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// sameOrigin follows redirects that stay where they are and keep the method.
func sameOrigin(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	switch {
	case origin(req.URL) != origin(from.URL):
		return fmt.Errorf("it redirects to %s, which is not followed: a redirect must stay on %s",
			netguard.Shown(origin(req.URL)), origin(from.URL))
	case req.Method != from.Method:
		return fmt.Errorf("it redirects a %s request in a way that loses its content: use the URL %s", from.Method,
			netguard.Shown(req.URL.Redacted()))
	case len(via) > maxRedirects:
		return fmt.Errorf("it redirected more than %d times", maxRedirects)
	}
	return nil
}

// checked refuses requests that are not encrypted, except on loopback.
type checked struct {
	reach *reach
	base  *http.Transport
}

func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := serverURL(req.URL.String()); err != nil {
		closeBody(req)
		return nil, err
	}
	return c.base.RoundTrip(req)
}

func (c *checked) CloseIdleConnections() { c.base.CloseIdleConnections() }

// closeBody does what a RoundTripper has to do with a request that it does not send.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // it is in memory
	}
}

// reach decides which addresses may be connected to for a server.
type reach struct {
	guard    netguard.Guard
	local    bool // the server is on this machine, and so may be what it names
	resolver *net.Resolver
}

func (r *reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, digits, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host, port, err := netguard.ParseHostPort(name, digits)
	if err != nil {
		return nil, err
	}
	if err := r.guard.Host(host, port); err != nil && !(r.local && isLoopback(name)) {
		return nil, unnamed(err, host.String(), digits)
	}
	dialer := r.guard.Dialer(r.resolver)
	dialer.Control = func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return r.address(host, a)
	}
	return dialer.DialContext(ctx, network, address)
}

// address returns nil if the address to which a host leads may be connected to.
func (r *reach) address(host netguard.Host, a netip.AddrPort) error {
	port := strconv.Itoa(int(a.Port()))
	if r.local && isLoopback(host.String()) && a.Addr().IsLoopback() || r.guard.Named.Names(host, a.Port()) &&
		netguard.Private(a.Addr()) {
		return nil
	}
	if err := r.guard.Address(a); err != nil {
		if netguard.Private(a.Addr()) {
			return unnamed(err, host.String(), port)
		}
		return unnamed(err, a.Addr().String(), port) // no name stands for such an address
	}
	return nil
}

// unnamed says what to write about a host that may not be reached.
func unnamed(err error, host, port string) error {
	if port != "" && port != "80" && port != "443" {
		host = net.JoinHostPort(host, port)
	}
	return fmt.Errorf(`%w: if it is meant, name it in the server's configuration: "hosts": [%q]`, err, host)
}

// dialRemote returns the transport of a connection to a remote server, and a function that ends it:
// its requests end, and so do its goroutines. A nil client stands for [Network.Client].
func dialRemote(s Server, client *http.Client, tokens TokenStore, secret func(name, value string),
	in *inbox) (sdk.Transport, func(), error) {
	u, err := serverURL(s.URL)
	if err == nil && client == nil {
		client, err = Network{}.Client(s)
	}
	if err != nil {
		return nil, func() {}, err
	}
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	life, end := context.WithCancel(context.Background())
	bound := &bounded{base, life}
	a := &authorizer{server: s, life: life, tokens: tokens,
		client: &http.Client{Transport: bound, CheckRedirect: sameOrigin}, secret: secret}
	t := &remote{server: s, base: bound, life: life, auth: a, listen: listening{wait: listenWait}, inbox: in}
	return &sdk.StreamableClientTransport{Endpoint: u.String(), MaxEventSize: -1,
			HTTPClient: &http.Client{Transport: t, CheckRedirect: sameOrigin}},
		func() { end(); bound.CloseIdleConnections() }, nil
}

// bounded sends requests until life ends, and leaves no idle connections behind then. A request
// that begins beside the end makes [http.Transport] keep what it dials, although
// CloseIdleConnections was called: so each such request calls it again.
type bounded struct {
	base http.RoundTripper
	life context.Context
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.life.Err() != nil {
		closeBody(req)
		return nil, errClosed
	}
	resp, err := b.base.RoundTrip(req)
	if b.life.Err() != nil {
		b.CloseIdleConnections()
	}
	return resp, err
}

func (b *bounded) CloseIdleConnections() {
	(&http.Client{Transport: b.base}).CloseIdleConnections()
}

// remote sends the requests of one connection to a server. It adds the headers of the
// configuration and the user's token, bounds what comes back, and turns answers that are not MCP
// into errors that say what they are. All its requests end with the connection. Redirects were
// checked before, so none leads to another origin.
type remote struct {
	server Server
	base   http.RoundTripper
	life   context.Context
	auth   *authorizer
	listen listening
	inbox  *inbox
}

func (t *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(t.life, func() { cancel(errClosed) })
	end := func() { stop(); cancel(nil) }
	req = req.Clone(ctx)
	for name, value := range t.server.Headers {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, value)
		}
	}
	if err := t.auth.sign(req); err != nil {
		end()
		closeBody(req)
		return nil, err
	}
	tracecontext.SetHeader(ctx, req.Header)
	sent := sentBy(req)
	if r, ok := sent.(*jsonrpc.Response); ok {
		defer t.inbox.answered(r.ID)
	}
	var resp *http.Response
	var err error
	if req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") == "" {
		resp, err = t.listen.open(req, t.base)
	} else {
		resp, err = t.send(req, sent)
	}
	if err != nil {
		end()
		return nil, err
	}
	b := &body{resp.Body, resp.Body, end}
	resp.Body = b
	switch {
	case resp.StatusCode >= 300: // a part of an error is enough
		b.Reader = io.LimitReader(b.Reader, maxRefusal)
	case req.Method == http.MethodGet || isCall(sent):
		t.messagesOf(sent, resp)
	}
	return resp, nil
}

// send sends a request and judges the answer.
func (t *remote) send(req *http.Request, sent jsonrpc.Message) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err == nil && unauthorized(resp) {
		resp, err = t.auth.again(req, resp, t.base)
	}
	if err != nil {
		return nil, err
	}
	if err := judge(req, sent, resp); err != nil {
		_ = resp.Body.Close() // the error says more
		return nil, err
	}
	return resp, nil
}

// judge returns an error for an answer that the protocol does not know.
func judge(req *http.Request, sent jsonrpc.Message, resp *http.Response) error {
	switch kind, status := mediaType(resp), resp.StatusCode; {
	case status < 300 && kind != "application/json" && kind != "text/event-stream" && isCall(sent):
		return fmt.Errorf("it answered with %s instead of MCP: check its URL",
			clean(cmp.Or(kind, "no content type"), 100))
	case status < 300 && resp.ContentLength > maxMessage:
		return errTooLong
	case status < 400 || status == http.StatusMethodNotAllowed || kind == "application/json":
	case status == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "": // the session has ended
	default:
		return fmt.Errorf("it answered %s", refusal(resp))
	}
	return nil
}

// isCall reports whether a message wants a response.
func isCall(m jsonrpc.Message) bool {
	r, ok := m.(*jsonrpc.Request)
	return ok && r.IsCall()
}

// refusal returns the status of an answer and the beginning of its text, cleaned.
func refusal(resp *http.Response) string {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if strings.Contains(resp.Header.Get("Content-Type"), "html") {
		return status
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 2048)) // what could be read is shown
	if text := clean(strings.Join(strings.Fields(string(data)), " "), 300); text != "" {
		return status + ": " + text
	}
	return status
}

// body reads an answer. Closing it ends the request.
type body struct {
	io.Reader
	io.Closer
	end func()
}

func (b *body) Close() error {
	b.end()
	return b.Closer.Close()
}
