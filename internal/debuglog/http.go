package debuglog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/proxied"
	"github.com/attractor-go/attractor/secret"
)

// Client returns an HTTP client that logs its requests and responses, masked. It returns nil for a
// nil Log.
func (l *Log) Client(m *secret.Masker) *http.Client {
	if l == nil {
		return nil
	}
	return &http.Client{Transport: &transport{log: l, to: slog.New(l.handler), masker: m}}
}

// transport logs what passes through the transport of clients without a log.
type transport struct {
	log    *Log
	to     *slog.Logger
	masker *secret.Masker
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{transport: t, began: time.Now(),
		attrs: append(callerAttrs(req.Context()), slog.Int64("http", t.log.ids.Add(1)))}
	x.request(req)
	resp, err := proxied.Transport().RoundTrip(req)
	if err != nil {
		x.line("http failed", slog.String("error", t.masker.String(err.Error())),
			slog.Duration("duration", time.Since(x.began)))
		return resp, err
	}
	x.line("http response", slog.Int("status", resp.StatusCode), slog.Any("headers", t.headers(resp.Header)),
		slog.Duration("duration", time.Since(x.began)))
	x.moved = resp.StatusCode/100 == 3
	x.events = strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	resp.Body = &watchedBody{ReadCloser: resp.Body, x: x}
	return resp, nil
}

// CloseIdleConnections closes those of the transport below.
func (t *transport) CloseIdleConnections() {
	if c, ok := proxied.Transport().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// An exchange is a request with its response.
type exchange struct {
	*transport
	attrs  []slog.Attr // of each of its lines
	began  time.Time
	moved  bool // the response is a redirect
	events bool // the response is a stream of events
}

// line writes a line about the exchange.
func (x *exchange) line(text string, attrs ...slog.Attr) {
	x.to.LogAttrs(context.Background(), slog.LevelDebug, text, append(x.attrs[:len(x.attrs):len(x.attrs)], attrs...)...)
}

// request writes the line of the request.
func (x *exchange) request(req *http.Request) {
	attrs := []slog.Attr{slog.String("method", req.Method), slog.String("url", x.url(req.URL)),
		slog.Any("headers", x.headers(req.Header)), slog.Int64("bytes", req.ContentLength)}
	if req.GetBody != nil {
		body, cut, err := copyOf(req)
		if err != nil {
			attrs = append(attrs, slog.String("error", x.masker.String(err.Error())))
		}
		attrs = append(attrs, slog.Any("body", x.body(body, cut)))
	}
	x.line("http request", attrs...)
}

// copyOf returns the beginning of a request's body, and whether there is more.
func copyOf(req *http.Request) (body []byte, cut bool, err error) {
	r, err := req.GetBody()
	if err != nil {
		return nil, false, err
	}
	body, err = io.ReadAll(io.LimitReader(r, maxBody+1))
	if cut = len(body) > maxBody; cut {
		body = body[:maxBody]
	}
	return body, cut, errors.Join(err, r.Close())
}

// hidden stands for a value that is never written.
const hidden = "[hidden]"

// headers returns headers without those that have keys.
func (t *transport) headers(h http.Header) map[string]string {
	shown := make(map[string]string, len(h))
	for name, values := range h {
		text := strings.Join(values, ", ")
		switch name {
		case "Location", "Content-Location", "Referer":
			text = t.address(text)
		default:
			text = t.masker.String(text)
		}
		if isPrivate(name) {
			text = hidden
		}
		shown[name] = shortText(text, maxHeader)
	}
	return shown
}

// address returns an address of a header without the parts that may have keys.
func (t *transport) address(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return hidden
	}
	return t.url(u)
}

// isPrivate reports whether a header or a parameter has a key, by its name. The limits of tokens in
// responses are no keys.
func isPrivate(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "ratelimit") {
		return false
	}
	for _, part := range []string{"auth", "key", "token", "secret", "cookie", "passw", "signature", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return slices.Contains([]string{"sig", "sas", "jwt", "code", "pass", "pwd"}, name)
}

// url returns an address without the parts that may have keys.
func (t *transport) url(u *url.URL) string {
	shown := *u
	if shown.User != nil {
		shown.User = url.User(hidden)
	}
	query, err := url.ParseQuery(shown.RawQuery)
	for name := range query {
		if isPrivate(name) {
			query.Set(name, hidden)
		}
	}
	if shown.RawQuery = query.Encode(); err != nil { // what does not parse may be a key as well
		shown.RawQuery = hidden
	}
	if shown.Fragment != "" {
		shown.Fragment, shown.RawFragment = hidden, ""
	}
	return shortText(t.masker.String(shown.String()), maxHeader)
}

// watchedBody logs the body of a response when it has been read or closed.
type watchedBody struct {
	io.ReadCloser
	x *exchange

	mu    sync.Mutex
	done  bool
	kept  []byte
	total int64
	reads []arrival
}

// An arrival says when so many bytes of a body were there.
type arrival struct {
	bytes int
	after time.Duration
}

// Read implements [io.Reader].
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.total += int64(n)
	if room := maxBody - len(b.kept); room > 0 && n > 0 {
		b.kept = append(b.kept, p[:min(n, room)]...)
		b.reads = append(b.reads, arrival{len(b.kept), time.Since(b.x.began)})
	}
	b.mu.Unlock()
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	return err
}

// end writes the line of the body, once.
func (b *watchedBody) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.done = true
	attrs := []slog.Attr{slog.Int64("bytes", b.total), slog.Duration("duration", time.Since(b.x.began))}
	switch {
	case err == nil:
		attrs = append(attrs, slog.String("error", "closed before its end"))
	case !errors.Is(err, io.EOF):
		attrs = append(attrs, slog.String("error", b.x.masker.String(err.Error())))
	}
	cut := b.total > int64(len(b.kept))
	if b.x.moved { // it quotes the address of Location
		attrs = append(attrs, slog.String("body", hidden))
	} else if b.x.events {
		attrs = append(attrs, slog.Any("events", b.x.streamed(b.kept, b.reads, !cut && errors.Is(err, io.EOF))))
	} else {
		attrs = append(attrs, slog.Any("body", b.x.body(b.kept, cut)))
	}
	if cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	b.kept, b.reads = nil, nil
	b.x.line("http body", attrs...)
}
