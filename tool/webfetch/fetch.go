package webfetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/netguard"
)

const (
	maxPage      = 5 << 20   // bytes of a page, after decompression
	maxHeader    = 256 << 10 // bytes of the header of an answer
	maxReceived  = 2 * maxPage
	maxRedirects = 10
	userAgent    = "attractor-web_fetch (+https://github.com/attractor-go/attractor)"
)

// fetcher fetches pages. It has no state.
type fetcher struct {
	guard    netguard.Guard
	control  func(network, address string, c syscall.RawConn) error // sees each connection before it is made
	resolver *net.Resolver
	tls      *tls.Config
	timeout  time.Duration
}

func newFetcher(o Options) (*fetcher, error) {
	named, err := netguard.ParseHosts(o.Allow)
	f := &fetcher{guard: netguard.Guard{Named: named}, tls: o.TLS, timeout: cmp.Or(o.Timeout, 30*time.Second),
		resolver: o.Resolver}
	f.control = f.guard.Control
	return f, err
}

// fetched holds the answer of a server.
type fetched struct {
	summary
	page page // after redirects
	body []byte
}

// fetch fetches a page and follows redirects on its host. Each has the checks of the first URL.
func (f *fetcher) fetch(ctx context.Context, p page) (*fetched, error) {
	dialer := f.guard.Dialer(f.resolver)
	dialer.Control = f.control
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &counted{Conn: c, left: maxReceived}, nil
	}
	transport := &http.Transport{DialContext: dial, TLSClientConfig: f.tls, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	for range maxRedirects {
		answer, err := f.get(ctx, transport, p)
		if err != nil {
			return nil, err
		}
		to := answer.Header.Get("Location")
		if to == "" || answer.StatusCode < 301 || answer.StatusCode > 308 || answer.StatusCode == 304 {
			return read(answer, p)
		}
		answer.Body.Close()
		next, err := f.redirected(p, to)
		if err != nil {
			return nil, err
		}
		if next.host != p.host {
			return &fetched{summary: summary{URL: p.String(), Status: answer.StatusCode, Redirect: next.String()}}, nil
		}
		p = next
	}
	return nil, fmt.Errorf("it redirected more than %d times; try another URL", maxRedirects)
}

// counted is a connection from which a limited number of bytes can be read. The limit of a page
// alone is not enough, because a compressed body can go on without end and yield no byte of the
// page.
type counted struct {
	net.Conn
	left int
}

// Read reads from the server.
func (c *counted) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooBig
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// get sends one request. It has no header that tells something about the user.
func (f *fetcher) get(ctx context.Context, transport *http.Transport, p page) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	return transport.RoundTrip(request)
}

// redirected returns the place that a page redirects to.
func (f *fetcher) redirected(from page, location string) (page, error) {
	u, err := from.Parse(location)
	if err != nil {
		return page{}, errors.New("it redirects to something that is not a URL")
	}
	to, err := f.page(u.String())
	switch {
	case err != nil:
		return page{}, fmt.Errorf("it redirects, and %w", err)
	case from.Scheme == "https" && to.Scheme == "http":
		return page{}, fmt.Errorf("it redirects from https to http (%s), which is not followed", to)
	}
	return to, nil
}

// read reads the body of an answer.
func read(answer *http.Response, p page) (*fetched, error) {
	defer answer.Body.Close()
	// the transport has undone gzip
	if coding := answer.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fmt.Errorf("the server sent it compressed by %q, although nobody asked for that", coding)
	}
	got := &fetched{page: p, summary: summary{URL: p.String(), Status: answer.StatusCode,
		ContentType: answer.Header.Get("Content-Type")}}
	if answer.ContentLength > maxPage {
		return nil, errTooBig
	}
	if err := got.check(); err != nil { // before the whole of a video is read
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxPage {
		return nil, errTooBig
	}
	if got.body, got.Bytes = body, len(body); got.ContentType == "" {
		got.ContentType = http.DetectContentType(body)
	}
	return got, got.check()
}
